// evener demo as a user runs it and stops it; its whole length is too long for a test.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/built_modules.h"
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
  const auto begun = folder_ / "demo/probe-cpu-t1/samples.csv";
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
  EXPECT_THAT(result.err, HasSubstr("the demo was interrupted at resnet20 on cpu/t1"));
  EXPECT_EQ(file_count(out()), 0);
}

TEST_F(DemoCommand, ShowsWhyARunFailed) {
  write_text(out(), "a file where the folder should be");
  const ProgramResult result = run_program({"demo", "--minutes", "0.2", "--out", out()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("demo/probe-cpu-t1"));  // the run's own message
  EXPECT_THAT(result.err,
              HasSubstr("the demo's run of resnet20 on cpu/t1 ended with exit code 1; its message is above"));
  const ProgramResult too_short = run_program({"demo", "--minutes", "0.1", "--out", out()});
  EXPECT_THAT(too_short.err, HasSubstr("--minutes is 0.1; it has to be from 0.2 to 1440"));
}

}  // namespace
}  // namespace evener::test
