// Dividing data, and its statistics.
#include "data/split.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "base/error.h"
#include "data/channel_statistics.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// `counts[c]` samples of class c, in turns as far as they go.
std::vector<std::int32_t> labels_with_counts(std::vector<int> counts) {
  std::vector<std::int32_t> labels;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c]-- <= 0) continue;
      labels.push_back(static_cast<std::int32_t>(c));
      any = true;
    }
  }
  return labels;
}

std::vector<std::size_t> per_part(const Split& split, const std::vector<std::int32_t>& labels, std::int32_t label) {
  std::vector<std::size_t> counts;
  for (const auto* part : {&split.train, &split.val, &split.test}) {
    counts.push_back(static_cast<std::size_t>(
        std::count_if(part->begin(), part->end(), [&](std::uint32_t i) { return labels[i] == label; })));
  }
  return counts;
}

TEST(Split, DividesEveryClassByThePercentages) {
  const auto labels = labels_with_counts({1000, 200, 100});
  const Split split = stratified_split(labels, 3, {85, 2, 13}, 1);
  EXPECT_THAT(per_part(split, labels, 0), ElementsAre(850, 20, 130));
  EXPECT_THAT(per_part(split, labels, 1), ElementsAre(170, 4, 26));
  EXPECT_THAT(per_part(split, labels, 2), ElementsAre(85, 2, 13));
}

TEST(Split, UsesEverySampleOnceAndInAscendingOrder) {
  const auto labels = labels_with_counts({37, 11, 3, 1});
  const Split split = stratified_split(labels, 4, {70, 15, 15}, 7);
  std::multiset<std::uint32_t> all;
  for (const auto* part : {&split.train, &split.val, &split.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    all.insert(part->begin(), part->end());
  }
  EXPECT_EQ(all.size(), labels.size());
  EXPECT_EQ(std::set<std::uint32_t>(all.begin(), all.end()).size(), labels.size());
}

TEST(Split, GivesSmallClassesAtLeastOneSamplePerPart) {
  const auto labels = labels_with_counts({10, 3, 2, 1, 0});
  const Split split = stratified_split(labels, 5, {85, 2, 13}, 3);
  EXPECT_THAT(per_part(split, labels, 0), ElementsAre(8, 1, 1));
  EXPECT_THAT(per_part(split, labels, 1), ElementsAre(1, 1, 1));
  EXPECT_EQ(per_part(split, labels, 2)[0], 1u);
  EXPECT_THAT(per_part(split, labels, 3), ElementsAre(1, 0, 0));
  EXPECT_THAT(per_part(split, labels, 4), ElementsAre(0, 0, 0));
}

TEST(Split, TheOnlySampleIsForTraining) {
  EXPECT_THAT(plain_split(1, {30, 70}, 1).train, ElementsAre(0U));
}

TEST(Split, KeepsAnEmptyPartEmptyAndUsesAPartOfTheDataIfAsked) {
  const auto labels = labels_with_counts({100, 100});
  EXPECT_THAT(per_part(stratified_split(labels, 2, {90, 10}, 1), labels, 1), ElementsAre(90, 10, 0));
  EXPECT_THAT(per_part(stratified_split(labels, 2, {100, 0, 0}, 1), labels, 1), ElementsAre(100, 0, 0));
  EXPECT_THAT(per_part(stratified_split(labels, 2, {10, 5, 5}, 1), labels, 0), ElementsAre(10, 5, 5));
  EXPECT_THAT(
      per_part(stratified_split(labels_with_counts({1, 3}), 2, {0, 50, 50}, 1), labels_with_counts({1, 3}), 0)[0], 0u);
}

TEST(Split, DependsOnTheSeedAlone) {
  const auto labels = labels_with_counts({50, 50});
  const Split one = stratified_split(labels, 2, {80, 10, 10}, 1), same = stratified_split(labels, 2, {80, 10, 10}, 1),
              other = stratified_split(labels, 2, {80, 10, 10}, 2);
  EXPECT_EQ(one.test, same.test);
  EXPECT_NE(one.test, other.test);
}

TEST(Split, RefusesImpossiblePercentages) {
  for (const std::vector<double>& percent :
       std::vector<std::vector<double>>{{}, {100}, {90, 20}, {-1, 50, 10}, {0, 0, 0}, {25, 25, 25, 25}, {80, 10, 11}}) {
    EXPECT_THROW(stratified_split({0, 1}, 2, percent, 1), UsageError);
  }
  EXPECT_THAT(error_of([] { stratified_split({0, 1}, 2, {90, 20}, 1); }), HasSubstr("'90/20'"));
}

TEST(Split, OfBoxesIsPlainShuffledAndKeyedByTheSeed) {
  const Split split = plain_split(200, {85, 2, 13}, 1);
  EXPECT_EQ(split.train.size(), 170u);
  EXPECT_EQ(split.val.size(), 4u);
  EXPECT_EQ(split.test.size(), 26u);
  std::set<std::uint32_t> all;
  for (const auto* part : {&split.train, &split.val, &split.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    all.insert(part->begin(), part->end());
  }
  EXPECT_EQ(all.size(), 200u);
  EXPECT_EQ(*all.rbegin(), 199u);
  EXPECT_EQ(plain_split(200, {85, 2, 13}, 1).test, split.test);
  EXPECT_NE(plain_split(200, {85, 2, 13}, 2).test, split.test);
  EXPECT_GT(split.test.back() - split.test.front(), 100u) << "not one piece of the data";
  EXPECT_THROW(plain_split(200, {90, 20}, 1), UsageError);
}

TEST(Split, OfADatasetGoesByItsTargetsAndNamesItsSamples) {
  const std::vector<std::uint32_t> some{3, 5, 8, 9, 20, 21, 22, 24, 30, 31};
  const BoxedDataset boxed({1, 2, 2}, std::vector<std::vector<LabelledBox>>(40));
  const Split plain = split_samples(boxed, some, {60, 20, 20}, 4), places = plain_split(10, {60, 20, 20}, 4);
  ASSERT_EQ(plain.val.size(), places.val.size());
  for (std::size_t i = 0; i < plain.val.size(); ++i) EXPECT_EQ(plain.val[i], some[places.val[i]]);

  const CountingDataset classes(40, {1, 2, 2});  // even samples are of class 0: 5 of them
  const Split stratified = split_samples(classes, some, {60, 20, 20}, 4);
  for (const auto& [part, count] : {std::pair(&stratified.train, 3), {&stratified.val, 1}, {&stratified.test, 1}}) {
    EXPECT_EQ(std::count_if(part->begin(), part->end(), [](std::uint32_t sample) { return sample % 2 == 0; }), count);
    for (const std::uint32_t sample : *part) EXPECT_TRUE(std::binary_search(some.begin(), some.end(), sample));
  }
}

TEST(Split, OneThatGivesMoreToValidateIsNamedWhereThereIsOne) {
  const auto advice = [](std::uint32_t images, bool came_divided = false) {
    OpenedData data;
    data.dataset = std::make_shared<CountingDataset>(images, ImageShape{1, 2, 2});
    data.came_divided = came_divided;
    std::vector<std::uint32_t> all(images);
    std::iota(all.begin(), all.end(), 0U);
    data.split = split_samples(*data.dataset, all, {70, 15, 15}, 1);
    return more_to_validate(data, 30, 1);
  };
  EXPECT_EQ(advice(112), "--split 55/30/15 gives 34");
  EXPECT_EQ(advice(62), "--split 50/50 gives 30") << "a test part would leave too few";
  EXPECT_EQ(advice(40), "of 40 images no --split leaves enough to train on as well");
  EXPECT_EQ(advice(112, true), "put more into the part for it");
}

/// Runs that are resumed rely on these numbers: they are divided anew by the program that goes on with them.
TEST(Split, OfClassesIsWhatItAlwaysWas) {
  const Split split = stratified_split(labels_with_counts({12, 8}), 2, {60, 20, 20}, 1);
  EXPECT_THAT(split.train, ElementsAre(2, 3, 5, 6, 7, 8, 10, 13, 14, 15, 16, 17));
  EXPECT_THAT(split.val, ElementsAre(0, 9, 11, 18, 19));
  EXPECT_THAT(split.test, ElementsAre(1, 4, 12));
}

TEST(Statistics, AreExactWhateverTheThreads) {
  const CountingDataset dataset(200, {3, 2, 2});
  std::vector<std::uint32_t> samples(200);
  for (std::uint32_t i = 0; i < 200; ++i) samples[i] = i;
  const ChannelStatistics one = channel_statistics(dataset, samples, 1), four = channel_statistics(dataset, samples, 4);
  EXPECT_EQ(one.mean, four.mean);
  EXPECT_EQ(one.standard_deviation, four.standard_deviation);
  ASSERT_EQ(one.mean.size(), 3u);
  EXPECT_FLOAT_EQ(one.mean[2], 99.5F / 255);                     // mean of 0..199
  EXPECT_NEAR(one.standard_deviation[0], 57.73430 / 255, 1e-6);  // sqrt((200^2 - 1) / 12)
}

TEST(Statistics, TellHowManyImagesAreDone) {
  const CountingDataset dataset(100, {1, 2, 2});
  std::vector<std::uint32_t> samples(100);
  std::iota(samples.begin(), samples.end(), 0U);
  std::vector<std::size_t> told;
  channel_statistics(dataset, samples, 1, [&](std::size_t done, std::size_t count) {
    EXPECT_EQ(count, 100U);
    told.push_back(done);
  });
  EXPECT_EQ(told.front(), 64U);  // the work goes in chunks, and is told in images
  EXPECT_EQ(told.back(), 100U);
}

TEST(Statistics, HaveADeviationToDivideBy) {
  const CountingDataset dataset(200, {1, 2, 2});
  const std::vector<std::uint32_t> one{7};
  EXPECT_FLOAT_EQ(channel_statistics(dataset, one, 1).standard_deviation[0], 1);
  EXPECT_THROW(channel_statistics(dataset, {}, 1), Error);
}

}  // namespace
}  // namespace evener::data
