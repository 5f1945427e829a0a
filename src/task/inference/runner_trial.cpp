#include "task/inference/runner_trial.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/stop.h"
#include "base/this_work.h"

namespace evener::task {
namespace {

/// A thread for each runner makes one call after the other, until so many seconds have passed. When each call ended,
/// since the first began.
std::vector<double> ends_of_calls(const Runners& runners, const SampleValues& batch, double seconds) {
  std::vector<double> ends_s;
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
          const std::scoped_lock lock(mutex);
          ends_s.push_back(clock.seconds());
        } while (clock.seconds() < seconds && !stop_requested());
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
      }
    }));
  }
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  return ends_s;
}

}  // namespace

std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks) {
  std::vector<double> rates;
  for (int block = 0; block < blocks && !stop_requested(); ++block) {
    const std::vector<double> ends_s = ends_of_calls(runners, batch, seconds / blocks);
    rates.push_back(static_cast<double>(ends_s.size()) / ends_s.back());
  }
  return rates;
}

std::vector<double> rates_between(const std::vector<double>& ends_s, std::size_t together, int blocks) {
  const std::size_t each = std::max(together, ends_s.size() / static_cast<std::size_t>(blocks));
  std::vector<double> rates;
  for (std::size_t i = 0; i + each < ends_s.size(); i += each) {
    rates.push_back(static_cast<double>(each) / (ends_s[i + each] - ends_s[i]));
  }
  if (rates.empty()) rates.push_back(static_cast<double>(ends_s.size()) / ends_s.back());
  return rates;
}

std::vector<double> steady_call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks) {
  return rates_between(ends_of_calls(runners, batch, seconds), runners.size(), blocks);
}

}  // namespace evener::task
