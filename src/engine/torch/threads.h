// The threads that LibTorch computes with.
#pragma once

#include <vector>

namespace evener::engine::torch_engine {

/// Lets this thread compute on `cpus` (none: as it may now) with so many threads. Called before its first parallel
/// region: OpenMP's threads inherit the affinity of the thread that starts them.
void use_threads(int threads, const std::vector<int>& cpus);

/// The same for a thread that may have done so before, with its CPUs as they are.
void ensure_threads(int threads);

std::vector<int> cpus_of_this_thread();
/// Lets this thread run there from now on, where it doesn't by an earlier call. LibTorch's threads for the backward
/// passes of GPUs are started by whoever does the first backward pass of the process, and run where that one may.
void keep_on(const std::vector<int>& cpus);

}  // namespace evener::engine::torch_engine
