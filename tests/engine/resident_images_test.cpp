// Images that a device keeps and changes itself, against those that come along changed by the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "data/loader.h"
#include "engine/device_helpers.h"

namespace evener {
namespace {

using engine::TrainerOptions;
using namespace test;

constexpr std::uint32_t kKeptImages = 20;
constexpr std::uint64_t kSeed = 3;

std::vector<std::uint32_t> all_images() {
  std::vector<std::uint32_t> samples(kKeptImages);
  std::iota(samples.begin(), samples.end(), 0U);
  return samples;
}

/// What serves the images of `data` with these changes, or says what they are.
data::Loader changing_loader(const std::shared_ptr<const data::Dataset>& data, const std::string& changes,
                             bool pixels) {
  data::LoaderOptions options{.batch = 8, .pixels = pixels};
  options.augmentation = {data::parse_augment(changes), kSeed, all_images()};
  return data::Loader(data, options);
}

class ResidentImagesTest : public DeviceTest {
 protected:
  TrainerOptions keeping(const std::shared_ptr<const data::Dataset>& data) const {
    TrainerOptions options = on_device();
    options.resident = data;
    return options;
  }
};

/// Two outputs for a flattened image.
network::Network one_layer(data::ImageShape shape) {
  network::Network network("one_layer", {shape.channels, shape.height, shape.width});
  network.add("flatten", network::Flatten{});
  network.add("0", network::Linear{2, true});
  return network;
}

/// The image that a trainer of one_layer() computes with: the gradient of a weight is that of its output's bias times
/// the pixel.
std::vector<std::uint8_t> pixels_seen_by(engine::Trainer& trainer, const data::Batch& one_image) {
  trainer.forward_backward(one_image, 1);
  const TensorMap gradients = exchange_of(trainer).gradients();
  const HostTensor& weights = gradients.at("0.weight");
  const double of_bias = gradients.at("0.bias").floats()[0];
  std::vector<std::uint8_t> pixels(one_image.shape.bytes());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double value = weights.floats()[i] / of_bias * 255;
    EXPECT_NEAR(value, std::round(value), 0.01);
    pixels[i] = static_cast<std::uint8_t>(std::lround(value));
  }
  return pixels;
}

TEST_P(ResidentImagesTest, AreChangedPixelByPixelAsOnTheHost) {
  for (const data::ImageShape& shape : {kColour, data::ImageShape{1, 9, 17}}) {
    const auto data = std::make_shared<BatchData>(random_batch(kKeptImages, shape, 2));
    const auto trainer = make_trainer(one_layer(shape), keeping(data));
    for (const char* changes :
         {"", "flip", "crop:3", "flip,crop:8", "colour:0.9", "flip,crop:2,colour:0.3,mixup:0.4"}) {
      SCOPED_TRACE(changes);
      data::Loader here = changing_loader(data, changes, /*pixels=*/true);
      data::Loader there = changing_loader(data, changes, /*pixels=*/false);
      for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
        here.start(data::epoch_order(all_images(), kSeed, epoch), epoch);
        there.start(data::epoch_order(all_images(), kSeed, epoch), epoch);
        while (const data::Batch* expected = here.next()) {
          const data::Batch* named = there.next();
          ASSERT_NE(named, nullptr);
          ASSERT_TRUE(named->images.empty());
          for (std::int64_t i = 0; i < expected->count; ++i) {
            const auto image = part_of(*expected, i, i + 1).images;
            const std::vector<std::uint8_t> found = pixels_seen_by(*trainer, part_of(*named, i, i + 1));
            ASSERT_EQ(found, std::vector<std::uint8_t>(image.begin(), image.end()));
          }
        }
      }
    }
  }
}

TEST_P(ResidentImagesTest, AreMixedOnlyWhereABatchNamesPartners) {
  const OwnedBatch batch = random_batch(kKeptImages, kColour, 2);
  const auto trainer = make_trainer(one_layer(kColour), keeping(std::make_shared<BatchData>(batch)));
  const std::vector<std::int32_t> first = {0}, second = {1};
  const std::vector<float> weight = {0.75F};
  data::Batch named = batch.view(3, 4);
  const auto image = std::exchange(named.images, {});
  named.targets = data::MixedClassTargets{first, second, weight};
  EXPECT_EQ(pixels_seen_by(*trainer, named), std::vector<std::uint8_t>(image.begin(), image.end()));
}

// With as many steps as it takes until they are replayed, and a short batch in each epoch, which is not.
TEST_P(ResidentImagesTest, TrainAsChangedImagesOfTheHostDo) {
  const auto data = std::make_shared<BatchData>(random_batch(kKeptImages, kColour, 5));
  for (const char* changes : {"flip,crop:2", "flip,crop:2,colour:0.3,mixup:0.4"}) {
    SCOPED_TRACE(changes);
    const network::Network network = small_resnet(kColour, 5);
    const auto here = make_trainer(network, options_), there = make_trainer(network, keeping(data));
    for (const bool resident : {false, true}) {
      engine::Trainer& trainer = resident ? *there : *here;
      data::Loader loader = changing_loader(data, changes, !resident);
      for (std::uint64_t epoch = 1; epoch <= 8; ++epoch) {
        loader.start(data::epoch_order(all_images(), kSeed, epoch), epoch);
        while (const data::Batch* batch = loader.next()) {
          trainer.step(*batch, 1.0 / static_cast<double>(batch->count), kRate);
        }
      }
      EXPECT_TRUE(trainer.settle().finite);
    }
    EXPECT_THAT(there->capabilities().device->report().notes,
                testing::Contains(testing::HasSubstr("replayed as a graph")));
    EXPECT_LT(relative_distance(there->state(), here->state()), close());
  }
}

/// Its images can be read when so many threads read at once, or after a long time in vain.
class MetData : public BatchData {
 public:
  MetData(OwnedBatch batch, int wanted) : BatchData(std::move(batch)), wanted_(wanted) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    {
      std::unique_lock lock(mutex_);
      readers_.insert(std::this_thread::get_id());
      met_.notify_all();
      met_.wait_for(lock, std::chrono::seconds(200), [this] { return failed_ || std::ssize(readers_) >= wanted_; });
      failed_ = std::ssize(readers_) < wanted_;
    }
    BatchData::read(index, chw);
  }
  bool has_failed() const { return failed_; }

 private:
  const int wanted_;
  mutable std::mutex mutex_;
  mutable std::condition_variable met_;
  mutable std::set<std::thread::id> readers_;
  mutable bool failed_ = false;
};

TEST_P(ResidentImagesTest, AreReadByAsManyThreadsAsAsked) {
  const OwnedBatch batch = random_batch(kKeptImages, kColour, 2);
  const auto data = std::make_shared<MetData>(batch, 3);
  TrainerOptions options = keeping(data);
  options.resident_threads = 3;
  const auto trainer = make_trainer(one_layer(kColour), options);
  EXPECT_FALSE(data->has_failed());
  for (std::int64_t i = 0; i < kKeptImages; ++i) {
    data::Batch named = batch.view(i, i + 1);
    const auto image = std::exchange(named.images, {});
    EXPECT_EQ(pixels_seen_by(*trainer, named), std::vector<std::uint8_t>(image.begin(), image.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(, ResidentImagesTest, testing::ValuesIn(test_devices()), device_test_name);

}  // namespace
}  // namespace evener
