// Order, contents, restarts, errors and shutdown of the loader.
#include "data/loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "data/data_helpers.h"

namespace evener::data {
namespace {

using namespace test;

std::vector<std::uint32_t> all_of(std::uint32_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0U);
  return samples;
}

std::vector<std::uint32_t> served_by(Loader& loader) {
  std::vector<std::uint32_t> served;
  while (const Batch* batch = loader.next()) {
    served.insert(served.end(), batch->samples.begin(), batch->samples.end());
  }
  return served;
}

TEST(EpochOrder, IsAPermutationKeyedBySeedAndEpoch) {
  const std::vector<std::uint32_t> samples{5, 9, 1000, 3, 4, 17, 2, 88};
  const auto order = epoch_order(samples, 1, 0);
  EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(samples));
  EXPECT_EQ(order, epoch_order(samples, 1, 0));
  EXPECT_NE(order, epoch_order(samples, 1, 1));
  EXPECT_NE(order, epoch_order(samples, 2, 0));
}

TEST(Loader, ServesTheOrderWithItsPixelsAndLabels) {
  const auto dataset = std::make_shared<CountingDataset>(103, ImageShape{1, 2, 3}, 4);
  for (const int threads : {0, 1, 4}) {
    SCOPED_TRACE(threads);
    Loader loader(dataset, {.batch = 10, .threads = threads, .prefetch = 3});
    const auto order = epoch_order(all_of(103), 1, 5);
    loader.start(order, 5);
    std::size_t place = 0;
    while (const Batch* batch = loader.next()) {
      ASSERT_EQ(batch->count, place == 100 ? 3 : 10);
      EXPECT_EQ(batch->epoch, 5u);
      EXPECT_EQ(batch->shape, (ImageShape{1, 2, 3}));
      ASSERT_EQ(batch->images.size(), static_cast<std::size_t>(batch->count) * 6);
      for (std::size_t i = 0; i < static_cast<std::size_t>(batch->count); ++i, ++place) {
        EXPECT_EQ(batch->samples[i], order[place]);
        EXPECT_EQ(class_labels(batch->targets)[i], static_cast<std::int32_t>(order[place] % 4));
        EXPECT_EQ(batch->images[i * 6 + 5], order[place] % 251);
      }
    }
    EXPECT_EQ(place, 103u);
    EXPECT_EQ(loader.next(), nullptr);
  }
}

TEST(Loader, BeginsInTheMiddle) {
  Loader loader(std::make_shared<CountingDataset>(25, ImageShape{1, 1, 1}), {.batch = 10});
  loader.start(all_of(25), 0, 2);
  EXPECT_THAT(served_by(loader), ::testing::ElementsAre(20, 21, 22, 23, 24));
  loader.start(all_of(25), 0, 3);
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, ServesSamplesAloneWhereNobodyWantsPixels) {
  Loader loader(std::make_shared<CountingDataset>(25, ImageShape{1, 2, 3}, 4), {.batch = 10, .pixels = false});
  loader.start(all_of(25), 1);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->count, 10);
  EXPECT_TRUE(batch->images.empty());
  EXPECT_EQ(class_labels(batch->targets)[7], 3);
  const Batch part = part_of(*batch, 2, 5);
  EXPECT_EQ(part.count, 3);
  EXPECT_TRUE(part.images.empty());
  EXPECT_THAT(part.samples, ::testing::ElementsAre(2, 3, 4));
  Augmentation flips;
  flips.options = parse_augment("flip");
  EXPECT_THROW(Loader(std::make_shared<CountingDataset>(25, ImageShape{1, 2, 3}),
                      {.batch = 10, .augmentation = flips, .pixels = false}),
               Error);
}

TEST(Loader, ServesPartsAsTheyAreNamed) {
  for (const int threads : {0, 2}) {
    SCOPED_TRACE(threads);
    Loader loader(std::make_shared<CountingDataset>(25, ImageShape{1, 1, 1}), {.batch = 10, .threads = threads});
    loader.start_parts(all_of(25), 3);
    EXPECT_EQ(loader.next(), nullptr);  // none was named
    loader.add_part({{4, 7}});
    loader.add_part({{7, 7}});
    const auto samples = [&] {
      const Batch* batch = loader.next();
      return std::vector<std::uint32_t>(batch->samples.begin(), batch->samples.end());
    };
    EXPECT_THAT(samples(), ::testing::ElementsAre(4, 5, 6));
    EXPECT_THAT(samples(), ::testing::IsEmpty());
    EXPECT_EQ(loader.next(), nullptr);
    loader.add_part({{20, 25}});  // more than a batch after the end is no end
    EXPECT_THAT(samples(), ::testing::ElementsAre(20, 21, 22, 23, 24));
    loader.add_part({{1, 3}, {8, 8}, {5, 6}});
    EXPECT_THAT(samples(), ::testing::ElementsAre(1, 2, 5));
    EXPECT_THROW(loader.add_part({{20, 26}}), Error);
    EXPECT_THROW(loader.add_part({{1, 2}, {20, 26}}), Error);
    EXPECT_THROW(loader.add_part({{3, 2}}), Error);
  }
}

TEST(Loader, DropsWhatItServedWhenStartedAgain) {
  const auto dataset = std::make_shared<CountingDataset>(500, ImageShape{1, 4, 4});
  Loader loader(dataset, {.batch = 7, .threads = 3, .prefetch = 4});
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    const auto order = epoch_order(all_of(500), 1, epoch);
    loader.start(order, epoch);
    for (std::size_t batch = 0; batch < epoch % 5; ++batch) {
      const Batch* served = loader.next();
      ASSERT_NE(served, nullptr);
      ASSERT_EQ(served->samples[0], order[batch * 7]);
      ASSERT_EQ(served->images[0], order[batch * 7] % 251);
    }
  }
  loader.start(all_of(20), 99);
  EXPECT_EQ(served_by(loader), all_of(20));
}

TEST(Loader, IsEmptyBeforeItIsStartedAndForAnEmptyOrder) {
  Loader loader(std::make_shared<CountingDataset>(5, ImageShape{1, 1, 1}), {});
  EXPECT_EQ(loader.next(), nullptr);
  loader.start({}, 0);
  EXPECT_EQ(loader.next(), nullptr);
}

class FailingDataset : public CountingDataset {
 public:
  FailingDataset() : CountingDataset(100, {1, 1, 1}) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (index == 42) throw Error("sample 42 is gone");
    CountingDataset::read(index, chw);
  }
};

TEST(Loader, RethrowsAnErrorAtItsBatchAndCanBeStartedAgain) {
  for (const int threads : {0, 2}) {
    Loader loader(std::make_shared<FailingDataset>(), {.batch = 10, .threads = threads});
    loader.start(all_of(100), 0);
    for (int batch = 0; batch < 4; ++batch) ASSERT_NE(loader.next(), nullptr);
    EXPECT_EQ(error_of([&] { loader.next(); }), "sample 42 is gone");
    EXPECT_EQ(error_of([&] { loader.next(); }), "sample 42 is gone");
    loader.start(all_of(30), 1);
    EXPECT_EQ(served_by(loader), all_of(30));
  }
}

TEST(Loader, RefusesWhatItCantServe) {
  const auto dataset = std::make_shared<CountingDataset>(5, ImageShape{1, 1, 1});
  EXPECT_THROW(Loader(dataset, {.batch = 0}), UsageError);
  Loader loader(dataset, {});
  EXPECT_THAT(error_of([&] { loader.start({1, 5}, 0); }), ::testing::HasSubstr("sample 5"));
}

/// Counts how far ahead of the consumer the loader reads.
class AheadDataset : public CountingDataset {
 public:
  AheadDataset() : CountingDataset(1000, {1, 1, 1}) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    ++reads;
    CountingDataset::read(index, chw);
  }
  mutable std::atomic<int> reads{0};
};

TEST(Loader, PreparesAsManyBatchesAheadAsAskedAndNoMore) {
  const auto dataset = std::make_shared<AheadDataset>();
  Loader loader(dataset, {.batch = 10, .threads = 2, .prefetch = 3});
  loader.start(all_of(1000), 0);
  ASSERT_NE(loader.next(), nullptr);
  // The batch in the consumer's hands and three more, without its doing.
  for (int waited_ms = 0; dataset->reads < 40 && waited_ms < 20'000; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(dataset->reads, 40);
}

}  // namespace
}  // namespace evener::data
