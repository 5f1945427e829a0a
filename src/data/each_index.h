// A parallel loop.
#pragma once

#include <cstddef>
#include <functional>

namespace evener::data {

/// Called on the caller's thread with how much of a long piece of work is done.
using Progress = std::function<void(std::size_t done, std::size_t count)>;

/// Calls `work(i)` for i in [0, count), on `threads` threads (the caller's is one of them). After the first exception
/// no further call begins, and the exception is rethrown. Throws Interrupted when a stop is requested (base/stop.h).
/// `progress` is called with the number of calls that are done.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work,
                    const Progress& progress = {});

}  // namespace evener::data
