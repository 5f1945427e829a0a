// The scaling of a sweep's cells with threads and with processes. Inside report/ only.
#pragma once

#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// Finds cells that differ only in the number of threads of a single replica, or only in the number of replicas of one
/// thread, and computes the scaling of each such group with at least two numbers of workers. Leaves out cells with more
/// threads than CPUs, with a note in `sweep`.
std::vector<SweepScaling> scalings_of(Sweep& sweep);

/// Speedup, efficiency and Karp-Flatt serial fraction, with a row for each number of workers.
Table scaling_table(const Sweep& sweep);

/// A sentence with the fit of Amdahl's law.
std::string scaling_sentence(const SweepScaling& scaling);

}  // namespace evener::report
