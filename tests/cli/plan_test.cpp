// evener plan and --on auto as a user meets them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "cli/in_process_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::run_in_process;
using test::run_program;
using testing::HasSubstr;

using Words = std::vector<std::string>;

class PlanCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }
  Words plan(const Words& more) const {
    Words words = {"plan", "mlp:784-32-10", "--data",   "synth:digits:400", "--batch",
                   "16",   "--split",       "70/10/20", "--seconds",        "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  test::TemporaryFolder folder_;
};

TEST_F(PlanCommand, ComparesPlacementsAndLeavesNothingBehind) {
  const auto result = run_program(plan({"--on", "cpu/t1,2xcpu/t1,opencl:77", "--json", "-"}), {{}, folder_.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  ASSERT_EQ(comparison.at("placements").size(), 3U);
  for (std::size_t i : {0, 1}) {
    const json& row = comparison["placements"][i];
    EXPECT_GT(row.at("images_per_s"), 0) << row;
    EXPECT_GT(row.at("epoch_s"), row.at("train_s")) << row;
    EXPECT_GT(row.at("memory_bytes"), 784 * 32 * 4) << row;
    EXPECT_EQ(row.at("ceiling").is_null(), row.at("placement") == "cpu/t1") << row;
  }
  EXPECT_EQ(comparison["placements"][2].at("placement"), "opencl:77");
  EXPECT_THAT(comparison["placements"][2].at("refusal"), HasSubstr("opencl:77"));
  EXPECT_THAT((Words{"cpu/t1", "2xcpu/t1"}), testing::Contains(comparison.at("choice").get<std::string>()));
  EXPECT_THAT(comparison.at("reason").get<std::string>(), HasSubstr(comparison["choice"].get<std::string>()));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(PlanCommand, PrintsATable) {
  const auto result = run_program(plan({"--on", "cpu/t1", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("mlp:784-32-10, 10 classes, 1x28x28: 280 images to train on"));
  EXPECT_THAT(result.out, HasSubstr("cpu/t1 is the only one that can be used"));
}

// A processor whose idle power is not stated always draws the same, whatever else runs here.
TEST_F(PlanCommand, StatedPowersBecomeJoulesOfAnImage) {
  Words words = plan({"--on", "cpu/t1", "--for", "energy", "--assume-power", "cpu=40W", "--json", "-"});
  *(std::ranges::find(words, "--seconds") + 1) = "4";
  const auto result = run_program(words, {{}, folder_.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json row = json::parse(result.out).at("placements").at(0);
  ASSERT_TRUE(row.at("power").is_object()) << row;
  EXPECT_NEAR(row["power"].at("watts").get<double>(), 40, 2);
  EXPECT_EQ(row["power"].at("class"), "estimated");
  EXPECT_NEAR(row.at("joules_per_image").get<double>() * row.at("images_per_s").get<double>(), 40, 2);
}

// 36,000 epochs of 280 images in 0.6 s: 17 million images a second are more than anything has.
TEST_F(PlanCommand, ATrainingThatNothingEndsInTimeIsNotBegun) {
  const Words words = {"train",          "mlp:784-32-10",
                       "--data",         "synth:digits:400",
                       "--batch",        "16",
                       "--split",        "70/10/20",
                       "--epochs",       "36000",
                       "--deadline",     "0.01",
                       "--plan-seconds", "1",
                       "--out",          (folder_ / "run").string()};
  const auto result = run_program(words, {{}, folder_.path()});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("nothing ends within 600 ms: the nearest is "));
  EXPECT_FALSE(fs::exists(folder_ / "run/record.json"));
}

TEST_F(PlanCommand, RefusesBadCandidatesBeforeMeasuring) {
  const auto misspelt = run_in_process(plan({"--on", "cpu/t1,cdua:0"}));
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'cuda'?"));
  const auto none = run_in_process(plan({"--on", "opencl:77"}));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("none of the placements can be used"));
  const auto seconds = run_in_process(plan({"--seconds", "0"}));
  EXPECT_EQ(seconds.exit_code, 2);
  EXPECT_THAT(seconds.err, HasSubstr("--seconds is 0"));
  EXPECT_THAT(run_in_process(plan({"--batch", "max"})).err, HasSubstr("give --batch a number"));
  EXPECT_EQ(run_in_process(plan({"--hosts", "a,b"})).exit_code, 2);
}

TEST_F(PlanCommand, EndsAtCtrlC) {
  test::RunningProgram program(test::program_path(), plan({"--seconds", "60", "--on", "2xcpu/t1"}));
  ASSERT_TRUE(program.wait_for("trying 2xcpu/t1"));
  program.send(SIGINT);
  const auto result = program.finish();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted while placements were tried out"));
}

TEST_F(PlanCommand, AutoTrainsOnWhatItChoseAndRecordsWhy) {
  const fs::path out = folder_ / "run";
  const auto result = run_program({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto",
                                   "--plan-seconds", "1", "--epochs", "2", "--out", out.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream file(out / "record.json");
  const json record = json::parse(file);
  EXPECT_EQ(record.at("config").at("on"), "auto");
  const std::string chosen = record.at("placement").at("text");
  EXPECT_THAT(chosen, HasSubstr("cpu/t"));
  EXPECT_EQ(record.at("placement").at("replicas").size(), chosen.starts_with("cpu") ? 1U : std::stoul(chosen));
  ASSERT_FALSE(record.at("notes").empty());
  EXPECT_THAT(record["notes"].dump(), HasSubstr("--on auto: " + chosen + " is "));
  EXPECT_THAT(result.err, HasSubstr("--on auto: " + chosen + " is "));
  EXPECT_EQ(record.at("epochs").size(), 2U);
}

TEST_F(PlanCommand, AutoIsNotForDryRunsAndEvaluations) {
  const auto dry =
      run_in_process({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 2);
  EXPECT_THAT(dry.err, HasSubstr("evener plan"));
  const auto evaluation = run_in_process({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto",
                                          "--epochs", "0", "--weights", "w.safetensors"});
  EXPECT_EQ(evaluation.exit_code, 2);
  EXPECT_THAT(evaluation.err, HasSubstr("--epochs 0"));
}

}  // namespace
}  // namespace evener
