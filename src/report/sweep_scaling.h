// How a sweep's cells scale with threads and with processes. Inside report/ only.
#pragma once

#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// Of cells that differ only in how many threads one replica has, and of those that differ only in how many replicas
/// there are: with two numbers of workers or more. A cell of more threads than there are CPUs is left out, and noted.
std::vector<SweepScaling> scalings_of(Sweep& sweep);

/// Speedup, efficiency and the serial fractions, a row for each number of workers.
Table scaling_table(const Sweep& sweep);

/// What Amdahl's law says of it, in a sentence.
std::string scaling_sentence(const SweepScaling& scaling);

}  // namespace evener::report
