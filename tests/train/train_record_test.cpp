// What a training's record says of its results.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "base/thrown.h"
#include "infer/model/metadata.h"
#include "network/zoo.h"
#include "placement/placement.h"
#include "train/options.h"
#include "train/plan_job.h"
#include "train/training.h"
#include "weights/safetensors.h"

namespace evener::training {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

record::Accuracy accuracy_of(const TrainResult& result, const char* epochs) {
  record::Record record;
  record.config["epochs"] = epochs;
  record.sessions.emplace_back();
  fill_results(record, result);
  return record.training.accuracy;
}

TEST(Limits, WhatNothingKeepsToIsRefusedWithWhatWouldHelp) {
  Comparison kept;
  EXPECT_NO_THROW(require_within_limits(kept));
  const auto refusal = [](const std::string& unknown) {
    Comparison comparison;
    comparison.within_limits = false;
    comparison.goal.budget_j = 3600;
    comparison.reason = "nothing stays below 1 Wh";
    comparison.energy_refusal = unknown;
    return test::thrown_by<UsageError>([&] { require_within_limits(comparison); });
  };
  EXPECT_EQ(refusal(""), "nothing stays below 1 Wh; allow more, or train fewer --epochs");
  EXPECT_EQ(refusal("no meter"), "nothing stays below 1 Wh: no meter") << "more watt-hours wouldn't help";
}

TEST(TrainRecord, SaysWhichWeightsWereTested) {
  TrainResult result;
  result.test_accuracy = 0.5;
  EXPECT_EQ(accuracy_of(result, "0").test_weights, "given");
  EXPECT_EQ(accuracy_of(result, "2").test_weights, "last");
  result.epochs.resize(2);
  result.epochs[0].epoch = 1;
  result.epochs[0].val_accuracy = 0.75;
  result.epochs[1].epoch = 2;
  result.epochs[1].val_accuracy = 0.5;
  result.best_epoch = 1;
  const record::Accuracy best = accuracy_of(result, "2");
  EXPECT_EQ(best.test_weights, "best");
  EXPECT_EQ(best.val, 0.75);
  EXPECT_EQ(best.val_epoch, 1);
}

/// Two replicas of two stages, of which some are GPUs: by rank cpu, cuda:1, cuda:0, cpu.
TEST(TrainRecord, FiguresOfGpusAreThoseOfTheirStages) {
  const placement::PlanStage cpu;
  placement::PlanStage first, second;
  first.device = {DeviceKind::kCuda, 0};
  first.device_name = "A";
  second.device = {DeviceKind::kCuda, 1};
  second.device_name = "B";
  TrainOptions options;
  options.epochs = 0;
  options.plan.replicas.resize(2);
  options.plan.replicas[0].stages = {cpu, second};
  options.plan.replicas[1].stages = {first, cpu};
  record::Record record;
  record.sessions.emplace_back();
  TrainSetup setup(network::build("mlp:4-2", {.input = network::Shape{1, 2, 2}}));
  setup.engine = "native";
  fill_setup(record, TrainFlags(), options, setup);
  TrainResult result;
  result.devices.resize(4);
  result.devices[0].peak_memory_bytes = 400;  // of a CPU, which is no GPU's
  result.devices[1].peak_memory_bytes = 100;
  result.devices[2].peak_memory_bytes = 200;
  fill_results(record, result);
  ASSERT_EQ(record.gpus.size(), 2U);
  EXPECT_EQ(record.gpus[0].name, "B");
  EXPECT_EQ(record.gpus[0].index, 1);
  EXPECT_EQ(record.gpus[0].peak_memory_bytes, 100U);
  EXPECT_EQ(record.gpus[1].name, "A");
  EXPECT_EQ(record.gpus[1].index, 0);
  EXPECT_EQ(record.gpus[1].peak_memory_bytes, 200U);
}

// The timeline of a pipeline's last steps, as a browser opens it.

parallel::StageWork work_from(double begin_s) {
  parallel::StageWork work;
  work.last_steps = {{{parallel::PassKind::kForward, 0, begin_s, begin_s + 0.5},
                      {parallel::PassKind::kBackward, 0, begin_s + 0.5, begin_s + 2}}};
  return work;
}

TEST(StageTrace, OfEachHostBeginsAtZero) {
  const test::TestFolder folder;
  // Two hosts of two stages, whose clocks are a day apart.
  const std::vector<parallel::StageWork> work = {work_from(100), work_from(101), work_from(86500), work_from(86501)};
  write_stage_trace(folder / "trace.json", work, /*stages=*/2, /*hosts=*/2);
  std::ifstream file(folder / "trace.json");
  std::map<std::pair<int, int>, std::vector<double>> begins_us;
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") begins_us[{event["pid"], event["tid"]}].push_back(event["ts"]);
  }
  const std::vector<double> first = {0, 5e5}, second = {1e6, 1.5e6};
  for (const int replica : {0, 1}) {
    EXPECT_EQ((begins_us[{replica, 0}]), first) << replica;
    EXPECT_EQ((begins_us[{replica, 1}]), second) << replica;
  }
}

// What options that nobody gave become with weights, of detectors and otherwise.

class FineTuningDefaults : public testing::Test {
 protected:
  /// Weights of a network that say this of themselves.
  std::string weights(const inference::ModelFacts& facts) const {
    const auto path = folder_ / "weights.safetensors";
    weights::write_safetensors(path, {{"a", HostTensor::of_floats({1}, {0})}}, inference::model_metadata(facts));
    return path.string();
  }
  std::string usual_weights() const {
    return weights({.model = "resnet18", .classes = {}, .input = {}, .normalization = {}});
  }

  test::TestFolder folder_;
};

std::unique_ptr<TrainFlags> completed(const std::string& model, const std::string& weights, const Given& given = {}) {
  auto flags = std::make_unique<TrainFlags>();
  flags->options().give("MODEL", {model});
  flags->options().give("--data", {"synth:digits:200"});
  if (!weights.empty()) flags->options().give("--weights", {weights});
  for (const auto& [name, words] : given) flags->options().give(name, words);
  complete(*flags, nullptr);
  return flags;
}

/// "optimizer lr schedule epochs warmup batch ema momentum patience".
std::string learning(const TrainFlags& flags) {
  const OptimisationFlags& all = flags.optimisation;
  return fmt::format("{} {} {} {} {} {} {} {} {}", *all.optimizer, all.rate(), *all.schedule, *all.epochs, *all.warmup,
                     *all.batch, *all.average_decay, *all.momentum, *all.patience);
}

constexpr const char* kPlain = "sgd 0.05 constant 10 0 64 0 0 0";
constexpr const char* kTuned = "sgd 0.0002 cosine 6 1 12 0.9 0.9 3";

TEST_F(FineTuningDefaults, WithoutWeightsAllStaysAsHelpSays) {
  const auto flags = completed("resnet18", "");
  EXPECT_EQ(learning(*flags), kPlain);
  EXPECT_EQ(*flags->data.size, "");
}

TEST_F(FineTuningDefaults, WithWeightsItLearnsGently) {
  const auto flags = completed("resnet18", usual_weights());
  EXPECT_EQ(learning(*flags), kTuned);
  EXPECT_EQ(*flags->data.size, "224x224") << "as published weights of the network were trained";
  EXPECT_EQ(*flags->data.crop, "centre");
  const auto known = completed("resnet18", weights({.model = "resnet18",
                                                    .classes = {},
                                                    .input = network::Shape{3, 96, 128},
                                                    .normalization = {},
                                                    .crop = data::CropMode::kLetterbox}));
  EXPECT_EQ(*known->data.size, "128x96") << "width and height";
  EXPECT_EQ(*known->data.crop, "letterbox");
}

TEST_F(FineTuningDefaults, WhatWasGivenStays) {
  const std::string file = usual_weights();
  const auto given = completed("resnet18", file,
                               {{"--size", {"64x48"}},
                                {"--crop", {"stretch"}},
                                {"--epochs", {"2"}},
                                {"--batch", {"5"}},
                                {"--ema", {"0.5"}},
                                {"--patience", {"7"}}});
  EXPECT_EQ(learning(*given), "sgd 0.0002 cosine 2 1 5 0.5 0.9 7");
  EXPECT_EQ(*given->data.size, "64x48");
  EXPECT_EQ(*given->data.crop, "stretch");
}

TEST_F(FineTuningDefaults, WhoSaysHowToLearnHasTheOthersAsTheyAre) {
  const std::string file = usual_weights();
  const Given ways = {{"--lr", {"0.05"}},     {"--optimizer", {"sgd"}},     {"--momentum", {"0"}},
                      {"--warmup", {"0"}},    {"--schedule", {"constant"}}, {"--weight-decay", {"0"}},
                      {"--clip-norm", {"0"}}, {"--nesterov", {"false"}}};
  for (const auto& way : ways) {
    EXPECT_EQ(learning(*completed("resnet18", file, {way})), "sgd 0.05 constant 10 0 64 0 0 3") << way.first;
  }
}

TEST_F(FineTuningDefaults, WhatOnlyEvaluatesHasNoPatienceAndNoRate) {
  const auto flags = completed("resnet18", usual_weights(), {{"--epochs", {"0"}}});
  EXPECT_EQ(learning(*flags), "sgd 0.05 constant 0 0 64 0 0 0");
  EXPECT_EQ(*flags->data.size, "224x224");
}

TEST_F(FineTuningDefaults, WhatLearnsQuantizedHasAGentleRateOfItsOwn) {
  const auto flags = completed("resnet18", usual_weights(), {{"--quantize", {"int8"}}});
  EXPECT_EQ(learning(*flags), "sgd 0.0005 constant 10 0 64 0 0 0");
  const auto given = completed("resnet18", usual_weights(), {{"--quantize", {"int8"}}, {"--lr", {"0.01"}}});
  EXPECT_EQ(learning(*given), "sgd 0.01 constant 10 0 64 0 0 0");
}

nlohmann::json what_plans_depend_on(const TrainFlags& flags) {
  nlohmann::json values;
  for (const OptionGroup* group : flags.groups) {
    for (const OptionBase* option : group->options()) {
      if (option->rules().in_plans && option->name() != "--on") option->record(values);
    }
  }
  return values;
}

TEST_F(FineTuningDefaults, APlanIsOfTheTrainingThatTheSameWordsAskFor) {
  const std::vector<Given> others = {{},
                                     {{"--lr", {"0.05"}}},
                                     {{"--warmup", {"2"}}},
                                     {{"--batch", {"5"}}},
                                     {{"--size", {"96x64"}}, {"--patience", {"2"}}},
                                     {{"--quantize", {"int8"}}},
                                     {{"--unknown", {"0"}}, {"--no-calibration", {"true"}}}};
  for (const char* model : {"resnet18", "ssdlite_mobilenet_v2"}) {
    for (const std::string& file : {std::string(), usual_weights()}) {
      for (const Given& given : others) {
        const auto trained = completed(model, file, given);
        PlanFlags planned;
        planned.options().give("MODEL", {model});
        planned.options().give("--data", {"synth:digits:200"});
        if (!file.empty()) planned.options().give("--weights", {file});
        for (const auto& [name, values] : given) planned.options().give(name, values);
        complete(planned, nullptr);
        EXPECT_EQ(learning(planned), learning(*trained)) << model << file;
        EXPECT_EQ(what_plans_depend_on(planned), what_plans_depend_on(*trained)) << model << file;
      }
    }
  }
}

TEST_F(FineTuningDefaults, DetectorsHaveTheirOwn) {
  const auto scratch = completed("ssdlite_mobilenet_v2", "");
  EXPECT_EQ(learning(*scratch), "adamw 0.002 cosine 10 0 16 0 0 0");
  EXPECT_EQ(*scratch->optimisation.clip_norm, 10);
  EXPECT_EQ(*scratch->data.augment, *completed("resnet18", "")->data.augment);
  const auto tuned = completed("ssdlite_mobilenet_v2", usual_weights());
  EXPECT_EQ(learning(*tuned), "adamw 0.002 cosine 40 0 16 0 0 0");
  EXPECT_EQ(*tuned->data.augment, "flip,iou-crop");
  const auto said = completed("ssdlite_mobilenet_v2", usual_weights(), {{"--warmup", {"2"}}});
  EXPECT_EQ(learning(*said), "adamw 0.002 cosine 10 2 16 0 0 0");
  EXPECT_NE(*said->data.augment, "flip,iou-crop");
  const auto sgd = completed("ssdlite_mobilenet_v2", "", {{"--optimizer", {"sgd"}}});
  EXPECT_EQ(learning(*sgd), "sgd 0.05 cosine 10 0 16 0 0.9 0");
  const auto momentum = completed("ssdlite_mobilenet_v2", "", {{"--momentum", {"0.5"}}});
  EXPECT_EQ(learning(*momentum), "sgd 0.05 cosine 10 0 16 0 0.5 0") << "which adamw has none of";
}

TEST_F(FineTuningDefaults, DataWithoutPartsIsDividedSoThatAPartCanJudge) {
  const auto divided = completed("resnet18", usual_weights());
  const std::string split = *divided->data.split;
  EXPECT_EQ(split, suitable_split(*divided, look_at_data(*divided)));
  const auto asked = completed("resnet18", usual_weights(), {{"--split", {"50/50"}}});
  EXPECT_EQ(*asked->data.split, "50/50");
}

/// A run's options with what they would come to.
struct Ignoring {
  explicit Ignoring(const std::string& model = "resnet20") : setup(network::build(model, {})) {
    setup.val_images = 10;
    options.plan.replicas.resize(1);
    options.plan.replicas.front().stages.resize(1);
    options.weights = "w";
  }
  std::vector<std::string> told(const Given& given) const {
    TrainFlags flags;
    for (const auto& [name, words] : given) flags.options().give(name, words);
    return ignored_options(flags, options, setup);
  }

  TrainOptions options;
  TrainSetup setup;
};

TEST(IgnoredOptions, AreToldByWhyTheyChangeNothing) {
  const Ignoring plain;
  EXPECT_THAT(plain.told({}), IsEmpty());
  EXPECT_THAT(plain.told({{"--lr", {"0.1"}}, {"--patience", {"2"}}, {"--linear-probing", {"on"}}, {"--loss", {"mse"}}}),
              IsEmpty());
  Ignoring evaluated;
  evaluated.options.epochs = 0;
  EXPECT_THAT(evaluated.told({{"--lr", {"0.1"}}, {"--patience", {"2"}}}),
              ElementsAre("--lr, --patience change nothing: with --epochs 0 nothing is trained"));
  const Given all = {
      {"--schedule", {"cosine"}},   {"--warmup", {"1"}},         {"--optimizer", {"sgd"}},      {"--momentum", {"0.5"}},
      {"--nesterov", {"true"}},     {"--weight-decay", {"0.1"}}, {"--clip-norm", {"1"}},        {"--ema", {"0.5"}},
      {"--accumulate", {"2"}},      {"--validate-every", {"2"}}, {"--until-accuracy", {"0.5"}}, {"--freeze", {"a*"}},
      {"--linear-probing", {"on"}}, {"--augment", {"flip"}}};
  for (const auto& one : all) {
    EXPECT_THAT(evaluated.told({one}), ElementsAre(HasSubstr(one.first + " changes nothing: with --epochs 0")));
  }
  Ignoring unjudged;
  unjudged.setup.val_images = 0;
  EXPECT_THAT(unjudged.told({{"--patience", {"2"}}, {"--lr", {"0.1"}}}),
              ElementsAre("--patience changes nothing: there are no images to validate on"));
  Ignoring scratch;
  scratch.options.weights.clear();
  EXPECT_THAT(scratch.told({{"--linear-probing", {"on"}}}), ElementsAre(HasSubstr("there are no --weights")));
}

TEST(IgnoredOptions, OfEnginesNetworksAndDevices) {
  const Ignoring plain;
  EXPECT_THAT(plain.told({{"--box-loss", {"giou"}}}), ElementsAre(HasSubstr("the network is no detector")));
  const Ignoring detector("ssdlite_mobilenet_v2");
  EXPECT_THAT(detector.told({{"--box-loss", {"giou"}}}), IsEmpty());
  EXPECT_THAT(detector.told({{"--label-smoothing", {"0.1"}}}),
              ElementsAre(HasSubstr("a loss of its own (--box-loss)")));
  EXPECT_THAT(plain.told({{"--label-smoothing", {"0.1"}}, {"--layout", {"nchw"}}}), IsEmpty());
  Ignoring native;
  native.setup.engine = "native";
  EXPECT_THAT(native.told({{"--layout", {"nchw"}}}), ElementsAre(HasSubstr("one memory layout")));
  EXPECT_THAT(plain.told({{"--step-graph", {"off"}}}), ElementsAre(HasSubstr("there is no GPU in the placement")));
  Ignoring gpu;
  gpu.options.plan.replicas.front().stages.front().device.kind = DeviceKind::kCuda;
  EXPECT_THAT(gpu.told({{"--step-graph", {"off"}}}), IsEmpty());
  gpu.setup.engine = "native";
  EXPECT_THAT(gpu.told({{"--step-graph", {"off"}}}), IsEmpty());
  gpu.options.plan.replicas.front().stages.front().device.kind = DeviceKind::kOpencl;
  EXPECT_THAT(gpu.told({{"--step-graph", {"off"}}}), ElementsAre(HasSubstr("only steps on CUDA's GPUs")));
  EXPECT_THAT(plain.told({{"--plan-seconds", {"3"}}}), ElementsAre(HasSubstr("it is for --on auto")));
  EXPECT_THAT(plain.told({{"--plan-seconds", {"3"}}, {"--on", {"auto"}}}), IsEmpty());
}

TEST(IgnoredOptions, OfOneReplicaAndOfSeveral) {
  const Given stages = {{"--micro-batches", {"4"}}}, shares = {{"--shares", {"equal"}}},
              norm = {{"--batch-norm", {"local"}}}, wire = {{"--communication-dtype", {"bf16"}}},
              restarts = {{"--restarts", {"2"}}};
  Ignoring one;
  EXPECT_THAT(one.told(stages), ElementsAre(HasSubstr("the placement has no stages")));
  EXPECT_THAT(one.told(shares), ElementsAre(HasSubstr("there is one replica")));
  EXPECT_THAT(one.told(norm), ElementsAre(HasSubstr("there is one replica")));
  EXPECT_THAT(one.told(wire), ElementsAre(HasSubstr("one replica exchanges no gradients")));
  EXPECT_THAT(one.told(restarts), ElementsAre(HasSubstr("is not started again by itself")));
  one.options.frozen_batch_norm = one.options.always_exchange = true;
  EXPECT_THAT(one.told(norm), IsEmpty());
  EXPECT_THAT(one.told(wire), IsEmpty());
  Ignoring two;
  two.options.plan.replicas.push_back(two.options.plan.replicas.front());
  for (const Given& given : {shares, norm, wire, restarts}) EXPECT_THAT(two.told(given), IsEmpty());
  EXPECT_THAT(two.told(stages), ElementsAre(HasSubstr("the placement has no stages")));
  Ignoring perceptrons("mlp:4-2");
  perceptrons.options.plan.replicas.push_back(perceptrons.options.plan.replicas.front());
  EXPECT_THAT(perceptrons.told(norm), ElementsAre(HasSubstr("the network has no batch-norm layer")));
  Ignoring divided;
  divided.options.plan.replicas.front().stages.push_back(divided.options.plan.replicas.front().stages.front());
  for (const Given& given : {stages, shares, norm, wire, restarts}) EXPECT_THAT(divided.told(given), IsEmpty());
}

}  // namespace

}  // namespace evener::training
