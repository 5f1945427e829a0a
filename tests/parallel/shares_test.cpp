// How samples, micro-batches and calls are divided among replicas and workers of unequal speed.
#include "parallel/shares.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <span>

#include "parallel/data_parallel.h"

namespace evener::parallel {
namespace {

using Counts = std::vector<std::int64_t>;
using testing::ElementsAre;

TEST(FirstShares, OfDevicesOfOneKindAreEqual) {
  using testing::ElementsAre;
  EXPECT_THAT(steady_weights({95, 100, 91}), ElementsAre(1, 1, 1));
  EXPECT_THAT(steady_weights({100, 89}), ElementsAre(100, 89));
}

const std::vector<bool> kBoth = {true, true};

TEST(Divide, GoesByTheSpeeds) {
  EXPECT_THAT(divide(128, std::vector<double>{3, 1}), ElementsAre(96, 32));
  EXPECT_THAT(divide(0, std::vector<double>{3, 1}), ElementsAre(0, 0));
  EXPECT_THAT(divide(5, std::vector<double>{0, 2}), ElementsAre(0, 5));
}

TEST(Divide, GivesWholeSamplesToWhoFinishesFirst) {
  // 7 among three alike: 3, 2, 2. A third of the speed gets 1 of 4: 3 samples take as long as its one.
  EXPECT_THAT(divide(7, std::vector<double>{1, 1, 1}), ElementsAre(3, 2, 2));
  EXPECT_THAT(divide(4, std::vector<double>{3, 1}), ElementsAre(3, 1));
  // A hundredth of the speed: one sample lasts 100 units, longer than all 64 on the other.
  EXPECT_THAT(divide(64, std::vector<double>{1, 0.01}), ElementsAre(64, 0));
  EXPECT_THAT(divide(128, std::vector<double>{1, 0.01}), ElementsAre(127, 1));
}

TEST(Divide, LosesNoSample) {
  for (std::int64_t samples = 0; samples < 300; ++samples) {
    const Counts counts = divide(samples, std::vector<double>{1, 0.3, 7.1, 2.2});
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), samples);
  }
}

TEST(Shares, FixedOnesIgnoreWhatHappens) {
  Shares shares = Shares::fixed({3, 1});
  shares.observe(Counts{96, 32}, std::vector<double>{10, 0.1});
  EXPECT_THAT(shares.divide_batch(128, kBoth), ElementsAre(96, 32));
}

TEST(Shares, FollowTheSpeedsThatAreSeen) {
  Shares shares = Shares::measured({1, 1});
  Counts counts = shares.divide_batch(128, kBoth);
  EXPECT_THAT(counts, ElementsAre(64, 64));
  for (int step = 0; step < 20; ++step) {  // the second has a quarter of the first one's speed: 102.4 to 25.6
    shares.observe(counts,
                   std::vector<double>{static_cast<double>(counts[0]) / 40, static_cast<double>(counts[1]) / 10});
    counts = shares.divide_batch(128, kBoth);
  }
  EXPECT_NEAR(counts[0], 102.4, 2);
  for (int step = 0; step < 20; ++step) {  // and is as fast as the first from here on
    shares.observe(counts,
                   std::vector<double>{static_cast<double>(counts[0]) / 40, static_cast<double>(counts[1]) / 40});
    counts = shares.divide_batch(128, kBoth);
  }
  EXPECT_NEAR(counts[0], 64, 2);
}

/// Replicas of `speeds`, which lose `first_s` with the first step of each size.
class Replicas {
 public:
  Replicas(std::vector<double> speeds, double first_s)
      : speeds_(std::move(speeds)), first_s_(first_s), seen_(speeds_.size()) {}

  /// A step; returns how long the slowest took.
  double compute(Shares& shares, const Counts& counts) {
    std::vector<double> seconds;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      seconds.push_back(static_cast<double>(counts[r]) / speeds_[r]);
      if (counts[r] > 0 && seen_[r].insert(counts[r]).second) seconds.back() += first_s_;
    }
    shares.observe(counts, seconds);
    return std::ranges::max(seconds);
  }

 private:
  std::vector<double> speeds_;
  double first_s_;
  std::vector<std::set<std::int64_t>> seen_;
};

TEST(Shares, TakeTheFirstStepOfASizeForWhatAChangeCosts) {
  Shares shares = Shares::measured({40, 4});
  Replicas replicas({40, 4}, 1.5);
  for (int step = 0; step < 5; ++step) {  // the guess was right: nothing to change, however long the first step took
    const Counts counts = shares.divide_batch(128, kBoth);
    EXPECT_THAT(counts, ElementsAre(117, 11));
    replicas.compute(shares, counts);
  }
  EXPECT_THAT(shares.speeds(), ElementsAre(40, 4));
}

TEST(Shares, ChangeWhenTheTimePassedUpComesToWhatAChangeCosts) {
  Shares shares = Shares::measured({40, 10});
  Replicas replicas({40, 4}, 1.5);
  std::vector<Counts> taken;
  double total_s = 0;
  for (int step = 0; step < 20; ++step) {
    const Counts counts = shares.divide_batch(128, kBoth);
    if (taken.empty() || taken.back() != counts) taken.push_back(counts);
    total_s += replicas.compute(shares, counts);
  }
  EXPECT_THAT(taken.back(), ElementsAre(117, 11));
  EXPECT_LE(taken.size(), 5);
  EXPECT_LE(total_s, 1.25 * 20 * 128 / 44);  // of that 0.1 for each change, on the second replica
}

/// Mean time of steps of 128 samples on replicas whose time varies by these shares of it, after some to settle.
double varying_step_s(Shares& shares, std::span<const double> speeds, std::span<const double> spreads, Counts& counts) {
  constexpr int kSettle = 30, kSteps = 400;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  double sum_s = 0;
  for (int step = 0; step < kSettle + kSteps; ++step) {
    counts = shares.divide_batch(128, kBoth);
    std::vector<double> seconds;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      seconds.push_back(static_cast<double>(counts[r]) / speeds[r] * (1 + spreads[r] * normal(random)));
    }
    shares.observe(counts, seconds);
    if (step >= kSettle) sum_s += std::ranges::max(seconds);
  }
  return sum_s / kSteps;
}

TEST(Shares, WhoHasASmallShareGetsLessWhenTimesVary) {
  const std::vector<double> speeds = {29, 2.2}, spreads = {0.04, 0.08};
  Counts counts;
  Shares by_speed = Shares::fixed(speeds), cautious = Shares::measured(speeds);
  const double by_speed_s = varying_step_s(by_speed, speeds, spreads, counts);
  EXPECT_THAT(counts, ElementsAre(119, 9));
  const double cautious_s = varying_step_s(cautious, speeds, spreads, counts);
  EXPECT_LT(counts[1], 9);
  EXPECT_LT(cautious_s, 0.985 * by_speed_s);
  EXPECT_NEAR(cautious.expected_s(counts), cautious_s, 0.05 * cautious_s);
}

TEST(Shares, ExpectTheMeanOfTheSlowestOfThree) {
  const std::vector<double> speeds = {10, 10, 10};
  Shares shares = Shares::measured(speeds);
  const Counts counts = {50, 50, 50};
  EXPECT_EQ(shares.expected_s(counts), 5);
  for (int step = 0; step < 400; ++step) {  // off by a tenth, now up, now down
    const double slow = 5.5, fast = 4.5;
    shares.observe(counts, step % 2 == 0 ? std::vector{slow, slow, fast} : std::vector{fast, fast, slow});
  }
  // 0.846 standard deviations above the mean, were they independent; the moving averages add to what is seen of them.
  EXPECT_GT(shares.expected_s(counts), 5 + 0.8 * 0.5);
  EXPECT_LT(shares.expected_s(counts), 5 + 1.2 * 0.5);
}

TEST(Shares, GiveNobodyTooFew) {
  Shares fixed = Shares::fixed({63, 1}, 2);
  EXPECT_THAT(fixed.divide_batch(64, kBoth), ElementsAre(64, 0));
  EXPECT_THAT(fixed.divide_batch(128, kBoth), ElementsAre(126, 2));
  Shares equal = Shares::fixed({1, 1}, 2);
  EXPECT_THAT(equal.divide_batch(3, kBoth), ElementsAre(3, 0));
  EXPECT_THAT(equal.divide_batch(2, kBoth), ElementsAre(2, 0));
  EXPECT_THAT(equal.divide_batch(1, kBoth), ElementsAre(1, 0));
}

TEST(MicroBatches, AreAsLargeAsThoseOfAWholeBatch) {
  EXPECT_THAT(micro_batches(64, 64, 1), ElementsAre(64));
  EXPECT_THAT(micro_batches(64, 64, 4), ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(micro_batches(11, 11, 4), ElementsAre(2, 3, 3, 3));
  EXPECT_THAT(micro_batches(33, 64, 4), ElementsAre(11, 11, 11)) << "a short batch: fewer parts";
  EXPECT_THAT(micro_batches(2, 25, 2), ElementsAre(2));
  EXPECT_THAT(micro_batches(5, 8, 8), ElementsAre(1, 1, 1, 1, 1)) << "as in a whole batch";
  EXPECT_THAT(micro_batches(1, 64, 4), ElementsAre(1));
}

TEST(MicroBatches, AreNoSingleSamplesWhereItCanBe) {
  for (std::int64_t batch = 2; batch < 40; ++batch) {
    for (int accumulate = 1; accumulate <= batch / 2; ++accumulate) {
      for (std::int64_t samples = 2; samples <= batch; ++samples) {
        const Counts sizes = micro_batches(samples, batch, accumulate);
        EXPECT_GE(std::ranges::min(sizes), 2);
        EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), samples);
        EXPECT_LE(std::ssize(sizes), accumulate);
      }
    }
  }
}

Counts sums_of(const std::vector<Counts>& divisions) {
  Counts sums(divisions.front().size(), 0);
  for (const Counts& counts : divisions) std::ranges::transform(sums, counts, sums.begin(), std::plus());
  return sums;
}

TEST(Shares, MicroBatchesAddUpToTheSharesOfTheBatch) {
  Shares shares = Shares::fixed({3, 1});
  const auto divisions = shares.divide_micro_batches(Counts{4, 4, 4, 4}, kBoth);
  EXPECT_THAT(divisions, testing::Each(ElementsAre(3, 1)));
  Shares three = Shares::fixed({1, 1, 1});
  const Counts sizes = {2, 3, 3, 3};
  const auto parts = three.divide_micro_batches(sizes, {true, true, true});
  EXPECT_EQ(sums_of(parts), three.divide_batch(11, {true, true, true}));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(std::accumulate(parts[i].begin(), parts[i].end(), std::int64_t{0}), sizes[i]);
  }
  EXPECT_THAT(shares.divide_micro_batches(Counts{4, 4}, {true, false}), testing::Each(ElementsAre(4, 0)));
}

TEST(Shares, GiveNobodyTooFewOfAMicroBatch) {
  Shares shares = Shares::fixed({3, 1}, 2);
  const auto divisions = shares.divide_micro_batches(Counts{4, 4, 4, 4}, kBoth);
  for (const Counts& counts : divisions) {
    EXPECT_EQ(counts[0] + counts[1], 4);
    EXPECT_THAT(counts, testing::Each(testing::Ne(1)));
  }
  EXPECT_GT(sums_of(divisions)[1], 0) << "what it misses of one it gets of others";
}

TEST(Shares, AreNotHeldByOneFirstStepThatWasHeldUp) {
  Shares shares = Shares::measured({10, 10});
  const auto take = [&shares](std::int64_t first, double seconds_0, double seconds_1) {
    shares.observe(Counts{first, 128 - first}, std::vector{seconds_0, seconds_1});
  };
  for (const std::int64_t first : {64, 62, 60}) {  // new sizes, of which the first step takes longer
    const double held_up_s = first == 60 ? 20 : 1;
    take(first, first / 10. + held_up_s, (128 - first) / 10.);
    for (int step = 0; step < 3; ++step) take(first, first / 10., (128 - first) / 10.);
  }
  shares.divide_batch(128, kBoth);
  int steps = 0;
  for (Counts counts = {64, 64}; counts[0] > 48 && steps < 100; ++steps) {  // the first one is half as fast now
    counts = shares.divide_batch(128, kBoth);
    take(counts[0], counts[0] / 5., counts[1] / 10.);
  }
  EXPECT_LT(steps, 8);
}

TEST(Shares, SmallDifferencesChangeNothingForSomeSteps) {
  Shares shares = Shares::measured({10, 10});
  const Counts before = shares.divide_batch(128, kBoth);
  for (int step = 0; step < 6; ++step) {
    shares.observe(before, std::vector<double>{6.3, 6.4});  // 1.6 % apart
    EXPECT_EQ(shares.divide_batch(128, kBoth), before);
  }
}

TEST(Shares, ABatchOfAnotherSizeChangesNoDivision) {
  Shares shares = Shares::measured({10, 10});
  Replicas replicas({10, 10.3}, 5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_THAT(shares.divide_batch(128, kBoth), ElementsAre(64, 64));
    replicas.compute(shares, {64, 64});
    EXPECT_THAT(shares.divide_batch(20, kBoth), ElementsAre(10, 10));
    replicas.compute(shares, {10, 10});
  }
}

TEST(Shares, AReplicaThatIsNotActiveGetsNothing) {
  Shares shares = Shares::measured({10, 10});
  EXPECT_THAT(shares.divide_batch(128, {true, false}), ElementsAre(128, 0));
  EXPECT_THAT(shares.divide_batch(128, kBoth), ElementsAre(64, 64));
}

TEST(Shares, ReplicasWithoutSamplesKeepTheirSpeed) {
  Shares shares = Shares::measured({10, 5});
  shares.observe(Counts{128, 0}, std::vector<double>{12.8, 0});
  EXPECT_THAT(shares.speeds(), ElementsAre(10, 5));
}

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
