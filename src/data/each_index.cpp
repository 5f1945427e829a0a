#include "data/each_index.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/stop.h"
#include "base/this_work.h"

namespace evener::data {

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work,
                    const Progress& progress) {
  std::atomic<std::size_t> next{0}, done{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](bool tells) {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        if (stop_requested()) throw Interrupted("stopped while reading data");
        work(i);
        const std::size_t now_done = ++done;
        if (tells) progress(now_done, count);
      }
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    const std::size_t helpers =
        std::min(static_cast<std::size_t>(std::max(threads, 1)), std::max<std::size_t>(count, 1)) - 1;
    std::vector<std::jthread> pool;
    pool.reserve(helpers);
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(as_this_work([&run] { run(false); }));
    run(progress != nullptr);
  }
  if (failure) std::rethrow_exception(failure);
  if (progress) progress(count, count);  // the last round may have been another thread's
}

}  // namespace evener::data
