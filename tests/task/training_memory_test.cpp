// The estimate of a training's memory: what it consists of, and what it is used for.
#include "task/training/training_memory.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "network/step_memory.h"
#include "network/zoo.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TrainingWork work_of(std::size_t train_images, std::size_t images, std::int64_t batch) {
  TrainingWork work;
  work.train_images = train_images;
  work.images = images;
  work.batch = batch;
  work.image = {3, 224, 224};
  return work;
}

TEST(TrainingMemory, SaysWhatItConsistsOf) {
  const auto network = network::build("mobilenet_v2", {network::Shape{3, 224, 224}, 2});
  const TrainingWork work = work_of(112, 174, 64);
  const MemoryEstimate whole = estimated_memory(network, work);
  EXPECT_EQ(whole.images_at_once, 64);
  EXPECT_EQ(whole.image_bytes, 174 * 3 * 224 * 224);
  EXPECT_EQ(whole.batch_bytes, (112 + 62) * 3 * 224 * 224) << "three batches would be more images than there are";
  EXPECT_EQ(whole.total_bytes(),
            whole.program_bytes + whole.image_bytes + whole.batch_bytes + whole.weight_bytes + whole.step_bytes);
  EXPECT_EQ(whole.to_come_bytes, whole.total_bytes() - whole.image_bytes) << "the images are there";
  EXPECT_TRUE(whole.is_much());
  EXPECT_THAT(memory_text(whole), AllOf(HasSubstr("GB at the peak"), HasSubstr("activations of 64 images at once"),
                                        HasSubstr("decoded images"), HasSubstr("free")));
  EXPECT_THAT(memory_without_images_text(whole), Not(HasSubstr("decoded")));
  TrainingWork in_parts = work;
  in_parts.accumulate = 8;
  const MemoryEstimate parts = estimated_memory(network, in_parts);
  EXPECT_EQ(parts.images_at_once, 8);
  // Weights and their gradients, 9 MB, are there with any batch.
  EXPECT_NEAR(static_cast<double>(parts.step_bytes), static_cast<double>(whole.step_bytes) / 8, 15e6);
  TrainingWork tiny = work_of(9, 9, 1);
  tiny.engine = "native";
  tiny.image = {1, 28, 28};
  EXPECT_FALSE(estimated_memory(network::build("mlp:784-10", {}), tiny).is_much());
}

TEST(TrainingMemory, HasWhatTheOptimizerKeeps) {
  const auto network = network::build("mlp:784-2048-10", {});
  const auto weights_with = [&](const engine::OptimizerOptions& optimizer) {
    TrainingWork work = work_of(9, 9, 1);
    work.trainer.optimizer = optimizer;
    return static_cast<double>(estimated_memory(network, work).weight_bytes);
  };
  const double values = 4 * (784 * 2048 + 2048 + 2048 * 10 + 10), none = weights_with({});
  EXPECT_GT(none, 2 * values) << "and the best so far";
  EXPECT_EQ(weights_with({.momentum = 0.9}), none + values);
  EXPECT_EQ(weights_with({.kind = engine::OptimizerKind::kAdamW}), none + 2 * values);
  EXPECT_EQ(weights_with({.kind = engine::OptimizerKind::kAdamW, .average_decay = 0.9}), none + 3 * values);
}

TEST(TrainingMemory, OfManyWeightsAndFewImagesIsThatOfACheckpoint) {
  const auto network = network::build("resnet18", {});
  const MemoryEstimate few = estimated_memory(network, work_of(1000, 1200, 1));
  const MemoryEstimate many = estimated_memory(network, work_of(1000, 1200, 64));
  EXPECT_TRUE(few.is_checkpoint);
  EXPECT_THAT(memory_text(few), HasSubstr("writing a checkpoint, which takes more than the activations of 1 image"));
  EXPECT_FALSE(many.is_checkpoint);
  EXPECT_GT(few.step_bytes, 2 * 4 * 11'689'512) << "gradients, and a copy of the weights";
  EXPECT_GT(many.step_bytes, network::StepMemory(network).peak_bytes(64));
}

TEST(TrainingMemory, ReplicasHaveTheirOwnWeightsAndShareTheLibraries) {
  const auto network = network::build("resnet20", {network::Shape{3, 32, 32}, 10});
  TrainingWork work = work_of(1000, 1200, 64);
  const MemoryEstimate one = estimated_memory(network, work);
  work.replicas = 2;
  const MemoryEstimate two = estimated_memory(network, work);
  EXPECT_NEAR(static_cast<double>(two.weight_bytes), 2.0 * static_cast<double>(one.weight_bytes), 2);
  EXPECT_GT(two.program_bytes, one.program_bytes);
  EXPECT_LT(two.program_bytes, 2 * one.program_bytes);
  EXPECT_EQ(two.image_bytes, one.image_bytes);
}

TEST(TrainingMemory, WarnsWhereLittleWouldBeLeft) {
  MemoryEstimate estimate{.images_at_once = 64, .free_bytes = 10'000'000'000, .to_come_bytes = 6'000'000'000};
  EXPECT_FALSE(estimate.is_tight());
  EXPECT_THAT(memory_text(estimate), Not(HasSubstr("warning")));
  estimate.to_come_bytes = 8'000'000'000;
  EXPECT_TRUE(estimate.is_tight());
  EXPECT_THAT(memory_text(estimate), AllOf(HasSubstr("warning: memory"), HasSubstr("--accumulate")));
}

TEST(TrainingMemory, RefusesWhatCountsAtOnce) {
  const auto network = network::build("resnet18", {});
  TrainingWork work;
  const std::int64_t fits = predicted_largest_batch(network, work);
  ASSERT_GT(fits, 0);
  const std::int64_t wide = 4 * fits;
  const auto refusal = [&](std::int64_t batch, int accumulate, std::int64_t images) -> std::string {
    work.batch = batch;
    work.accumulate = accumulate;
    work.train_images = static_cast<std::size_t>(images);
    try {
      require_memory(network, work);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(wide, 1, wide), HasSubstr("a batch of " + std::to_string(wide)));
  EXPECT_THAT(refusal(wide, 2, wide), HasSubstr("images of a batch of " + std::to_string(wide)));
  EXPECT_EQ(refusal(wide, 8, wide), "");
  EXPECT_EQ(refusal(wide, 1, 8), "") << "there are not more images";
}

// Half of the bits, half of the activations; weights stay as they are.
TEST(TrainingMemory, OfHalfTheBitsAllowsNearlyTwiceTheBatch) {
  const auto network = network::build("resnet18", {});
  TrainingWork work;
  const auto wide = static_cast<double>(predicted_largest_batch(network, work));
  work.trainer.precision = Precision::kBf16;
  const auto half = static_cast<double>(predicted_largest_batch(network, work));
  EXPECT_GT(half, 1.5 * wide);
  EXPECT_LT(half, 2.5 * wide);
}

}  // namespace
}  // namespace evener::task
