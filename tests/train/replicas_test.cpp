// evener train on several replicas: it learns what one replica learns, and says what happened when one is lost.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/cpu.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::last_weights;
using test::ProgramResult;
using test::record_in;
using test::relative_distance;
using test::resume_file;
using test::run_in_process;
using test::run_program;
using test::RunningProgram;
using test::Words;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

/// Momentum by parameter: a weighted sum of the gradients of all steps.
TensorMap momentum(const fs::path& dir) {
  TensorMap tensors = weights::read_safetensors(resume_file(dir)).tensors;
  std::erase_if(tensors, [](const auto& entry) { return !entry.first.ends_with(".momentum"); });
  return tensors;
}

class Replicas : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }

  /// Trains on `on`, with all of its replicas also where there is but one CPU; the folder of the run.
  fs::path trained(const std::string& name, const std::string& on, const Words& options) {
    const fs::path out = folder_ / name;
    const Words where = {"--on", on, "--oversubscribe", "--out", out.string(), "--quiet"};
    const ProgramResult result = run_program(joined({"train"}, joined(options, where)));
    EXPECT_EQ(result.exit_code, 0) << on << ": " << result.err;
    return out;
  }

  test::TemporaryFolder folder_;
};

struct ExactCase {
  const char* name;
  const char* model;
  double tolerance;
  bool all;  // also what changes nothing but who computes; large networks take too long for that
};

/// 2 x 4 steps on batches of 11, which no number of replicas divides; the last batch of an epoch has 3 images. With
/// augmentation, and dropout where the network has it. The rate is so small that the weights stay where they are: the
/// momentum then is a sum of the gradients at one point, which rounding can't drive apart (an untrained ResNet
/// magnifies differences of weights a thousandfold in two steps).
class Exactness : public Replicas, public testing::WithParamInterface<ExactCase> {
 protected:
  Words options() const {
    return {"--data",    "synth:masks:54", "--size",   "40x32", "--split",  "85/5/10", "--batch",
            "11",        "--momentum",     "0.9",      "--lr",  "1e-8",     "--seed",  "3",
            "--augment", "flip,crop:4",    "--epochs", "2",     "--engine", "torch"};
  }
  TensorMap sums_of_gradients(const std::string& on, const Words& more = {}) {
    const Words words = joined({GetParam().model}, joined(options(), more));
    return momentum(trained("run" + std::to_string(runs_++), on, words));
  }

 private:
  int runs_ = 0;
};

TEST_P(Exactness, EveryDivisionOfTheBatchGivesTheSameGradients) {
  // Rounding alone: the same training on another number of threads lies as far away.
  const TensorMap expected = sums_of_gradients("cpu/t1");
  const double tolerance = GetParam().tolerance;
  EXPECT_LT(relative_distance(sums_of_gradients("2xcpu/t1"), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("3xcpu/t1", {"--shares", "2:1:3"}), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("cpu/t1+cpu/t1@0.25"), expected), tolerance);
  if (!GetParam().all) return;
  EXPECT_LT(relative_distance(sums_of_gradients("cpu/t2"), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("3xcpu/t1"), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("2xcpu/t1", {"--replicas", "threads"}), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("2xcpu/t1", {"--exchange", "always"}), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("2xcpu/t1", {"--clip-norm", "1e9"}), expected), tolerance);
  EXPECT_LT(relative_distance(sums_of_gradients("2xcpu/t1", {"--communication-dtype", "bf16"}), expected),
            std::max(tolerance, 0.01));  // bf16 has 8 significant bits: 2^-9 for each gradient
}

// What is measured: mlp 1e-7, resnet18 0.01, mobilenet_v2 0.05 to 0.1. A mean of means or batch-norm statistics of each
// share alone give 1 and more for the latter two.
INSTANTIATE_TEST_SUITE_P(Models, Exactness,
                         testing::Values(ExactCase{"mlp", "mlp:1280-64-9", 1e-5, true},
                                         ExactCase{"resnet18", "resnet18", 0.03, false},
                                         ExactCase{"mobilenet_v2", "mobilenet_v2", 0.2, true}),
                         [](const auto& info) { return info.param.name; });

TEST_F(Replicas, LocalBatchNormLearnsSomethingElseAndTheRecordSaysSo) {
  const Words options = {"resnet18", "--data", "synth:masks:60", "--size", "40x32",    "--batch", "10",
                         "--lr",     "1e-8",   "--momentum",     "0.9",    "--epochs", "1"};
  const fs::path one = trained("one", "cpu/t1", options);
  const fs::path two = trained("two", "2xcpu/t1", joined(options, {"--batch-norm", "local"}));
  EXPECT_GT(relative_distance(momentum(two), momentum(one)), 0.3);
  EXPECT_THAT(record_in(two)["notes"].dump(), HasSubstr("changes what is learnt (--batch-norm local)"));
}

/// A training of a few seconds. On torch; native_test.cpp has the other engine.
Words digits(const Words& more = {}) {
  Words words = {"mlp:784-32-10", "--data",  "synth:digits:400", "--batch",    "16",  "--epochs", "12",   "--lr",
                 "0.1",           "--split", "70/10/20",         "--momentum", "0.9", "--engine", "torch"};
  return joined(std::move(words), more);
}

/// The same, so long that it can be disturbed: augmentation takes its time.
Words long_run(const fs::path& out, const Words& more = {}) {
  Words words = {"train",     "resnet20", "--data", "synth:masks:90", "--size", "48x36",    "--batch",         "16",
                 "--epochs",  "8",        "--lr",   "0.001",          "--on",   "2xcpu/t1", "--oversubscribe", "--out",
                 out.string()};
  return joined(std::move(words), more);
}

TEST_F(Replicas, TheRecordSaysWhatEachDid) {
  const json record = record_in(trained("run", "2xcpu/t1", digits({"--shares", "3:1"})));
  const json& replicas = record["placement"]["replicas"];
  ASSERT_THAT(replicas, SizeIs(2));
  EXPECT_EQ(replicas[0]["samples"].get<int>() + replicas[1]["samples"].get<int>(), 280 * 12);
  EXPECT_NEAR(replicas[0]["share"].get<double>(), 0.75, 0.01);
  EXPECT_EQ(record["placement"]["divisions"], json::parse(R"([{"step": 0, "samples": [12, 4]}])"));
  EXPECT_GT(replicas[1]["busy_s"].get<double>(), 0);
  EXPECT_GT(record["phases_s"]["exchange"].get<double>(), 0);
  EXPECT_GT(record["phases_s"].value("spawn", 0.0), 0);
  EXPECT_THAT(record["memory"]["ranks"], SizeIs(2));
}

TEST_F(Replicas, UnequalOnesAreTimedAlsoWhereALayerSeesOnePixel) {
  // 32x32 images are one pixel to ResNet-18's last layers, whose batch-norm can't take a single image.
  const json record = record_in(trained("run", "cpu/t1+cpu/t1@0.5",
                                        {"resnet18", "--data", "synth:masks:40", "--size", "32x32", "--batch", "12",
                                         "--epochs", "1", "--split", "85/5/10"}));
  const json& replicas = record["placement"]["replicas"];
  EXPECT_EQ(replicas[0]["samples"].get<int>() + replicas[1]["samples"].get<int>(), record["data"]["split"]["train"]);
}

TEST_F(Replicas, ThreadsAndProcessesGiveTheSameBits) {
  const fs::path processes = trained("processes", "2xcpu/t1", digits());
  const fs::path threads = trained("threads", "2xcpu/t1", digits({"--replicas", "threads"}));
  EXPECT_EQ(last_weights(processes), last_weights(threads));
}

// The same sums go through the same kernels. With numbers of outputs that
// don't fill a vector.
TEST_F(Replicas, SharedWeightsAndExchangedGradientsGiveTheSameBits) {
  const fs::path shared = trained("shared", "2xcpu/t1", digits());
  const fs::path exchanged = trained("exchanged", "2xcpu/t1", digits({"--exchange", "always"}));
  EXPECT_EQ(last_weights(shared), last_weights(exchanged));
  EXPECT_EQ(momentum(shared), momentum(exchanged));
}

TEST_F(Replicas, AForcedExchangeOfOneChangesNothing) {
  const fs::path plain = trained("plain", "cpu/t1", digits());
  const fs::path always = trained("always", "cpu/t1", digits({"--exchange", "always"}));
  EXPECT_EQ(last_weights(plain), last_weights(always));
}

TEST_F(Replicas, AKilledOneIsNamedAndTheRunCanBeResumed) {
  const fs::path out = folder_ / "killed";
  {
    RunningProgram program(test::program_path(), long_run(out));
    ASSERT_TRUE(program.wait_for("epoch 3/8")) << program.err();
    const auto ranks = program.children();
    ASSERT_THAT(ranks, SizeIs(2));
    kill(ranks[1], SIGKILL);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("rank 1 (process " + std::to_string(ranks[1]) +
                                            ", cpu/t1) ended with signal 9 (Killed)"),
                                  HasSubstr("--resume goes on from the last checkpoint")));
    for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0) << "rank still runs";
  }
  ASSERT_EQ(run_program(long_run(out, {"--resume"})).exit_code, 0);
  ASSERT_EQ(run_program(long_run(folder_ / "whole")).exit_code, 0);
  EXPECT_EQ(last_weights(out), last_weights(folder_ / "whole"));
}

TEST_F(Replicas, ARestartEndsWithTheWeightsOfAnUndisturbedRun) {
  const fs::path out = folder_ / "restarted";
  RunningProgram program(test::program_path(), long_run(out, {"--restarts", "1"}));
  ASSERT_TRUE(program.wait_for("epoch 4/8")) << program.err();
  const auto ranks = program.children();
  ASSERT_THAT(ranks, SizeIs(2));
  kill(ranks[0], SIGKILL);  // the leading one: who watches them is another process
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("starting again from the last checkpoint"));
  ASSERT_EQ(run_program(long_run(folder_ / "whole")).exit_code, 0);
  EXPECT_EQ(last_weights(out), last_weights(folder_ / "whole"));
  const json record = record_in(out);
  EXPECT_THAT(record["epochs"], SizeIs(8));
  EXPECT_THAT(record["notes"].dump(), ContainsRegex("rank 0 .* ended with signal 9"));
  const json& sessions = record["sessions"];
  ASSERT_THAT(sessions, SizeIs(2));
  EXPECT_EQ(sessions[0]["status"], "killed");
  const auto sum = [&](const char* key) { return sessions[0][key].get<double>() + sessions[1][key].get<double>(); };
  EXPECT_DOUBLE_EQ(record["times_s"]["total"], sum("seconds"));
  EXPECT_DOUBLE_EQ(record["cpu"]["seconds"], sum("cpu_seconds"));
  EXPECT_GE(sum("epochs"), 8) << "what was lost with the rank and done again counts twice";
}

TEST_F(Replicas, AnElasticRunGoesOnWithTheOthers) {
  const fs::path out = folder_ / "elastic";
  RunningProgram program(test::program_path(), long_run(out, {"--elastic"}));
  ASSERT_TRUE(program.wait_for("epoch 3/8")) << program.err();
  const auto ranks = program.children();
  ASSERT_THAT(ranks, SizeIs(2));
  kill(ranks[0], SIGKILL);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("starting again from the last checkpoint without it"));
  const json record = record_in(out);
  EXPECT_THAT(record["epochs"], SizeIs(8));
  EXPECT_THAT(record["placement"]["replicas"], SizeIs(1));
  EXPECT_TRUE(record["images_per_s"].is_null()) << "of two replicas and of one";
  EXPECT_THAT(record["missing"]["images_per_s"].dump(), HasSubstr("with 2 replicas, 2xcpu/t1 with 1 replica"));
  EXPECT_THAT(record["memory"]["ranks"], SizeIs(1)) << "not those of the dead";
  EXPECT_EQ(record["config"]["batch"], 16);
}

TEST_F(Replicas, CtrlCSavesOnceAndResumeGivesTheSameWeights) {
  const fs::path out = folder_ / "stopped";
  {
    RunningProgram program(test::program_path(), long_run(out));
    ASSERT_TRUE(program.wait_for("epoch 2/8")) << program.err();
    program.send_to_group(SIGINT);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("evener train --resume " + out.string() + " goes on"));
  }
  EXPECT_EQ(record_in(out)["status"], "interrupted");
  ASSERT_EQ(run_program(long_run(out, {"--resume"})).exit_code, 0);
  ASSERT_EQ(run_program(long_run(folder_ / "whole")).exit_code, 0);
  EXPECT_EQ(last_weights(out), last_weights(folder_ / "whole"));
}

TEST_F(Replicas, ATimeLimitSavesAsCtrlCDoes) {
  const fs::path out = folder_ / "stopped";
  RunningProgram program(test::program_path(), long_run(out));
  ASSERT_TRUE(program.wait_for("epoch 2/8")) << program.err();
  program.send(SIGTERM);  // as timeout does
  program.send_to_group(SIGTERM);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.err;
  EXPECT_EQ(record_in(out)["status"], "interrupted");
}

TEST_F(Replicas, BeforeTheFirstCheckpointNobodyIsSentToOne) {
  for (const std::string restarts : {"0", "1"}) {
    RunningProgram program(test::program_path(), long_run(folder_ / ("lost" + restarts), {"--restarts", restarts}));
    ASSERT_TRUE(program.wait_for("images to train on")) << program.err();
    std::vector<pid_t> ranks;
    while (ranks.size() < 2 && program.err().find("epoch") == std::string::npos) ranks = program.children();
    ASSERT_THAT(ranks, SizeIs(2));
    kill(ranks[1], SIGKILL);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, restarts == "0" ? 1 : 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(restarts == "0" ? "Nothing was saved yet" : "starting again from the beginning"));
  }
}

TEST_F(Replicas, FewerThanAskedForIsInTheRecord) {
  const fs::path out = folder_ / "run";
  const std::string on = std::to_string(usable_cpus() + 1) + "xcpu/t1";
  ASSERT_EQ(run_program(joined({"train"}, digits({"--on", on, "--out", out.string()}))).exit_code, 0);
  const json record = record_in(out);
  EXPECT_THAT(record["placement"]["replicas"], SizeIs(usable_cpus()));
  EXPECT_THAT(record["fallbacks"].dump(), HasSubstr("of " + std::to_string(usable_cpus() + 1) + " replicas"));
  EXPECT_EQ(record["validity"]["valid"], false);
}

TEST_F(Replicas, OnSharesOfTheirOwnBatchNormSeesNoSingleValue) {
  // The last batch of an epoch has three images, of one pixel each in the last layers.
  const Words words = {"--data", "synth:masks:35", "--size", "32x32", "--batch", "16", "--split", "100/0"};
  trained("run", "2xcpu/t1", joined({"resnet18", "--epochs", "1", "--batch-norm", "local"}, words));
}

TEST_F(Replicas, ADivergingRunSaysSo) {
  const Words words = digits({"--on", "2xcpu/t1", "--out", (folder_ / "run").string(), "--lr", "1e30"});
  const ProgramResult result = run_program(joined({"train"}, words));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the loss is not finite"));
  EXPECT_EQ(record_in(folder_ / "run")["status"], "diverged");
}

TEST_F(Replicas, WhatCannotBeIsSaidBeforeTheWork) {
  const auto error_of = [&](const Words& more) {
    const ProgramResult result = run_in_process(joined({"train"}, digits(more)));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(error_of({"--on", "2xcpu/t1", "--shares", "1:2:3"}), HasSubstr("3 weights"));
  EXPECT_THAT(error_of({"--replicas", "thread"}), HasSubstr("did you mean 'threads'?"));
  EXPECT_THAT(error_of({"--exchange", "allways"}), HasSubstr("did you mean 'always'?"));
  EXPECT_THAT(error_of({"--batch-norm", "sync"}), HasSubstr("synchronised"));
  EXPECT_THAT(error_of({"--restarts", "-1"}), HasSubstr("--restarts"));
}

}  // namespace
}  // namespace evener
