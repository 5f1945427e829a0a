// What may be claimed of a sweep's cells, which of them nothing beats, and which did the same. Inside report/ only.
#pragma once

#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// Fills in main_figure, the claims of all cells and jobs, and their number. Each cell is compared with the first one
/// that does the same work, and the best one of each work with all others of it. All of these together are wrong in one
/// in 5 % of the cases at most where nothing differs (Holm). That the best is better than all others is as likely by
/// chance as that it is better than the most doubtful of them (Gutmann and Maymin, Is the selected population the
/// best?, 1987). Of INVALID measurements nothing is claimed.
void make_claims(Sweep& sweep);

/// For each cell whether it lies on the front: no other cell is better in one of the two figures, by the whole 95 %
/// interval of their ratio, and at least as good in the other by its mean. Cells without one of the figures don't.
std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second);

/// A sentence for each cell that computed what an earlier one did: "on=cpu/t16 ran as on=cpu/t2: ...".
std::vector<std::string> alike_notes(const Sweep& sweep);

}  // namespace evener::report
