// The program on made-up CUDA cards: what it finds, trains on, and says when their memory ends.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/module.h"
#include "support/run_program.h"

namespace evener::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

class ProgramOnMadeUpCards : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* module : {"native", "native_cuda"}) {
      if (module_status(module).state == ModuleState::kNotBuilt) GTEST_SKIP() << module << " is not built";
    }
  }

  static ProgramResult run(const Words& words, std::map<std::string, std::string> environment = {}) {
    ProgramOptions options;
    environment.emplace("MADE_UP_CARDS", "2");
    environment.emplace("LD_LIBRARY_PATH", EVENER_MADE_UP_CUDA);
    // LeakSanitizer's own tracer has crashed at the end of such a program, at times whose cause isn't known. Tests of
    // the cards themselves do look for leaks.
    environment.emplace("LSAN_OPTIONS", "detect_leaks=0");
    options.environment = std::move(environment);
    return run_program(words, options);
  }

  /// A training's record.
  nlohmann::json train(const std::string& name, const Words& more, const std::string& epochs = "2") {
    const std::string folder = (folder_ / name).string(), record = (folder_ / (name + ".json")).string();
    Words words = {"train",    "mlp:784-48-10", "--data",  "synth:digits:400", "--split", "70/30/0",  "--batch",
                   "32",       "--lr",          "0.1",     "--momentum",       "0.9",     "--engine", "native",
                   "--epochs", epochs,          "--quiet", "--overwrite",      "--out",   folder,     "--json",
                   record};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = run(words);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 3) << result.err;
    std::ifstream in(record);
    return in ? nlohmann::json::parse(in) : nlohmann::json();
  }
  std::string weights(const std::string& name) {
    std::ifstream in(folder_ / name / "last.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TestFolder folder_;
};

TEST_F(ProgramOnMadeUpCards, DoctorKnowsThem) {
  const ProgramResult both = run({"doctor"});
  EXPECT_THAT(both.out, AllOf(ContainsRegex("cuda:0 +Made-up card 0, 4\\.29 GB, compute capability 9\\.0, CUDA 13\\.0"),
                              ContainsRegex("cuda:1 +Made-up card 1")));
  const ProgramResult second = run({"doctor"}, {{"CUDA_VISIBLE_DEVICES", "1"}});
  EXPECT_THAT(second.out, AllOf(ContainsRegex("cuda:0 +Made-up card 1"), Not(HasSubstr("cuda:1"))));
  EXPECT_THAT(run({"doctor"}, {{"CUDA_VISIBLE_DEVICES", ""}}).out, HasSubstr("cuInit says CUDA_ERROR_NO_DEVICE"));
  EXPECT_THAT(run({"doctor"}, {{"MADE_UP_DRIVER_VERSION", "12090"}}).out, HasSubstr("its driver knows CUDA 12.9"));
  EXPECT_THAT(run({"doctor"}, {{"MADE_UP_CAPABILITY", "70"}}).out, HasSubstr("its compute capability is 7.0"));
}

TEST_F(ProgramOnMadeUpCards, TrainsAsTheCpuDoes) {
  const nlohmann::json card = train("card", {"--on", "cuda:1"}), cpu = train("cpu", {"--on", "cpu/t1"});
  ASSERT_TRUE(card.is_object() && cpu.is_object());
  EXPECT_EQ(card["gpus"][0]["name"], "Made-up card 1");
  EXPECT_GT(card["gpus"][0]["peak_memory_bytes"], 0);
  for (const int epoch : {0, 1}) {
    const double expected = cpu["epochs"][epoch]["train_loss"];
    EXPECT_NEAR(card["epochs"][epoch]["train_loss"].get<double>(), expected, 1e-4 * expected);
  }
  EXPECT_EQ(card["accuracy"]["val"], cpu["accuracy"]["val"]);
}

TEST_F(ProgramOnMadeUpCards, GraphsResidentDataAndResumedRunsComeToTheSameWeights) {
  train("whole", {"--on", "cuda:0"});
  train("kernels", {"--on", "cuda:0", "--step-graph", "off"});
  train("resident", {"--on", "cuda:0", "--data-on", "device"});
  train("half", {"--on", "cuda:0"}, "1");
  const ProgramResult resumed = run({"train", "--resume", (folder_ / "half").string(), "--epochs", "2", "--quiet"});
  EXPECT_TRUE(resumed.exit_code == 0 || resumed.exit_code == 3) << resumed.err;
  ASSERT_FALSE(weights("whole").empty());
  EXPECT_TRUE(weights("kernels") == weights("whole"));
  EXPECT_TRUE(weights("resident") == weights("whole"));
  EXPECT_TRUE(weights("half") == weights("whole"));
}

TEST_F(ProgramOnMadeUpCards, TwoOfThemAndTheCpuTrainTogether) {
  const nlohmann::json alone = train("alone", {"--on", "cuda:0"}, "1");
  ASSERT_TRUE(alone.is_object());
  for (const Words& on : {Words{"--on", "cuda:0+cuda:1"}, Words{"--on", "cuda:0+cpu/t1", "--replicas", "threads"}}) {
    SCOPED_TRACE(on[1]);
    const nlohmann::json together = train("together", on, "1");
    ASSERT_TRUE(together.is_object());
    const double expected = alone["epochs"][0]["train_loss"];
    EXPECT_NEAR(together["epochs"][0]["train_loss"].get<double>(), expected, 1e-3 * expected);
  }
}

TEST_F(ProgramOnMadeUpCards, MultipliesMatrices) {
  const ProgramResult result = run({"matmul", "100", "--on", "cuda:0", "--engine", "native"});
  EXPECT_THAT(result.out, HasSubstr("right: rows differ by")) << result.err;
}

TEST_F(ProgramOnMadeUpCards, SaysWhatDoesNotFitIntoTheirMemory) {
  const Words words = {"train", "mlp:784-48-10", "--data", "synth:digits:400",         "--engine", "native",
                       "--on",  "cuda:0",        "--out",  (folder_ / "full").string()};
  const auto with = [&](const char* bytes, Words more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run(more, {{"MADE_UP_MEMORY_BYTES", bytes}});
  };
  const ProgramResult large = with("1500000", {"--batch", "300"});
  EXPECT_EQ(large.exit_code, 1) << large.out;
  EXPECT_THAT(large.err, AllOf(HasSubstr("a batch of 300 images takes"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"),
                               HasSubstr("use a smaller --batch")));
  const ProgramResult resident = with("1000000", {"--batch", "8", "--data-on", "device"});
  EXPECT_THAT(resident.err, AllOf(HasSubstr("--data-on device: the images take"), HasSubstr("use --data-on host")));
}

}  // namespace
}  // namespace evener::test
