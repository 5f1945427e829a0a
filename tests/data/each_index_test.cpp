#include "data/each_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/stop.h"

namespace evener::data {
namespace {

TEST(EachIndex, CallsEveryRoundOnce) {
  for (const int threads : {-1, 1, 2, 7}) {
    std::vector<std::atomic<int>> calls(100);
    for_each_index(100, threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
  for_each_index(0, 4, [](std::size_t) { FAIL(); });
}

TEST(EachIndex, RethrowsAndEndsEarly) {
  std::atomic<int> calls{0};
  EXPECT_THROW(for_each_index(1'000'000, 3,
                              [&](std::size_t) {
                                ++calls;
                                throw Error("no");
                              }),
               Error);
  EXPECT_LE(calls, 3);
}

TEST(EachIndex, TellsTheCallerHowMuchIsDone) {
  for (const int threads : {1, 4}) {
    std::vector<std::size_t> told;
    const auto caller = std::this_thread::get_id();
    const auto progress = [&](std::size_t done, std::size_t count) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(count, 100U);
      told.push_back(done);
    };
    for_each_index(
        100, threads, [](std::size_t) {}, progress);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), 100U);
    EXPECT_GE(told.size(), threads == 1 ? 100U : 1U);
  }
}

TEST(EachIndex, ListensToStopRequests) {
  EXPECT_THROW(for_each_index(100, 2, [](std::size_t) { request_stop(); }), Interrupted);
  clear_stop_request();
}

}  // namespace
}  // namespace evener::data
