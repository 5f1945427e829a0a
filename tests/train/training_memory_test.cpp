// The estimate of a training's memory: what it consists of, and what it is used for.
// What stages are predicted to take, and how good the planner's cut is beside all others.
#include "train/steps/training_memory.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/thrown.h"
#include "network/cost.h"
#include "network/step_memory.h"
#include "network/zoo.h"
#include "train/steps/stages.h"

namespace evener::training {
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

/// What all processes of trainings together had resident at their peaks, as their records told it
/// (`tools/memory-table`).
TEST(TrainingMemory, OfProcessesIsWhatTrainingsTook) {
  struct Row {
    const char* model;
    std::int64_t side, batch;
    int replicas, stages;
    double taken;
  };
  for (const Row& row : {Row{"resnet18", 64, 16, 2, 1, 917'704'704}, Row{"resnet18", 64, 16, 3, 1, 1'258'217'472},
                         Row{"resnet20", 32, 128, 2, 1, 557'096'960}, Row{"resnet18", 64, 16, 1, 2, 744'779'776}}) {
    SCOPED_TRACE(std::string(row.model) + " " + std::to_string(row.replicas) + " x " + std::to_string(row.stages));
    TrainOptions options;
    options.model = row.model;
    options.batch = row.batch;
    for (int replica = 0; replica < row.replicas; ++replica) {
      options.plan.replicas.push_back(
          {replica, std::vector<placement::PlanStage>(static_cast<std::size_t>(row.stages)), 1.0 / row.replicas});
    }
    for (int rank = 0; rank < row.replicas * row.stages; ++rank) options.plan.processes.push_back({{rank}});
    TrainSetup setup(network::build(row.model, {network::Shape{1, row.side, row.side}, 9}));
    if (row.stages == 2) {
      setup.division = {network::cut(setup.network, network::begins_of(setup.network, {"layer3.1.conv2"})), 1};
    }
    setup.image = {1, row.side, row.side};
    setup.images = 300;
    setup.train_images = 240;
    const MemoryEstimate estimate = estimated_memory(setup.network, training_work(options, options.plan, setup));
    EXPECT_NEAR(static_cast<double>(estimate.total_bytes()), row.taken, 0.07 * row.taken);
    EXPECT_LT(estimate.to_come_bytes, estimate.total_bytes() - 150'000'000) << "libraries are there once";
    EXPECT_THAT(memory_text(estimate), HasSubstr(" processes, of which each counts pages that they share; "));
    EXPECT_EQ(estimate.is_checkpoint, row.stages == 1 && std::string(row.model) == "resnet18");
  }
}

TEST(TrainingMemory, ThreadsHaveTheirOwnWeightsAndShareTheLibraries) {
  const auto network = network::build("resnet20", {network::Shape{3, 32, 32}, 10});
  TrainingWork work = work_of(1000, 1200, 64);
  const MemoryEstimate one = estimated_memory(network, work);
  EXPECT_EQ(one.shared_bytes, 0);
  work.replicas = work.local_replicas = 2;
  const MemoryEstimate two = estimated_memory(network, work);
  EXPECT_NEAR(static_cast<double>(two.weight_bytes), 2.0 * static_cast<double>(one.weight_bytes), 2);
  EXPECT_GT(two.program_bytes, one.program_bytes);
  EXPECT_LT(two.program_bytes, 2 * one.program_bytes);
  EXPECT_EQ(two.image_bytes, one.image_bytes);
  work.replicas = 4;  // of two hosts
  const MemoryEstimate here = estimated_memory(network, work);
  EXPECT_EQ(here.weight_bytes, two.weight_bytes);
  EXPECT_LT(here.step_bytes, two.step_bytes) << "each has a smaller share";
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
    return test::thrown_by([&] { require_memory(network, work); }, "");
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

placement::PlanReplica stages_of(const std::vector<double>& factors) {
  placement::PlanReplica replica;
  for (const double factor : factors) {
    replica.stages.emplace_back();
    replica.stages.back().factor = factor;
  }
  return replica;
}

/// Operations as seconds: the shape of a network's times, at 10 GFLOP/s.
std::vector<parallel::StageTimes> times_by_operations(const network::Network& network, std::int64_t images) {
  std::vector<parallel::StageTimes> times;
  for (const network::LayerCost& cost : network::layer_costs(network)) {
    const double scale = static_cast<double>(images) / 10e9;
    times.push_back(
        {scale * static_cast<double>(cost.forward_flops), scale * static_cast<double>(cost.backward_flops)});
  }
  return times;
}

TEST(StageTimes, AreTheSumsOfTheirLayersAndWhatCrosses) {
  network::Network network("net", {8});
  for (int i = 0; i < 4; ++i) network.add("linear" + std::to_string(i), network::Linear{.out_features = 8});
  const std::vector<parallel::StageTimes> layers = {{0, 0}, {1, 2}, {1, 2}, {3, 4}, {3, 5}};
  const auto times =
      stage_times(network, network::cut(network, std::vector{3}), std::vector{layers, layers}, 16, stages_of({1, 0.5}));
  ASSERT_EQ(times.size(), 2u);
  const double crossing_s = inference::crossing_seconds(16) * 8 / 2;
  EXPECT_GT(crossing_s, 0);
  EXPECT_DOUBLE_EQ(times[0].forward_s, 2 + crossing_s);
  EXPECT_DOUBLE_EQ(times[0].backward_s, 4 + crossing_s);
  EXPECT_DOUBLE_EQ(times[1].forward_s, 2 * (6 + crossing_s));
  EXPECT_DOUBLE_EQ(times[1].backward_s, 2 * (9 + crossing_s));
}

TEST(StageTimes, AreThoseOfEachStagesOwnDevice) {
  network::Network network("net", {8});
  for (int i = 0; i < 2; ++i) network.add("linear" + std::to_string(i), network::Linear{.out_features = 8});
  const std::vector<std::vector<parallel::StageTimes>> layers = {{{1, 1}, {1, 1}, {1, 1}}, {{2, 2}, {2, 2}, {2, 3}}};
  const auto times = stage_times(network, network::cut(network, std::vector{2}), layers, 1, stages_of({1, 1}));
  EXPECT_NEAR(times[0].forward_s, 2, 1e-6);
  EXPECT_NEAR(times[1].forward_s, 2, 1e-6);
  EXPECT_NEAR(times[1].backward_s, 3, 1e-6);
}

TEST(UpdateSeconds, AreThoseOfTheStageWithTheMostWeights) {
  network::Network network("net", {8});
  for (const int width : {8, 800}) {
    network.add("linear" + std::to_string(width), network::Linear{.out_features = width});
  }
  const auto stages = network::cut(network, std::vector{2});
  EXPECT_DOUBLE_EQ(update_seconds(stages, stages_of({1, 1})), 9 * 800 * 20 / 4e9);
  EXPECT_DOUBLE_EQ(update_seconds(stages, stages_of({1, 0.5})), 2 * 9 * 800 * 20 / 4e9);
}

TEST(StageForecast, SimulatesEachReplica) {
  const StageForecast forecast{{{{1, 2}, {1, 2}}, {{2, 4}, {2, 4}}}, {0, 0.5}, 4, parallel::PipelineSchedule::k1F1B};
  EXPECT_DOUBLE_EQ(forecast.seconds(0, 4), 15);
  EXPECT_DOUBLE_EQ(forecast.seconds(0, 2), 9);
  EXPECT_DOUBLE_EQ(forecast.seconds(1, 4), 30.5) << "and the update";
  EXPECT_NEAR(forecast.bubble(), 1.0 / 5, 1e-12);
}

TEST(StageMemory, IsTheWeightsOfEachStageAndTheMicroBatchesThatItKeeps) {
  const network::Network network = network::build("resnet20", {});
  TrainOptions options;
  options.batch = 60;
  for (const int stages : {2, 3}) {
    options.plan.replicas = {{0, std::vector<placement::PlanStage>(static_cast<std::size_t>(stages)), 1.0}};
    const Division division{divided_layers(options, network, inference::estimated_costs(network, options.plan)), 4};
    const std::vector<StageMemory> memory = stage_memory(options, network, division);
    const StageMemory whole = stage_memory(options, network, {}).at(0);
    ASSERT_EQ(memory.size(), static_cast<std::size_t>(stages));
    std::int64_t fixed = 0;
    for (int s = 0; s < stages; ++s) {
      const StageMemory& stage = memory[static_cast<std::size_t>(s)];
      const auto own = network::training_memory(division.stages[static_cast<std::size_t>(s)].network);
      EXPECT_EQ(stage.kept, std::min(4, stages - s));
      EXPECT_EQ(stage.fixed_bytes, own.weight_bytes + own.buffer_bytes) << "SGD without momentum keeps nothing";
      EXPECT_GT(stage.computed_bytes, own.gradient_bytes + own.largest_weight_bytes) << "one beside the sum";
      EXPECT_EQ(stage.reordered_bytes,
                network::reordered_bytes(division.stages[static_cast<std::size_t>(s)].network, 15, true))
          << "on a CPU";
      EXPECT_LT(stage.bytes(), whole.bytes());
      fixed += stage.fixed_bytes;
    }
    EXPECT_EQ(fixed, whole.fixed_bytes) << "every weight lies in one stage";
  }
  EXPECT_EQ(stage_memory(options, network, {}).at(0).reordered_bytes, 0) << "one micro-batch after the other";
  Division halves{divided_layers(options, network, inference::estimated_costs(network, options.plan)), 4};
  const std::int64_t transformed = stage_memory(options, network, halves).at(1).reordered_bytes;
  options.trainer.torch.convolution = engine::ConvolutionChoice::kDirect;
  EXPECT_LT(stage_memory(options, network, halves).at(1).reordered_bytes, transformed) << "nothing is transformed";
  options.trainer.torch.convolution = engine::ConvolutionChoice::kAuto;
  halves.micro_batches = 1;
  EXPECT_EQ(stage_memory(options, network, halves).at(1).reordered_bytes, 0) << "weights are read once a step";
  options.pipeline_schedule = parallel::PipelineSchedule::kGPipe;
  const Division division{divided_layers(options, network, inference::estimated_costs(network, options.plan)), 4};
  EXPECT_EQ(stage_memory(options, network, division).at(2).kept, 4);
  options.plan.replicas.front().stages[2].device.kind = DeviceKind::kCuda;
  EXPECT_EQ(stage_memory(options, network, division).at(2).reordered_bytes, 0) << "only CPUs reorder";
}

/// What the tensors of two stages took at most, as trainings told it: --size, --batch, --micro-batches and --cut as
/// here.
TEST(StageMemory, IsWhatTrainingsTook) {
  struct Row {
    const char* model;
    std::int64_t side, batch;
    int micro_batches;
    const char* cut;
    double taken[2];
  };
  for (const Row& row : {Row{"mobilenet_v2", 64, 16, 1, "features.8", {38'238'252, 26'265'044}},
                         Row{"mobilenet_v2", 64, 16, 4, "features.8", {19'440'812, 22'559'092}},
                         Row{"resnet18", 96, 32, 1, "layer3", {123'669'588, 94'630'316}},
                         Row{"resnet18", 96, 32, 4, "layer3", {85'862'228, 134'297'836}},
                         Row{"resnet20", 32, 32, 1, "layer2", {33'771'004, 22'143'932}},
                         Row{"resnet34", 64, 24, 6, "layer3", {41'257'092, 245'365'020}}}) {
    TrainOptions options;
    options.batch = row.batch;
    options.plan.replicas = {{0, std::vector<placement::PlanStage>(2), 1.0}};
    const network::Network network = network::build(row.model, {network::Shape{1, row.side, row.side}, 9});
    const Division division{network::cut(network, network::begins_of(network, {row.cut})), row.micro_batches};
    const std::vector<StageMemory> memory = stage_memory(options, network, division);
    for (std::size_t stage = 0; stage < 2; ++stage) {
      EXPECT_NEAR(static_cast<double>(memory[stage].bytes()), row.taken[stage], 0.08 * row.taken[stage])
          << row.model << " in " << row.micro_batches << ", stage " << stage;
    }
  }
}

TEST(StageMemory, CutsKeepToTheLimitWhereOneDoes) {
  const network::Network network = network::build("mlp:784-512-512-512-10", {});
  TrainOptions options;
  options.batch = 8;
  options.plan.replicas = {{0, std::vector<placement::PlanStage>(2), 1.0}};
  const network::StageCosts last_dear{{{0, 1, 1, 1, 1, 1, 9, 9}}, 0, {1, 1}};
  const auto largest = [&] {
    const Division division{divided_layers(options, network, last_dear), 4};
    std::int64_t most = 0;
    for (const StageMemory& stage : stage_memory(options, network, division)) most = std::max(most, stage.bytes());
    return most;
  };
  const std::int64_t balanced = largest();  // the first stage has nearly all layers, since the last ones take longest
  options.stage_memory_bytes = balanced * 9 / 10;
  EXPECT_LE(largest(), options.stage_memory_bytes);
  options.stage_memory_bytes = 1000;
  EXPECT_EQ(largest(), balanced) << "nothing fits";
}

/// Seconds of a simulated step of 8 micro-batches with this cut.
double step_s(const network::Network& network, const std::vector<int>& begins, const std::vector<double>& factors) {
  constexpr std::int64_t kImages = 8;
  const std::vector layers(factors.size(), times_by_operations(network, kImages));
  const auto times = stage_times(network, network::cut(network, begins), layers, kImages, stages_of(factors));
  return simulate_step(parallel::PipelineSchedule::k1F1B, times, 8).seconds;
}

/// Of all cuts into as many stages as there are factors.
double best_step_s(const network::Network& network, std::vector<int> begins, const std::vector<double>& factors) {
  if (begins.size() + 1 == factors.size()) return step_s(network, begins, factors);
  double best = std::numeric_limits<double>::infinity();
  const int last = static_cast<int>(network.layers().size()) - static_cast<int>(factors.size() - begins.size() - 1) + 1;
  for (int begin = begins.empty() ? 2 : begins.back() + 1; begin < last; ++begin) {
    begins.push_back(begin);
    best = std::min(best, best_step_s(network, begins, factors));
    begins.pop_back();
  }
  return best;
}

TEST(Cuts, OfThePlannerAreAlmostAsFastAsTheBestOfAll) {
  network::ModelOptions small;
  small.input = network::Shape{3, 64, 64};
  for (const char* model : {"resnet34", "mobilenet_v2", "mlp:784-512-384-512-64-10"}) {
    const network::Network network =
        network::build(model, std::string(model).starts_with("mlp") ? network::ModelOptions() : small);
    for (const std::vector<double>& factors : {std::vector<double>{1, 1}, {1, 0.3}, {0.3, 1}, {1, 0.5}, {0.1, 1}}) {
      SCOPED_TRACE(testing::Message() << model << " " << testing::PrintToString(factors));
      network::StageCosts costs{{{}}, inference::crossing_seconds(8), factors};
      for (const auto& layer : times_by_operations(network, 8)) {
        costs.of_layers.front().push_back(layer.forward_s + layer.backward_s);
      }
      const double planned_s = step_s(network, network::balanced_begins(network, costs), factors);
      EXPECT_GE(best_step_s(network, {}, factors), 0.95 * planned_s);
    }
  }
}

}  // namespace

}  // namespace evener::training
