// How batches, costs and ranks are divided over stages: shares, micro-batches, bounds, and what each stage is told.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/thrown.h"
#include "infer/run/infer_stages.h"
#include "network/cost.h"
#include "network/zoo.h"
#include "train/steps/stages.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

placement::Plan shared_plan(const std::vector<double>& shares, int stages) {
  placement::Plan plan;
  plan.text = "some stages";
  for (const double share : shares) {
    plan.replicas.push_back({static_cast<int>(plan.replicas.size()),
                             std::vector<placement::PlanStage>(static_cast<std::size_t>(stages)),
                             share > 0 ? std::optional(share) : std::nullopt});
  }
  return plan;
}

network::Network plain_network() {
  return network::build("mlp:784-32-16-10", {});
}
network::Network normalized_network() {
  return network::build("resnet20", {.input = network::Shape{3, 32, 32}});
}

TEST(MicroBatches, AreFourForEachStageOfTwoImagesAtLeast) {
  TrainOptions options;
  options.plan = shared_plan({1}, 3);
  for (const auto& [batch, expected] :
       {std::pair(64, 12), std::pair(24, 12), std::pair(23, 11), std::pair(5, 2), std::pair(3, 1), std::pair(1, 1)}) {
    options.batch = batch;
    EXPECT_EQ(micro_batch_count(options, plain_network()), expected) << batch;
  }
  options.batch = 64;
  options.plan = shared_plan({1}, 2);
  EXPECT_EQ(micro_batch_count(options, plain_network()), 8);
  options.plan = shared_plan({0.2, 0.1, 0.7}, 2);
  options.batch = 20;  // the largest share has 14
  EXPECT_EQ(micro_batch_count(options, plain_network()), 7);
  for (const int asked : {1, 5}) {
    options.micro_batches = asked;
    EXPECT_EQ(micro_batch_count(options, plain_network()), asked);
  }
}

TEST(MicroBatches, IsOneWhereBatchNormTakesTheWholeBatch) {
  TrainOptions options;
  options.plan = shared_plan({1}, 2);
  options.batch = 64;
  options.micro_batches = 4;
  EXPECT_EQ(micro_batch_count(options, normalized_network()), 1);
  options.local_batch_norm = true;
  EXPECT_EQ(micro_batch_count(options, normalized_network()), 4);
  options.micro_batches = 0;
  EXPECT_EQ(micro_batch_count(options, normalized_network()), 8);
}

TEST(MicroBatches, HaveTwoImagesAtLeastAndAPartIsRoundedUp) {
  TrainOptions options;
  options.plan = shared_plan({0.5, 0.5}, 2);
  options.batch = 21;  // a share of 11
  EXPECT_EQ(images_of_micro_batch(options, 3), 3);
  EXPECT_EQ(images_of_micro_batch(options, 5), 2);
  EXPECT_EQ(images_of_micro_batch(options, 11), 2);
  EXPECT_EQ(images_at_once(options, 3), 4);
  EXPECT_EQ(images_at_once(options, 11), 1);
  EXPECT_EQ(images_at_once(options, 1), 11);
  options.plan = shared_plan({0, 0.25}, 2);  // one is to be measured: it may get all
  EXPECT_EQ(images_at_once(options, 1), 21);
  options.plan = shared_plan({0.001}, 2);
  EXPECT_EQ(images_at_once(options, 1), 1);
}

TEST(StageCosts, AreOperationsAndBytesByThreads) {
  const network::Network network = plain_network();
  placement::Plan plan = shared_plan({1}, 3);
  plan.replicas[0].stages[0].threads = 2;
  plan.replicas[0].stages[1].threads = 5;
  plan.replicas[0].stages[1].factor = 0.5;
  plan.replicas[0].stages[2].device.kind = DeviceKind::kCuda;
  const network::StageCosts costs = inference::estimated_costs(network, plan);
  const auto of_network = network::layer_costs(network);
  ASSERT_EQ(costs.of_layers.size(), 3U);
  for (std::size_t i = 0; i < of_network.size(); ++i) {
    const double operations = static_cast<double>(of_network[i].forward_flops + of_network[i].backward_flops) +
                              20 * static_cast<double>(of_network[i].activation_bytes);
    EXPECT_DOUBLE_EQ(costs.of_layers[0][i], operations / 2);
    EXPECT_DOUBLE_EQ(costs.of_layers[1][i], operations / 5);
    EXPECT_DOUBLE_EQ(costs.of_layers[2][i], operations / 100);
  }
  EXPECT_EQ(costs.of_number, 20 * 16);
  EXPECT_THAT(costs.speeds, ElementsAre(1, 0.5, 1));
  const network::StageCosts measured = inference::measured_costs({{1, 2}, {3, 4}, {5, 6}}, plan, 8);
  EXPECT_THAT(measured.of_layers, ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5, 6)));
  EXPECT_DOUBLE_EQ(measured.of_number, 8 * 16 / 4e9);
  EXPECT_THAT(measured.speeds, ElementsAre(1, 0.5, 1));
}

TEST(StageCuts, AreThoseThatAreNamedAndAsManyAsThereAreStages) {
  const network::Network network = plain_network();
  const placement::Plan plan = shared_plan({1, 1}, 3);
  const network::StageCosts costs = inference::estimated_costs(network, plan);
  const auto stages = inference::divided_layers(plan, {"2", "4"}, network, costs);
  ASSERT_EQ(stages.size(), 3U);
  const auto name = [&](int layer) { return network.layers()[static_cast<std::size_t>(layer)].name; };
  EXPECT_EQ(name(stages[1].first), "2");
  EXPECT_EQ(name(stages[2].first), "4");
  EXPECT_EQ(inference::divided_layers(plan, {}, network, costs).size(), 3U);
  for (const std::vector<std::string>& cut : {std::vector<std::string>{"2"}, {"2", "4", "4"}}) {
    try {
      inference::divided_layers(plan, cut, network, costs);
      ADD_FAILURE() << cut.size();
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("where " + std::to_string(cut.size()) + " stages begin"),
                                      HasSubstr("'some stages' has 2")));
    }
  }
}

class StageRules : public testing::Test {
 protected:
  StageRules() {
    options_.plan = shared_plan({0.5, 0.5}, 2);
    options_.batch = 20;
  }
  std::string refusal(const TrainSetup& setup) const {
    return test::thrown_by<UsageError>([&] { require_possible_stages(options_, setup); }, "none");
  }
  TrainOptions options_;
};

TEST_F(StageRules, AShareHasAsManyMicroBatchesAsSamplesAtMost) {
  const TrainSetup setup(plain_network());
  options_.micro_batches = 10;
  EXPECT_EQ(refusal(setup), "none");
  options_.micro_batches = 11;
  EXPECT_THAT(refusal(setup), HasSubstr("--micro-batches 11: a replica's share of a batch has 10 samples"));
}

TEST_F(StageRules, BatchNormOverTheWholeBatchTakesOnePieceAndAnImageForEachReplica) {
  TrainSetup setup(normalized_network());
  options_.plan = shared_plan({0.4, 0.3, 0.3}, 2);
  for (const auto& [images, expected] :
       {std::pair(100, "none"), std::pair(101, "1 of 101 images"), std::pair(102, "2 of 102 images, fewer than the 3"),
        std::pair(103, "none"), std::pair(2, "2 of 2")}) {
    setup.train_images = static_cast<std::size_t>(images);
    EXPECT_THAT(refusal(setup), HasSubstr(expected));
  }
  setup.train_images = 101;
  options_.local_batch_norm = true;
  EXPECT_EQ(refusal(setup), "none");
  options_.local_batch_norm = false;
  setup.train_images = 100;
  options_.micro_batches = 1;
  EXPECT_EQ(refusal(setup), "none");
  options_.micro_batches = 2;
  EXPECT_THAT(refusal(setup), HasSubstr("--batch-norm local"));
  const TrainSetup plain(plain_network());
  EXPECT_EQ(refusal(plain), "none");
}

TEST_F(StageRules, WhatIsNoStagesMatterIsRefusedByItsOption) {
  const TrainSetup setup(plain_network());
  EXPECT_EQ(refusal(setup), "none");
  options_.engine = "native";
  EXPECT_THAT(refusal(setup), HasSubstr("--engine native"));
  options_.engine = "auto";
  options_.data_on_device = true;
  EXPECT_THAT(refusal(setup), HasSubstr("--data-on device"));
  options_.data_on_device = false;
  options_.accumulate = 2;
  EXPECT_THAT(refusal(setup), HasSubstr("--accumulate"));
  options_.accumulate = 1;
  options_.trainer.precision = Precision::kFp16;
  EXPECT_THAT(refusal(setup), HasSubstr("bf16 instead of fp16"));
  options_.trainer.precision = Precision::kBf16;
  EXPECT_EQ(refusal(setup), "none");
  const TrainSetup detector(network::build("ssdlite_mobilenet_v2", {}));
  EXPECT_THAT(refusal(detector), HasSubstr("stages ('some stages') are for classifiers"));
}

TEST_F(StageRules, NotesTellEachStagesShareAndWhatGoesOn) {
  TrainSetup setup(plain_network());
  setup.division = {network::cut(setup.network, network::begins_of(setup.network, {"2"})), 4};
  const auto notes = stage_notes(options_, setup);
  ASSERT_EQ(notes.size(), 2U);
  const auto flops = [](const network::LayerCost& cost) {
    return static_cast<double>(cost.forward_flops + cost.backward_flops);
  };
  const double all = flops(network::total_cost(setup.network));
  const double first = flops(network::total_cost(setup.division.stages[0].network));
  EXPECT_THAT(notes[0], AllOf(HasSubstr("stage 0: "), HasSubstr(std::to_string(std::lround(100 * first / all)) + " %"),
                              HasSubstr("25.1 k parameters; 128 B go on for each sample")));
  EXPECT_THAT(notes[1], AllOf(HasSubstr("stage 1: 2 to "), HasSubstr("698 parameters"), Not(HasSubstr("go on"))));
}

TEST_F(StageRules, NotesTellOfBatchNormWhereItIsTrainedOn) {
  TrainSetup setup(normalized_network());
  setup.division = {network::cut(setup.network, network::begins_of(setup.network, {"layer2"})), 3};
  EXPECT_THAT(stage_notes(options_, setup).back(), HasSubstr("one stage computes at a time"));
  options_.local_batch_norm = true;
  EXPECT_THAT(stage_notes(options_, setup).back(), HasSubstr("each of 3 micro-batches alone"));
  setup.division.micro_batches = 2;
  EXPECT_EQ(stage_notes(options_, setup).size(), 3U);
  setup.division.micro_batches = 1;
  EXPECT_EQ(stage_notes(options_, setup).size(), 2U);
  options_.local_batch_norm = false;
  options_.epochs = 0;
  EXPECT_EQ(stage_notes(options_, setup).size(), 2U) << "nothing is learnt";
}

TEST_F(StageRules, ARankIsToldItsStageItsValuesAndWhetherItNeedsPixels) {
  const network::Network network = plain_network();
  const Division division{network::cut(network, network::begins_of(network, {"2", "4"})), 3};
  options_.plan = shared_plan({0.25, 0.75}, 3);
  options_.pipeline_schedule = parallel::PipelineSchedule::kZeroBubble;
  const auto filled = [&](int stage, double mixup) {
    parallel::ReplicaOptions replica;
    replica.loader.augmentation.options.mixup = mixup;
    replica.loader.augmentation.options.flip = true;
    fill_stage(options_, options_.plan, network, division, stage, replica);
    return replica;
  };
  for (int stage = 0; stage < 3; ++stage) {
    SCOPED_TRACE(stage);
    const parallel::ReplicaOptions replica = filled(stage, 0);
    EXPECT_EQ(replica.trainer.stage.number, stage);
    EXPECT_EQ(replica.trainer.stage.count, 3);
    EXPECT_TRUE(replica.trainer.stage.splits_backward);
    EXPECT_EQ(replica.stage.micro_batches, 3);
    EXPECT_EQ(replica.stage.share, 15);
    EXPECT_EQ(replica.stage.schedule, parallel::PipelineSchedule::kZeroBubble);
    EXPECT_EQ(replica.loader.pixels, stage == 0);
    EXPECT_EQ(replica.loader.augmentation.options.flip, stage == 0);
    const parallel::ReplicaOptions mixed = filled(stage, 0.4);
    EXPECT_EQ(mixed.loader.pixels, stage != 1) << "the last one needs the weights of mixed images";
    EXPECT_EQ(mixed.loader.augmentation.options.mixup, stage != 1 ? 0.4 : 0);
  }
  EXPECT_THAT(filled(0, 0).stage.received, IsEmpty());
  EXPECT_THAT(filled(0, 0).stage.sent, ElementsAre(32));
  EXPECT_THAT(filled(1, 0).stage.received, ElementsAre(32));
  EXPECT_THAT(filled(1, 0).stage.sent, ElementsAre(16));
  EXPECT_THAT(filled(2, 0).stage.received, ElementsAre(16));
  EXPECT_THAT(filled(2, 0).stage.sent, IsEmpty());
  options_.pipeline_schedule = parallel::PipelineSchedule::kGPipe;
  EXPECT_FALSE(filled(0, 0).trainer.stage.splits_backward);
}

TEST(CallsOfStages, AreAStreamOfAThreadAtLeastAndTwoOfAGpu) {
  placement::PlanStage stage;
  stage.threads = 4;
  for (const auto& [streams, expected] :
       {std::pair(0, 1), std::pair(1, 1), std::pair(3, 3), std::pair(4, 4), std::pair(9, 4)}) {
    EXPECT_EQ(inference::calls_side_by_side(stage, streams), expected);
  }
  stage.threads = 0;
  EXPECT_EQ(inference::calls_side_by_side(stage, 3), 1);
  stage.device.kind = DeviceKind::kCuda;
  EXPECT_EQ(inference::calls_side_by_side(stage, 7), 2);
  placement::PlanReplica replica{0, {placement::PlanStage{}, placement::PlanStage{}, stage}, {}};
  replica.stages[1].threads = 5;
  EXPECT_EQ(inference::calls_under_way(replica, 3), 2 * (1 + 3 + 2));
}

TEST(InferStageRules, OnlyNetworksWhoseLayersAreKnownAreDivided) {
  inference::InferenceRequest request;
  request.model.model = "mlp:16-8-4";
  request.model.seed = 1;
  const inference::InferenceModel model(request);
  inference::InferOptions options;
  options.plan = shared_plan({1}, 2);
  EXPECT_NO_THROW(require_possible_stages(model, options));
  options.stage_memory_bytes = 1;
  EXPECT_NO_THROW(require_possible_stages(model, options));
}

TEST(InferStageRules, SetupsTellEachStagesPart) {
  inference::InferenceRequest request;
  request.model.model = "mlp:784-32-16-10";
  request.model.seed = 1;
  const inference::InferenceModel model(request);
  const network::Network& network = *model.network();
  inference::InferOptions options;
  options.plan = shared_plan({1}, 2);
  options.plan.replicas[0].stages[0].threads = 3;
  inference::InferSetup setup;
  setup.batch = 4;
  setup.streams = 2;
  EXPECT_THAT(inference::stage_setups(model, {}, options, setup), IsEmpty());
  const auto stages = network::cut(network, network::begins_of(network, {"2"}));
  const auto setups = inference::stage_setups(model, stages, options, setup);
  ASSERT_EQ(setups.size(), 2U);
  EXPECT_EQ(setups[1].first, "2");
  EXPECT_EQ(setups[0].parameters, 784 * 32 + 32);
  EXPECT_EQ(setups[1].parameters, 32 * 16 + 16 + 16 * 10 + 10);
  EXPECT_NEAR(setups[0].operations + setups[1].operations, 1, 1e-12);
  EXPECT_GT(setups[0].operations, 0.9);
  EXPECT_EQ(setups[0].sent_bytes, 32 * 4);
  EXPECT_EQ(setups[1].sent_bytes, 0);
  for (std::size_t s = 0; s < 2; ++s) {
    const network::InferenceMemory memory = network::inference_memory(stages[s].network);
    const std::int64_t images = s == 0 ? 4 * 2 : 4;  // two calls side by side on three threads, one on one
    EXPECT_EQ(setups[s].memory_bytes, memory.weight_bytes + images * memory.per_sample_bytes);
  }
}

TEST(GatheredValues, AreABatchFilledUpWithZeros) {
  const inference::SampleValues one{.bytes = {1, 2}, .floats = {}}, two{.bytes = {3, 4}, .floats = {}};
  EXPECT_THAT(inference::gathered({&one, &two}, 3).bytes, ElementsAre(1, 2, 3, 4, 0, 0));
  EXPECT_THAT(inference::gathered({&one, &two}, 3).floats, IsEmpty());
  const inference::SampleValues three{.bytes = {}, .floats = {5, 6, 7}};
  EXPECT_THAT(inference::gathered({&three}, 2).floats, ElementsAre(5, 6, 7, 0, 0, 0));
}

}  // namespace
}  // namespace evener::training
