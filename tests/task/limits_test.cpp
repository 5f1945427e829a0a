// What is refused before the first step.
#include "task/limits.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "network/zoo.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What require_trainable_batch says; "" = nothing.
std::string refusal(const network::Network& network, std::size_t images, std::int64_t batch, int accumulate = 1) {
  try {
    require_trainable_batch(network, images, batch, accumulate);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// ResNet-18's last layers see one pixel of these images.
network::Network one_pixel_resnet() {
  return network::build("resnet18", {network::Shape{1, 32, 32}, 2});
}

TEST(RequireTrainableBatch, RefusesABatchOfOneWhereALayerSeesOnePixel) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16), "");
  EXPECT_EQ(refusal(network, 66, 16), "");
  EXPECT_EQ(refusal(network, 7, 16), "");
  EXPECT_THAT(refusal(network, 65, 16), AllOf(HasSubstr("65 training images and --batch 16"), HasSubstr("layer4.0.bn1"),
                                              HasSubstr("Use another --batch or a larger --size")));
  EXPECT_THAT(refusal(network, 64, 1), HasSubstr("a batch has one image"));
  EXPECT_THAT(refusal(network, 1, 16), HasSubstr("a batch has one image"));
  EXPECT_EQ(refusal(network::build("resnet18", {network::Shape{1, 64, 64}, 2}), 65, 16), "");
  EXPECT_EQ(refusal(network::build("mlp:1024-4-2", {network::Shape{1, 32, 32}, 2}), 65, 16), "");
}

TEST(RequireTrainableBatch, LooksAtThePartsOfABatch) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16, 8), "");
  EXPECT_EQ(refusal(network, 64, 17, 8), "");
  EXPECT_EQ(refusal(network, 67, 16, 8), "") << "the last batch, of 3, is one part";
  EXPECT_THAT(refusal(network, 64, 16, 9),
              AllOf(HasSubstr("--accumulate 9 a part of a batch has one image"), HasSubstr("a smaller --accumulate")));
  EXPECT_THAT(refusal(network, 65, 16, 8), HasSubstr("a part of a batch has one image"));
}

TEST(LeastShare, IsTwoWhereOneImageHasNoVariance) {
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/true), 2);
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/false), 1);
  EXPECT_EQ(least_share(network::build("resnet20", {network::Shape{1, 32, 32}, 2}), true), 1);
}

TEST(EstimatedMemory, SaysWhatItConsistsOf) {
  const auto network = network::build("mobilenet_v2", {network::Shape{3, 224, 224}, 2});
  const data::ImageShape image{3, 224, 224};
  const TrainingSize size{.train_images = 112, .images = 174, .batch = 64};
  const MemoryEstimate whole = estimated_memory(network, {}, size, image);
  EXPECT_EQ(whole.images_at_once, 64);
  EXPECT_EQ(whole.image_bytes, 174 * 3 * 224 * 224);
  EXPECT_GT(whole.activation_bytes, 4'000'000'000);
  EXPECT_LT(whole.activation_bytes, 5'000'000'000);
  EXPECT_TRUE(whole.is_much());
  EXPECT_THAT(memory_text(whole), AllOf(HasSubstr("GB at the peak"), HasSubstr("activations of 64 images at once"),
                                        HasSubstr("decoded images"), HasSubstr("free")));
  TrainingSize in_parts = size;
  in_parts.accumulate = 8;
  const MemoryEstimate parts = estimated_memory(network, {}, in_parts, image);
  EXPECT_EQ(parts.images_at_once, 8);
  EXPECT_NEAR(static_cast<double>(parts.activation_bytes), static_cast<double>(whole.activation_bytes) / 8, 1e6);
  EXPECT_FALSE(estimated_memory(network::build("mlp:784-10", {}), {}, {.train_images = 9}, {}).is_much());
}

TEST(EstimatedMemory, HasWhatTheOptimizerKeeps) {
  const auto network = network::build("mlp:784-256-10", {});
  const auto weights_with = [&](const engine::OptimizerOptions& optimizer) {
    engine::TrainerOptions trainer;
    trainer.optimizer = optimizer;
    return estimated_memory(network, trainer, {.train_images = 9}, {}).weight_bytes;
  };
  const std::int64_t values = 4 * (784 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(weights_with({}), 2 * values);
  EXPECT_EQ(weights_with({.momentum = 0.9}), 3 * values);
  EXPECT_EQ(weights_with({.kind = engine::OptimizerKind::kAdamW}), 4 * values);
  EXPECT_EQ(weights_with({.kind = engine::OptimizerKind::kAdamW, .average_decay = 0.9}), 5 * values);
}

TEST(EstimatedMemory, WarnsWhereLittleWouldBeLeft) {
  MemoryEstimate estimate{.images_at_once = 64, .free_bytes = 10'000'000'000, .to_come_bytes = 6'000'000'000};
  EXPECT_FALSE(estimate.is_tight());
  EXPECT_THAT(memory_text(estimate), testing::Not(HasSubstr("warning")));
  estimate.to_come_bytes = 8'000'000'000;
  EXPECT_TRUE(estimate.is_tight());
  EXPECT_THAT(memory_text(estimate), AllOf(HasSubstr("warning: memory"), HasSubstr("--accumulate")));
}

TEST(RequireMemory, CountsWhatIsComputedAtOnce) {
  const auto network = network::build("resnet18", {});
  const std::int64_t fits = predicted_largest_batch(network, {});
  ASSERT_GT(fits, 0);
  const std::int64_t wide = 4 * fits;
  const auto images = static_cast<std::size_t>(wide);
  const auto refusal = [&](std::int64_t batch, int accumulate) -> std::string {
    try {
      require_memory(network, images, batch, accumulate, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(wide, 1), HasSubstr("a batch of " + std::to_string(wide)));
  EXPECT_THAT(refusal(wide, 2), HasSubstr("images of a batch of " + std::to_string(wide)));
  EXPECT_EQ(refusal(wide, 8), "");
  EXPECT_NO_THROW(require_memory(network, 8, wide, 1, {})) << "there are not more images";
}

}  // namespace
}  // namespace evener::task
