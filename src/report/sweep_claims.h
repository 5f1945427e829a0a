// Decides which claims a sweep's results support, finds Pareto fronts, and cells that computed the same. Inside report/
// only.
#pragma once

#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// Fills in main_figure, the claims of all cells and jobs, and their number. Compares each cell with the first cell of
/// its job, and the best cell of each job with all others of it. If nothing differs, the probability of any false claim
/// is at most 5 % (Holm). The p-value of "the best is better than all others" is the largest of its p-values against
/// the others (Gutmann and Maymin, Is the selected population the best?, 1987). Nothing is claimed where
/// objection_to() has an objection (report/sweep_load.h).
void make_claims(Sweep& sweep);

/// For each cell whether it is on the Pareto front of two figures: no other cell is better in one figure, by the whole
/// 95 % interval of the ratio, and at least as good in the other by its mean. Cells that lack a figure are not on the
/// front.
std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second);

/// A sentence for each cell that computed exactly what an earlier one did: "on=cpu/t16 ran as on=cpu/t2: ...".
std::vector<std::string> alike_notes(const Sweep& sweep);

}  // namespace evener::report
