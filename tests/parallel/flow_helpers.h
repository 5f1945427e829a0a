// Sources and waiting for the tests of flows.
#pragma once

#include <chrono>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thrown.h"
#include "parallel/flow.h"

namespace evener::parallel::test {

/// 0, 1, ..., count - 1.
inline std::function<std::optional<int>()> numbers(int count) {
  return [count, next = 0]() mutable { return next < count ? std::optional<int>(next++) : std::nullopt; };
}

inline std::vector<int> all_of(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

inline std::string file_name(const int& number) {
  return std::to_string(number) + ".jpg";
}

/// Up to 2 ms, different for each item and each `salt`.
inline void take_some_time(int number, int salt) {
  const int part = (number * 7919 + salt * 104729) % 41;
  std::this_thread::sleep_for(std::chrono::microseconds(50 * part));
}

/// Waits until `condition` holds; false after 20 s, so that a test that fails ends.
template <class Condition>
bool comes_true(Condition condition) {
  const Stopwatch clock;
  while (!condition()) {
    if (clock.seconds() > 200) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

template <class Thrown>
std::string message_of(Flow& flow, const FlowOptions& options = {}) {
  return evener::test::thrown_by<Thrown>([&] { flow.run(options); }, "nothing of this type was thrown");
}

}  // namespace evener::parallel::test
