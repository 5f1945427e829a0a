#include "task/runner_trial.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "base/this_work.h"

namespace evener::task {

std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks) {
  std::vector<double> rates;
  for (int block = 0; block < blocks && !stop_requested(); ++block) {
    std::atomic<std::int64_t> calls = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    const Stopwatch clock;
    std::vector<std::jthread> threads;
    for (const auto& runner : runners) {
      threads.emplace_back(as_this_work([&, runner = runner.get()] {
        try {
          do {
            start(*runner, batch);
            runner->wait();
            ++calls;
          } while (clock.seconds() < seconds / blocks);
        } catch (...) {
          const std::scoped_lock lock(mutex);
          failure = std::current_exception();
        }
      }));
    }
    threads.clear();  // joins
    if (failure) std::rethrow_exception(failure);
    rates.push_back(static_cast<double>(calls) / clock.seconds());
  }
  return rates;
}

double speed_against(const Runners& usual, const Runners& others, const SampleValues& batch, double seconds) {
  constexpr int kRounds = 5;
  for (const Runners* runners : {&usual, &others}) call_rates(*runners, batch, 0, 1);
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = call_rates(usual, batch, seconds / (2 * kRounds), 1);
    const auto after = call_rates(others, batch, seconds / (2 * kRounds), 1);
    if (before.empty() || after.empty()) return 0;
    ratios.push_back(after.front() / before.front());
  }
  return median(ratios).value_or(0);
}

}  // namespace evener::task
