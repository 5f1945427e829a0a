// evener demo as a user runs it and stops it; its whole length is too long for a test.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/built_modules.h"
#include "base/cpu.h"
#include "base/files.h"
#include "cli/run_program.h"

namespace evener::test {
namespace {

using ::testing::HasSubstr;

class DemoCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }
  std::string out() const { return (folder_ / "demo").string(); }

  TemporaryFolder folder_;
};

TEST_F(DemoCommand, PassesAStopOnToTheRunUnderWay) {
  RunningProgram program(program_path(), {"demo", "--out", out(), "--seed", "7"});
  const auto begun = folder_ / "demo/probe/samples.csv";
  for (int i = 0; i < 5000 && !std::filesystem::exists(begun); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(std::filesystem::exists(begun)) << program.err();
  const std::vector<pid_t> runs = program.children();
  ASSERT_FALSE(runs.empty());
  std::string words = read_file("/proc/" + std::to_string(runs.front()) + "/cmdline");
  std::ranges::replace(words, '\0', ' ');
  EXPECT_THAT(words, HasSubstr(" --seed 7 ")) << "its runs have its seed";
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the demo was interrupted at mlp:784-256-10 on cpu/t1"));
  EXPECT_EQ(file_count(out()), 0);
}

TEST_F(DemoCommand, SaysWhatIsInItsWay) {
  write_text(out(), "a file where the folder should be");
  const ProgramResult result = run_program({"demo", "--minutes", "0.2", "--out", out()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("demo is no folder; give another --out"));
  const auto kept = folder_ / "mine/int8/quantized.safetensors";
  std::filesystem::create_directories(kept.parent_path());
  write_text(kept, "a network of somebody's");
  const ProgramResult of_others = run_program({"demo", "--minutes", "0.2", "--out", (folder_ / "mine").string()});
  EXPECT_EQ(of_others.exit_code, 2);
  EXPECT_THAT(of_others.err, HasSubstr("has a folder 'int8', which is not an earlier demo's; give another --out"));
  EXPECT_TRUE(std::filesystem::exists(kept));
  const ProgramResult too_short = run_program({"demo", "--minutes", "0.1", "--out", out()});
  EXPECT_THAT(too_short.err, HasSubstr("--minutes is 0.1; it has to be from 0.2 to 1440"));
}

// However little time it is given, and where an earlier demo left its runs.
TEST_F(DemoCommand, ShowsEveryKindOfWayOnOnePage) {
  std::filesystem::create_directories(folder_ / "demo/resnet/old");
  write_text(folder_ / "demo/perceptron.toml", "# Written by 'evener demo', once");
  const ProgramResult result = run_program(
      {"demo", "--minutes", "0.2", "--out", out()},
      {.environment = {}, .timeout_s = 900 * kSlowdown});  // beside other tests, and with each way in two precisions
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string html = read_file(folder_ / "demo/report.html");
  for (const char* title : {"One machine, every way", "A perceptron in every way", "A residual network in every way",
                            "OpenMP, 4 threads"}) {
    EXPECT_THAT(html, HasSubstr(title));
  }
  if (usable_cores() > 1) {
    EXPECT_THAT(result.out, HasSubstr("cpu/t1+cpu/t1@0.5"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "demo/resnet/old"));
  if (module_is_built("openvino")) {
    EXPECT_THAT(result.out, HasSubstr("What was trained, in each precision"));
  }
}

}  // namespace
}  // namespace evener::test
