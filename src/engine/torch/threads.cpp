#include "engine/torch/threads.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include "base/cpu.h"

namespace evener::engine::torch_engine {

/// LibTorch keeps one number of threads for the process, which every thread copies when it first asks for it. This
/// thread asks here, so that a number that another replica sets meanwhile can't replace its own later.
void use_threads(int threads, const std::vector<int>& cpus) {
  at::internal::lazy_init_num_threads();  // as this module sees it,
  at::get_num_threads();                  // and as LibTorch does
  if (!cpus.empty()) {
    omp_set_num_threads(1);  // ends existing workers, which may run on other CPUs and would move this thread there
    pin_this_thread(cpus);
  }
  at::set_num_threads(threads);
  // LibTorch uses this module's OpenMP runtime (openmp.cpp) too, unless it was loaded first, as in a Python process
  // that has imported torch.
  omp_set_num_threads(threads);
}

void keep_on(const std::vector<int>& cpus) {
  thread_local std::vector<int> kept;
  if (kept == cpus) return;
  pin_this_thread(cpus);
  kept = cpus;
}

void ensure_threads(int threads) {
  at::internal::lazy_init_num_threads();
  if (at::get_num_threads() != threads || omp_get_max_threads() != threads) use_threads(threads, {});
}

}  // namespace evener::engine::torch_engine
