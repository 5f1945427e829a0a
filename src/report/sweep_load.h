// What other programs did beside a sweep's runs, and which comparisons hold nevertheless. Inside report/ only.
//
// Other programs spoil a run's own times. The ratio of two runs of a block holds: their order was drawn by chance, so
// that load which comes, goes or grows is as likely beside one as beside the other, and widens the interval. A load
// that leans on one of the cells isn't chance. tests/report/sweep_load_test.cpp shows what is claimed under each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// Other programs' mean load beside these cells' runs, in percent of all CPUs. Absent if it stayed within the limits of
/// the rules (record/validity.h) in all runs.
std::optional<double> load_beside(const std::vector<const SweepCellRuns*>& cells);

/// Whether a comparison of these cells was made beside other programs.
BesideOthers beside_others(const SweepCellRuns& a, const SweepCellRuns& b);

/// Compares two cells by a figure of theirs (compare_figures()). Where other programs' load beside them differs much
/// within the blocks, the ratio is that at equal load: what the load does to a block's ratio is seen, and isn't noise.
/// Not so for cells of different numbers of threads, which a load slows differently, and with a stopping rule, which
/// looked at the spread with the load's part in it.
record::RunComparison compare_beside_load(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                                          const SweepFigure& of_baseline, const SweepFigure& of_candidate,
                                          std::size_t first_stage);

/// ", beside other programs", and what that leaves open; "" if kNo. For the end of a claim.
std::string beside_text(BesideOthers beside);
/// "Measured beside other programs (7 % of the CPUs): ...": what of it holds.
std::string busy_sentence(double percent, BesideOthers beside, bool at_equal);

/// Why nothing may be claimed of this comparison of two cells; "" = it may. Either a cell has runs whose rules spoil
/// comparisons, or other programs leaned on the slower one: took more beside it within the blocks, at a one-sided level
/// of 5 %, divided by `together`, the number of comparisons that a claim needs together. A faster cell of more threads
/// may have pushed the others aside itself: that is its own doing, and no objection.
std::string objection_to(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                         const record::RunComparison& comparison, std::size_t together = 1);

}  // namespace evener::report
