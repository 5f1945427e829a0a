// Sets the number of LibTorch's threads and their CPUs.
#pragma once

#include <vector>

namespace evener::engine::torch_engine {

/// Pins this thread to `cpus` (empty: leaves its affinity) and makes it compute with `threads` threads. Must be called
/// before its first parallel region: OpenMP's threads inherit the affinity of the thread that starts them.
void use_threads(int threads, const std::vector<int>& cpus);

/// Sets the number of threads of a thread that may have computed before, without changing its affinity.
void ensure_threads(int threads);

/// Pins this thread to `cpus`, unless an earlier call has done so. LibTorch's threads for the backward passes of GPUs
/// need it: they are started by the thread that does the first backward pass of the process, and inherit its affinity.
void keep_on(const std::vector<int>& cpus);

}  // namespace evener::engine::torch_engine
