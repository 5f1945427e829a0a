// evener train --engine native as a user runs it: every way of computing learns the same.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::relative_distance;
using test::run_in_process;
using test::run_program;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

class NativeCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }

  Words words(const std::string& name, const Words& more) const {
    Words words = {"train",          "mlp:784-32-10",
                   "--data",         "synth:digits:400",
                   "--batch",        "16",
                   "--split",        "70/10/20",
                   "--momentum",     "0.9",
                   "--lr",           "0.1",
                   "--engine",       "native",
                   "--out",          (folder_ / name).string(),
                   "--oversubscribe"};
    return joined(std::move(words), more);
  }

  json run(const std::string& name, const Words& more) const {
    const ProgramResult result = run_program(words(name, more));
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    return record_in(folder_ / name);
  }

  TensorMap last_weights(const std::string& name) const { return test::last_weights(folder_ / name); }

  test::TemporaryFolder folder_;
};

TEST_F(NativeCommand, ThreadsAndReplicasLearnWhatOneThreadOfPlainLoopsLearns) {
  const json expected = run("naive", {"--on", "cpu/t1", "--kernels", "naive", "--epochs", "2"});
  EXPECT_EQ(expected["engine"], "native");
  EXPECT_EQ(expected["config"]["kernels"], "naive");
  EXPECT_TRUE(expected["versions"].contains("native"));
  EXPECT_GT(expected["accuracy"]["test"].get<double>(), 0.5);
  const std::vector<std::pair<std::string, Words>> ways = {
      {"one", {"--on", "cpu/t1"}},
      {"two", {"--on", "cpu/t2"}},
      {"processes", {"--on", "2xcpu/t1"}},
      {"unequal", {"--on", "cpu/t1+cpu/t1", "--shares", "3:1"}},
      {"threads", {"--on", "2xcpu/t1", "--replicas", "threads"}},
      {"exchanged", {"--on", "2xcpu/t1", "--exchange", "always"}},  // by all-reduce, with copies of the weights
      {"parts", {"--on", "2xcpu/t1", "--accumulate", "3"}},
      {"naive_processes", {"--on", "3xcpu/t1", "--kernels", "naive"}},
  };
  for (const auto& [name, options] : ways) {
    const json record = run(name, joined(options, {"--epochs", "2"}));
    for (std::size_t e = 0; e < 2; ++e) {
      const double loss = expected["epochs"][e]["train_loss"];
      EXPECT_NEAR(record["epochs"][e]["train_loss"].get<double>(), loss, 1e-5 * loss) << name;
    }
    // 36 steps of rounding in another order; seen: 1e-6.
    EXPECT_LT(relative_distance(last_weights(name), last_weights("naive")), 2e-5) << name;
  }
  // Those who compute a step together sum in the same order.
  for (const char* name : {"two", "processes", "unequal", "threads"}) {
    EXPECT_EQ(last_weights(name), last_weights("one")) << name;
  }
}

TEST_F(NativeCommand, ReplicasThatShareTheirWeightsResumeBitEqually) {
  const Words placement = {"--on", "2xcpu/t1", "--weight-decay", "0.001"};
  run("whole", joined(placement, {"--epochs", "4"}));
  run("halves", joined(placement, {"--epochs", "2"}));
  run("halves", joined(placement, {"--epochs", "4", "--resume"}));
  EXPECT_EQ(last_weights("halves"), last_weights("whole"));
}

TEST_F(NativeCommand, AutoTakesItForPerceptronsOnCpus) {
  for (const char* on : {"cpu/t1", "2xcpu/t1"}) {
    const ProgramResult result = run_program(words(on, {"--engine", "auto", "--on", on, "--epochs", "1"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("engine native (a perceptron on CPUs)"));
    const json record = record_in(folder_ / on);
    EXPECT_EQ(record["engine"], "native");
    EXPECT_EQ(record["config"]["engine"], "native");
    EXPECT_EQ(record["config"]["loader-threads"], 0);
  }
  EXPECT_EQ(run("augmented", {"--engine", "auto", "--augment", "flip", "--epochs", "1"})["config"]["loader-threads"],
            1);
}

TEST_F(NativeCommand, AutoGoesOnWithTheEngineOfTheRun) {
  if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  for (const char* engine : {"torch", "native"}) {
    const std::string whole = std::string("whole-") + engine, halves = std::string("halves-") + engine;
    run(whole, {"--engine", engine, "--on", "cpu/t1", "--epochs", "4"});
    run(halves, {"--engine", engine, "--on", "cpu/t1", "--epochs", "2"});
    const json record = run(halves, {"--engine", "auto", "--on", "cpu/t1", "--epochs", "4", "--resume"});
    EXPECT_EQ(record["engine"], engine);
    EXPECT_EQ(last_weights(halves), last_weights(whole)) << engine;
  }
  EXPECT_NE(last_weights("whole-torch"), last_weights("whole-native"));
  // Asked for, the other engine goes on too.
  EXPECT_EQ(run("halves-torch", {"--engine", "native", "--epochs", "5", "--resume"})["engine"], "native");
}

TEST_F(NativeCommand, MoreThreadsThanCpusAreNotStartedAndTheRecordSaysSo) {
  const json record = run("many", {"--on", "cpu/t1000", "--epochs", "1"});
  EXPECT_THAT(record["fallbacks"].dump(), HasSubstr("there are no more CPUs here"));
}

TEST_F(NativeCommand, ADivergingRateEndsNamingTheStep) {
  for (const char* on : {"cpu/t1", "2xcpu/t1"}) {
    const ProgramResult result = run_program(words(on, {"--on", on, "--lr", "1e30", "--epochs", "2"}));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("the loss is not finite in epoch 1, step "), HasSubstr("--lr"))) << on;
  }
}

TEST_F(NativeCommand, RefusesOtherNetworksBeforeAnyWork) {
  const ProgramResult result = run_in_process({"train", "resnet18", "--data", "synth:digits:40", "--engine", "native",
                                               "--out", (folder_ / "refused").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("'conv1' (conv2d)"), HasSubstr("--engine torch")));
  EXPECT_FALSE(fs::exists(folder_ / "refused" / "last.safetensors"));
}

TEST_F(NativeCommand, NaiveKernelsAreNeverReplacedByTorch) {
  const auto refused = [&](const Words& more) {
    const ProgramResult result =
        run_in_process(words("refused", joined({"--engine", "auto", "--kernels", "naive"}, more)));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_FALSE(fs::exists(folder_ / "refused"));
    return result.err;
  };
  EXPECT_THAT(refused({"--precision", "bf16"}), HasSubstr("--kernels naive computes in fp32 only"));
  EXPECT_THAT(refused({"--optimizer", "adamw", "--momentum", "0"}), HasSubstr("has the optimiser sgd"));
  EXPECT_THAT(refused({"--engine", "torch"}), HasSubstr("plain loops of the native engine"));
  EXPECT_EQ(run("naive", {"--engine", "auto", "--kernels", "naive", "--epochs", "1"})["engine"], "native");
}

TEST_F(NativeCommand, OffersTheNearestName) {
  const ProgramResult result = run_in_process(words("x", {"--kernels", "naiv"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'naive'"));
}

}  // namespace
}  // namespace evener
