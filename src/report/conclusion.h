// One sentence that says what the runs showed, and what they did not.
#pragma once

#include <span>
#include <string>

#include "measure/record.h"

namespace evener::report {

/// "resnet34 on cpu/t2 trains 1.85x as fast as on cpu/t1 (26.9 against 14.5 images/s), with no difference in accuracy
/// (97.2 % and 97.0 %)." Compares with the first run that has the same model and data; says so where intervals overlap,
/// where there are too few samples, and where a run is INVALID. `records` in the order of the runs.
std::string conclusion(std::span<const measure::Record> records);

/// The same, harmless where it is shown: records may come from elsewhere.
std::string terminal_conclusion(std::span<const measure::Record> records);
std::string markdown_conclusion(std::span<const measure::Record> records);

}  // namespace evener::report
