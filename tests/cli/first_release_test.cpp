// Folders that the first release left (tests/golden/first_release) are reported, compared, run and resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "cli/in_process_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string first_release(const std::string& name) {
  return (source_folder() / "tests/golden/first_release" / name).string();
}

TEST(FirstRelease, ItsRunIsReported) {
  const ProgramResult result = run_in_process({"report", first_release("digits"), "--no-html"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mlp:784-4-10"), HasSubstr("556,000"), HasSubstr("54.4 %")));
}

TEST(FirstRelease, ItsRunsAreCompared) {
  const ProgramResult result = run_in_process({"compare", first_release("digits"), first_release("interrupted")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("trained 3 epochs of synth:digits:1200"), HasSubstr("was interrupted")));
}

TEST(FirstRelease, ItsSweepIsReported) {
  const ProgramResult result = run_in_process({"report", first_release("sweep"), "--no-html", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["schema"], "evener-sweep-report-1");
  EXPECT_EQ(report["cells"].size(), 2U);
}

TEST(FirstRelease, ItsWeightsPredict) {
  if (!module_is_built("openvino") && !module_is_built("torch")) GTEST_SKIP() << "no engine for inference is built";
  const ProgramResult result = run_in_process(
      {"infer", first_release("digits"), "synth:digits:200", "--split", "0/0/100", "--on", "cpu/t1", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json accuracy = json::parse(result.out)["metrics"]["accuracy"];
  EXPECT_EQ(accuracy["of_images"], 200);
  EXPECT_NEAR(accuracy["value"], 0.63, 0.011);  // two images more or less, for rounding
}

TEST(FirstRelease, ItsTrainingGoesOnWithinTheThirdEpoch) {
  if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  const TestFolder folder;
  const fs::path run = folder / "run";
  fs::copy(first_release("interrupted"), run, fs::copy_options::recursive);
  const ProgramResult resumed = run_in_process({"train", "--resume", run.string(), "--epochs", "3"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const json record = record_in(run);
  ASSERT_EQ(record["epochs"].size(), 3U);
  EXPECT_EQ(record["epochs"][1]["val_accuracy"], 0.1975);
  EXPECT_EQ(record["epochs"][1]["images_per_s"], 19132.85279927829);
  EXPECT_EQ(record["sessions"][1]["epochs"], 1);
  EXPECT_EQ(record["sessions"][1]["images"], 34000 - 2 * 338);
}

}  // namespace
}  // namespace evener::test
