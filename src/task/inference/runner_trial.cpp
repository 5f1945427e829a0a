#include "task/inference/runner_trial.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/stop.h"
#include "base/this_work.h"

namespace evener::task {
namespace {

/// A thread for each runner makes one call after the other, until so many seconds have passed. When the calls of each
/// ended, since the first began.
std::vector<std::vector<double>> ends_of_calls(const Runners& runners, const SampleValues& batch, double seconds) {
  std::vector<std::vector<double>> ends_s(runners.size());
  std::mutex mutex;
  std::exception_ptr failure;
  const Stopwatch clock;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    threads.emplace_back(as_this_work([&, runner = runners[i].get(), ends = &ends_s[i]] {
      try {
        do {
          start(*runner, batch);
          runner->wait();
          ends->push_back(clock.seconds());
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

/// The calls that a runner has done by then since its first ended, with the part of the one under way.
double calls_until(const std::vector<double>& ends_s, double time_s) {
  const auto next = std::ranges::upper_bound(ends_s, time_s);
  if (next == ends_s.begin()) return 0;
  const auto last = next - 1;
  const auto whole = static_cast<double>(last - ends_s.begin());
  return next == ends_s.end() ? whole : whole + (time_s - *last) / (*next - *last);
}

}  // namespace

std::vector<double> rates_between(const std::vector<std::vector<double>>& ends_s, int blocks) {
  double from_s = 0, until_s = std::numeric_limits<double>::infinity(), end_s = 0;
  std::size_t calls = 0, fewest = std::numeric_limits<std::size_t>::max();
  for (const std::vector<double>& ends : ends_s) {
    if (ends.empty()) return {};
    from_s = std::max(from_s, ends.front());
    until_s = std::min(until_s, ends.back());
    end_s = std::max(end_s, ends.back());
    calls += ends.size();
    fewest = std::min(fewest, ends.size());
  }
  if (until_s <= from_s) return {static_cast<double>(calls) / end_s};
  const int count = std::clamp(static_cast<int>(fewest) - 1, 1, blocks);
  const double block_s = (until_s - from_s) / count;
  const auto done_until = [&](double time_s) {
    double done = 0;
    for (const std::vector<double>& ends : ends_s) done += calls_until(ends, time_s);
    return done;
  };
  std::vector<double> rates;
  for (int i = 0; i < count; ++i) {
    rates.push_back((done_until(from_s + (i + 1) * block_s) - done_until(from_s + i * block_s)) / block_s);
  }
  return rates;
}

std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks) {
  return rates_between(ends_of_calls(runners, batch, seconds), blocks);
}

}  // namespace evener::task
