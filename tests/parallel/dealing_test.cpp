#include <gmock/gmock.h>

#include <algorithm>
#include <queue>

#include "parallel/shares.h"

namespace evener::parallel {
namespace {

/// What becomes of calls that workers of these speeds take: a clock goes from one end of a call to the next.
struct Played {
  double end_s = 0;
  std::vector<std::int64_t> calls;  // of each worker
};

/// `guess_s`: what Dealing is told at first.
Played play(const std::vector<double>& call_s, std::int64_t calls, std::vector<double> guess_s = {}) {
  Dealing dealing(guess_s.empty() ? call_s : std::move(guess_s), calls);
  Played played;
  played.calls.resize(call_s.size());
  using Event = std::pair<double, std::size_t>;  // when, and which worker is free then
  std::priority_queue<Event, std::vector<Event>, std::greater<>> free;
  for (std::size_t w = call_s.size(); w-- > 0;) free.emplace(0, w);
  std::vector<bool> computes(call_s.size());
  while (!free.empty()) {
    const auto [now_s, worker] = free.top();
    free.pop();
    if (computes[worker]) dealing.gave(worker, call_s[worker], now_s);
    computes[worker] = dealing.takes(worker, now_s);
    if (!computes[worker]) continue;
    ++played.calls[worker];
    played.end_s = std::max(played.end_s, now_s + call_s[worker]);
    free.emplace(now_s + call_s[worker], worker);
  }
  return played;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total += value;
  return total;
}

TEST(Dealing, EqualWorkersTakeEqualParts) {
  EXPECT_EQ(play({1, 1}, 10).calls, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(play({1, 1, 1}, 3).calls, (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(play({1}, 7).calls, (std::vector<std::int64_t>{7}));
}

TEST(Dealing, UnequalWorkersTakePartsByTheirSpeed) {
  const Played played = play({1, 4}, 100);
  EXPECT_EQ(played.calls, (std::vector<std::int64_t>{80, 20}));
  EXPECT_EQ(played.end_s, 80);
}

TEST(Dealing, IsNeverSlowerThanTheFastestAlone) {
  for (const double slow : {1.0, 1.3, 2.0, 3.7, 10.0, 55.0, 1000.0}) {
    for (std::int64_t calls = 1; calls < 60; ++calls) {
      const Played two = play({slow, 1}, calls), three = play({2 * slow, slow, 1}, calls);
      EXPECT_EQ(sum(two.calls), calls);
      EXPECT_EQ(sum(three.calls), calls);
      EXPECT_LE(two.end_s, static_cast<double>(calls)) << slow;
      EXPECT_LE(three.end_s, static_cast<double>(calls)) << slow;
    }
  }
}

TEST(Dealing, TheSlowOneTakesNoneOfTheLast) {
  EXPECT_EQ(play({10, 1}, 9).calls, (std::vector<std::int64_t>{0, 9}));
  EXPECT_EQ(play({10, 1}, 11).calls, (std::vector<std::int64_t>{1, 10}));
}

TEST(Dealing, LearnsHowFastTheyAre) {
  const Played played = play({8, 1}, 200, {1, 1});
  EXPECT_EQ(sum(played.calls), 200);
  EXPECT_LE(played.end_s, 185) << "177.8 at best, 200 by the fast one alone";
}

}  // namespace
}  // namespace evener::parallel
