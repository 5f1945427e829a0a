// Two things that were measured, side by side: runs, sweeps, or cells of sweeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/statistics.h"
#include "report/sweep.h"
#include "report/table.h"

namespace evener::report {

/// One comparison: of one pair of cells by the main figure.
struct ComparedPair {
  std::string cell;  // the values that both have; "" where there is one pair
  SweepFigure a, b;
  record::RunComparison comparison;  // of b with a, above 1 where b is better
  std::optional<double> p;           // corrected for the number of pairs
  record::Verdict verdict = record::Verdict::kUndecided;
  std::optional<std::size_t> to_decide;  // runs of each that would show the difference in 4 of 5 cases; if undecided
  std::string reason;                    // why undecided; else empty
};

struct ComparisonOfTwo {
  std::string a, b;  // how they are called
  std::vector<ComparedPair> pairs;
  std::vector<std::string> notes;
  std::vector<std::string> sentences;  // what is said of single runs, which have no repeats
};

/// `a` and `b`: "DIR", the folder of a run or of a sweep, or "DIR:AXIS=VALUE,...", cells of a sweep. Cells are paired
/// by the values of the axes that weren't named. Throws UsageError for what is no such thing, for axes and values that
/// there are not, and where no cells belong together.
ComparisonOfTwo compare_two(const std::string& a, const std::string& b);

/// What follows, in sentences.
std::vector<std::string> comparison_sentences(const ComparisonOfTwo& comparison);
/// A row for each pair.
Table comparison_table(const ComparisonOfTwo& comparison);
std::string comparison_json(const ComparisonOfTwo& comparison);

}  // namespace evener::report
