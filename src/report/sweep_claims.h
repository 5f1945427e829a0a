// What may be claimed of a sweep's cells. Inside report/ only.
#pragma once

#include "report/sweep.h"

namespace evener::report {

/// Fills in main_figure, the claims of all cells and jobs, and their number. Each cell is compared with the first one
/// that does the same work, and the best one of each work with all others of it. All of these together are wrong in one
/// in 5 % of the cases at most where nothing differs (Holm). That the best is better than all others is as likely by
/// chance as that it is better than the most doubtful of them (Gutmann and Maymin, Is the selected population the
/// best?, 1987). Of INVALID measurements nothing is claimed.
void make_claims(Sweep& sweep);

}  // namespace evener::report
