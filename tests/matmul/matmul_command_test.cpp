// evener matmul as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class MatmulCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }

  static ProgramResult matmul(const Words& words) {
    return run_program(joined({"matmul", "96", "--engine", "native", "--seconds", "0"}, words));
  }

  TemporaryFolder folder_;
};

TEST_F(MatmulCommand, TellsWhatItFoundAndKeepsARecord) {
  const std::string out = (folder_ / "run").string();
  const ProgramResult result = matmul({"--on", "cpu/t1", "--out", out});
  // 3: other work on this machine makes the times no measurement.
  ASSERT_TRUE(result.exit_code == 0 || result.exit_code == 3) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("96 x 96, fp32"), HasSubstr("GFLOP/s"), HasSubstr("right: rows differ by"),
                                HasSubstr("our own kernels"), HasSubstr(out)));
  const json record = json::parse(std::ifstream(out + "/record.json"));
  EXPECT_EQ(record["kind"], "matmul");
  EXPECT_EQ(record["validity"]["valid"], result.exit_code == 0);
  EXPECT_EQ(record["config"]["n"], 96);
  EXPECT_EQ(record["engine"], "native");
  const json& speed = record["metrics"]["gflops"];
  EXPECT_GT(speed["value"], 0);
  EXPECT_EQ(speed["unit"], "GFLOP/s");
  EXPECT_EQ(speed["samples"].size(), 10U);
  EXPECT_EQ(speed["interval_95"].size(), 2U);
  EXPECT_GT(record["metrics"]["peak_share"]["value"], 0);
  EXPECT_TRUE(record["metrics"]["h2d_s"]["value"].is_null());
  EXPECT_THAT(record["metrics"]["h2d_s"]["reason"].get<std::string>(), HasSubstr("where the matrices lie"));
  EXPECT_LE(record["metrics"]["check_difference_of_allowed"]["value"], 1);
  const ProgramResult report = run_program({"report", out});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("GFLOP/s"));
  EXPECT_EQ(matmul({"--on", "cpu/t1", "--out", out}).exit_code, 2) << "the folder has a run";
}

TEST_F(MatmulCommand, TellsDevicesApart) {
  const ProgramResult result = matmul({"--on", "cpu/t1+cpu/t1", "--json", "-", "--repeats", "2"});
  ASSERT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;  // times beside other programs are INVALID
  const json record = json::parse(result.out);
  EXPECT_TRUE(record["metrics"].contains("gflops_cpu"));
  EXPECT_TRUE(record["metrics"].contains("gflops_cpu_2"));
  EXPECT_TRUE(record["metrics"]["gflops_cpu"]["interval_95"].is_null()) << "two samples have none";
}

TEST_F(MatmulCommand, RefusesWhatItCanNotMeasure) {
  const std::vector<std::pair<Words, const char*>> refused = {
      {{"--on", "auto"}, "name them"},       {{"--on", "cpu@0.5"}, "leave @ out"},
      {{"--on", "cpu/t1..cpu/t1"}, "use +"}, {{"--precision", "int8"}, "precision"},
      {{"--repeats", "0"}, "repeats"},       {{"--engine", "openvino"}, "engine"},
      {{"--on", "opencl:99"}, "opencl:99"},
  };
  for (const auto& [words, text] : refused) {
    const ProgramResult result = matmul(words);
    EXPECT_EQ(result.exit_code, 2) << words.back();
    EXPECT_THAT(result.err, HasSubstr(text));
  }
  const ProgramResult large = run_in_process({"matmul", "1000000", "--engine", "native"});
  EXPECT_EQ(large.exit_code, 1);
  EXPECT_THAT(large.err, AllOf(HasSubstr("12 TB"), HasSubstr("N = ")));
}

TEST_F(MatmulCommand, EndsInGoodOrder) {
  const std::string out = (folder_ / "run").string();
  RunningProgram program(program_path(), {"matmul", "64", "--engine", "native", "--seconds", "1000", "--out", out});
  ASSERT_TRUE(program.wait_for("our own kernels")) << program.err();
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted after"));
  EXPECT_EQ(json::parse(std::ifstream(out + "/record.json"))["status"], "interrupted");
}

}  // namespace
}  // namespace evener::test
