// Compares two measured things: runs, sweeps, or cells of sweeps.
#pragma once

#include <string>
#include <vector>

#include "record/statistics.h"
#include "report/table.h"
#include "sweep/figures/sweep.h"

namespace evener::sweeps {

/// A pair of cells, compared by the main figure.
struct ComparedPair {
  std::string cell;  // the axis values common to both; "" for a single pair
  SweepFigure a, b;
  record::RunComparison comparison;  // b against a; above 1 = b is better
  CellClaim claim;                   // its p-value is corrected for the number of pairs
};

struct ComparisonOfTwo {
  std::string a, b;  // names of the two
  std::vector<ComparedPair> pairs;
  std::vector<std::string> notes;
  std::vector<std::string> sentences;  // for two single runs, which have no repeats
};

/// Compares `a` and `b`: each is "DIR", the folder of a run or a sweep, or "DIR:AXIS=VALUE,...", cells of a sweep.
/// Cells with equal values on all other axes make a pair. Throws UsageError if a folder is neither, for unknown axes
/// and values, and if there are no pairs.
ComparisonOfTwo compare_two(const std::string& a, const std::string& b);

/// The result in sentences.
std::vector<std::string> comparison_sentences(const ComparisonOfTwo& comparison);
/// A row for each pair.
report::Table comparison_table(const ComparisonOfTwo& comparison);
std::string comparison_json(const ComparisonOfTwo& comparison);

}  // namespace evener::sweeps
