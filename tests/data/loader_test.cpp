// Order, contents, restarts, errors and shutdown of the loader; how the targets of its batches are stored, cut into
// parts, and asked for.
#include "data/loader.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "base/error.h"
#include "data/batch.h"
#include "data/data_helpers.h"
#include "data/targets.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  EXPECT_TRUE(batch->changes.moves.empty());
  EXPECT_TRUE(batch->changes.colours.empty());
  EXPECT_TRUE(batch->partners.empty());
  Augmentation crops;
  crops.options = parse_augment("flip,resized-crop");
  EXPECT_THAT(error_of([&] {
                Loader(std::make_shared<CountingDataset>(25, ImageShape{1, 2, 3}),
                       {.batch = 10, .augmentation = crops, .pixels = false});
              }),
              ::testing::EndsWith("needs the pixels of images: resized-crop"));
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

/// Large enough that threads share a batch.
constexpr ImageShape kLarge{3, 96, 128};

/// Bytes, classes and samples that were served, batch by batch.
struct ServedBytes {
  std::vector<std::uint8_t> images;
  std::vector<std::int32_t> labels, second_labels;
  std::vector<float> weights;
  std::vector<std::uint32_t> samples;
  std::vector<std::int64_t> counts;
  bool operator==(const ServedBytes&) const = default;

  void add(const Batch& batch) {
    counts.push_back(batch.count);
    images.insert(images.end(), batch.images.begin(), batch.images.end());
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
    const auto classes = class_labels(batch.targets);
    labels.insert(labels.end(), classes.begin(), classes.end());
    const auto* mixed = std::get_if<MixedClassTargets>(&batch.targets);
    if (mixed == nullptr) return;
    second_labels.insert(second_labels.end(), mixed->second_labels.begin(), mixed->second_labels.end());
    weights.insert(weights.end(), mixed->label_weights.begin(), mixed->label_weights.end());
  }
};

/// Two epochs in parts of several stretches, as replicas have their micro-batches.
ServedBytes serve_parts(const std::shared_ptr<const Dataset>& dataset, const std::string& changes, int threads) {
  LoaderOptions options{.batch = 12, .threads = threads};
  options.augmentation = {parse_augment(changes), 7, all_of(60)};
  Loader loader(dataset, options);
  ServedBytes served;
  for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
    loader.start_parts(epoch_order(all_of(60), 7, epoch), epoch);
    for (std::int64_t begin = 0; begin < 60; begin += 20)
      loader.add_part({{begin, begin + 5}, {begin + 9, begin + 20}});
    loader.add_part({{3, 3}});
    loader.add_part({{58, 60}});
    while (const Batch* batch = loader.next()) served.add(*batch);
  }
  return served;
}

/// Its images are noise, so that each change of them shows.
class LargeNoiseDataset : public CountingDataset {
 public:
  LargeNoiseDataset() : CountingDataset(60, kLarge, 5) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    auto state = static_cast<std::uint32_t>(index) + 1;
    for (std::uint8_t& value : chw) value = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
  }
};

TEST(Loader, ServesTheSameBytesWhateverThreadsShareABatch) {
  const auto dataset = std::make_shared<LargeNoiseDataset>();
  for (const char* changes : {"", "flip,crop:4,colour:0.2,mixup:0.2"}) {
    const ServedBytes expected = serve_parts(dataset, changes, 0);
    ASSERT_EQ(expected.counts, (std::vector<std::int64_t>{16, 16, 16, 0, 2, 16, 16, 16, 0, 2}));
    for (const int threads : {1, 2, 5}) {
      EXPECT_TRUE(serve_parts(dataset, changes, threads) == expected) << changes << ", " << threads << " threads";
    }
  }
}

/// Reading waits until so many threads read at once, or for a long time in vain.
class MeetingDataset : public CountingDataset {
 public:
  explicit MeetingDataset(int wanted) : CountingDataset(100, kLarge), wanted_(wanted) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    {
      std::unique_lock lock(mutex_);
      readers_.insert(std::this_thread::get_id());
      met_.notify_all();
      met_.wait_for(lock, std::chrono::seconds(200), [this] { return failed_ || are_enough(); });
      failed_ = !are_enough();
    }
    CountingDataset::read(index, chw);
  }
  bool have_met() const {
    const std::lock_guard lock(mutex_);
    return are_enough();
  }

 private:
  bool are_enough() const { return std::ssize(readers_) >= wanted_; }

  const int wanted_;
  mutable std::mutex mutex_;
  mutable std::condition_variable met_;
  mutable std::set<std::thread::id> readers_;
  mutable bool failed_ = false;
};

TEST(Loader, SharesOneBatchAmongItsThreads) {
  const auto dataset = std::make_shared<MeetingDataset>(5);
  Loader loader(dataset, {.batch = 40, .threads = 4});
  loader.start_parts(all_of(40), 0);
  loader.add_part({{0, 40}});
  EXPECT_EQ(served_by(loader), all_of(40));
  EXPECT_TRUE(dataset->have_met()) << "four threads and the one that waits for the batch";
}

/// Of the samples that fail, the earlier ones do so after the later ones have.
class LateFailingDataset : public CountingDataset {
 public:
  LateFailingDataset() : CountingDataset(100, kLarge) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (index == 31) {
      later_failed = true;
      throw Error("sample 31 is gone");
    }
    if (index == 3) {
      for (int waited_ms = 0; !later_failed && waited_ms < 200'000; ++waited_ms) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      throw Error("sample 3 is gone");
    }
    ++reads;
    CountingDataset::read(index, chw);
  }
  mutable std::atomic<bool> later_failed{false};
  mutable std::atomic<int> reads{0};
};

TEST(Loader, TellsOfTheFirstSampleThatFails) {
  const auto dataset = std::make_shared<LateFailingDataset>();
  Loader loader(dataset, {.batch = 40, .threads = 5});
  loader.start(all_of(40), 0);
  EXPECT_EQ(error_of([&] { loader.next(); }), "sample 3 is gone");
  EXPECT_TRUE(dataset->later_failed);
  EXPECT_EQ(error_of([&] { loader.next(); }), "sample 3 is gone");
  loader.start({50, 51, 52}, 1);
  EXPECT_THAT(served_by(loader), ::testing::ElementsAre(50, 51, 52));
}

/// Of the samples of the first batch each takes until the test lets it go on.
class HeldDataset : public CountingDataset {
 public:
  static constexpr std::uint32_t kHeld = 40;
  HeldDataset() : CountingDataset(100, kLarge) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (index < kHeld) {
      ++reads;
      held.wait(true);
    }
    CountingDataset::read(index, chw);
  }
  mutable std::atomic<int> reads{0};
  mutable std::atomic<bool> held{true};
};

TEST(Loader, IsDroppedWhileThreadsRead) {
  constexpr int kThreads = 3;
  for (const bool starts_again : {false, true}) {
    const auto dataset = std::make_shared<HeldDataset>();
    std::jthread release;  // ends after the loader
    Loader loader(dataset, {.batch = HeldDataset::kHeld, .threads = kThreads});
    loader.start(all_of(100), 0);
    for (int waited_ms = 0; dataset->reads < kThreads && waited_ms < 200'000; ++waited_ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(dataset->reads, kThreads);
    release = std::jthread([&dataset = *dataset] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      dataset.held = false;
      dataset.held.notify_all();
    });
    if (!starts_again) continue;  // the loader ends with a batch half read
    std::vector<std::uint32_t> order(60);
    std::iota(order.begin(), order.end(), HeldDataset::kHeld);
    loader.start(order, 1);
    EXPECT_EQ(served_by(loader), order);
    EXPECT_LT(dataset->reads, HeldDataset::kHeld) << "what nobody had begun is not read any more";
  }
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
  for (int waited_ms = 0; dataset->reads < 40 && waited_ms < 200'000; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(dataset->reads, 40);
}

const std::vector<std::int32_t> kLabels{3, 1, 4, 1, 5};
const std::vector<std::int32_t> kSecond{2, 7, 1, 8, 2};
const std::vector<float> kWeights{0.5F, 0.6F, 0.7F, 0.8F, 0.9F};
const std::vector<std::vector<LabelledBox>> kBoxes{
    {{0, 0, 1, 1, 0}}, {}, {{1, 2, 3, 4, 2, true}, {5, 6, 7, 8, 1}}, {{2, 2, 4, 4, 0}}, {}};

/// Five blank images with some targets.
Batch batch_with(const Targets& targets) {
  static const std::vector<std::uint8_t> pixels(5 * 4);
  static const std::vector<std::uint32_t> samples{10, 11, 12, 13, 14};
  return {5, {1, 2, 2}, pixels, targets, samples, 1};
}

TEST(Targets, OfPartsOfABatchAreThoseOfTheirImages) {
  const Batch classes = part_of(batch_with(ClassTargets{kLabels}), 1, 4);
  EXPECT_EQ(classes.count, 3);
  EXPECT_THAT(classes.images, SizeIs(12));
  EXPECT_THAT(classes.samples, ElementsAre(11, 12, 13));
  EXPECT_THAT(std::get<ClassTargets>(classes.targets).labels, ElementsAre(1, 4, 1));

  const Batch mixed = part_of(batch_with(MixedClassTargets{kLabels, kSecond, kWeights}), 3, 5);
  const auto& parts = std::get<MixedClassTargets>(mixed.targets);
  EXPECT_THAT(parts.labels, ElementsAre(1, 5));
  EXPECT_THAT(parts.second_labels, ElementsAre(8, 2));
  EXPECT_THAT(parts.label_weights, ElementsAre(0.8F, 0.9F));

  const Batch boxed = part_of(batch_with(BoxTargets{kBoxes}), 1, 3);
  EXPECT_THAT(std::get<BoxTargets>(boxed.targets).boxes, ElementsAre(kBoxes[1], kBoxes[2]));
  EXPECT_THAT(std::get<BoxTargets>(part_of(boxed, 2, 2).targets).boxes, IsEmpty());
}

TEST(Targets, GiveTheMainClassOfEachImage) {
  EXPECT_THAT(class_labels(ClassTargets{kLabels}), ElementsAre(3, 1, 4, 1, 5));
  EXPECT_THAT(class_labels(MixedClassTargets{kLabels, kSecond, kWeights}), ElementsAre(3, 1, 4, 1, 5));
  EXPECT_THAT(error_of([] { class_labels(BoxTargets{kBoxes}); }), HasSubstr("the batch has boxes"));
}

TEST(Targets, AreStoredByKind) {
  TargetStore store;
  store.reset(TargetKind::kClasses, /*is_mixed=*/true, 2);
  store.set(0, 5);
  store.set(1, 6);
  store.mix(0, 7, 0.75F);
  store.mix(1, 8, 1);
  const Targets targets = store.view();
  EXPECT_STREQ(targets_name(targets), "mixed classes");
  EXPECT_THAT(std::get<MixedClassTargets>(targets).second_labels, ElementsAre(7, 8));
  EXPECT_THAT(error_of([&] { store.set(0, kBoxes[0]); }), AllOf(HasSubstr("has boxes"), HasSubstr("have classes")));

  store.reset(TargetKind::kBoxes, /*is_mixed=*/false, 3);
  for (std::size_t i = 0; i < 3; ++i) store.set(i, kBoxes[i]);
  EXPECT_THAT(std::get<BoxTargets>(store.view()).boxes, ElementsAre(kBoxes[0], kBoxes[1], kBoxes[2]));
  EXPECT_THAT(error_of([&] { store.set(0, 1); }), AllOf(HasSubstr("has a class"), HasSubstr("have boxes")));

  store.reset(TargetKind::kClasses, /*is_mixed=*/false, 1);
  store.set(0, 9);
  EXPECT_STREQ(targets_name(store.view()), "classes");
  EXPECT_THAT(class_labels(store.view()), ElementsAre(9));
}

TEST(Targets, WithBoxesAreNotTakenForClasses) {
  const auto dataset = std::make_shared<BoxedDataset>(ImageShape{1, 4, 4}, kBoxes);
  EXPECT_THAT(error_of([&] { label_of(*dataset, 2); }), AllOf(HasSubstr("'#2'"), HasSubstr("boxes")));
}

}  // namespace
}  // namespace evener::data
