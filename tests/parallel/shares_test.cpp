#include "parallel/shares.h"

#include <gmock/gmock.h>

#include <numeric>

namespace evener::parallel {
namespace {

using testing::ElementsAre;
using Counts = std::vector<std::int64_t>;

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

TEST(Shares, SmallDifferencesChangeNothing) {
  Shares shares = Shares::measured({10, 10});
  const Counts before = shares.divide_batch(128, kBoth);
  shares.observe(before, std::vector<double>{6.3, 6.5});  // 1.5 % apart
  EXPECT_EQ(shares.divide_batch(128, kBoth), before);
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

}  // namespace
}  // namespace evener::parallel
