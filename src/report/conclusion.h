// What the runs showed, and what they did not, in sentences that a reader could repeat.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// "resnet34 on cpu/t2 trains 1.85x as fast as on cpu/t1 (26.9 against 14.5 images/s), at equal test accuracy (97.2 %
/// and 97.0 %)." Runs that have the same model and data are compared: the second of two with the first, of more the
/// fastest with the others. Where the noise, too few samples or INVALID measurements leave open which is faster, none
/// is named. The last sentence names the runs that are INVALID.
std::vector<std::string> conclusion(std::span<const Run> runs);

/// The same, a line for each sentence, harmless where it is shown: records may come from elsewhere.
std::string terminal_conclusion(std::span<const Run> runs);
std::string markdown_conclusion(std::span<const Run> runs);

}  // namespace evener::report
