// evener demo as a user runs it and stops it; its whole length is too long for a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/built_modules.h"
#include "base/cpu.h"
#include "base/files.h"
#include "base/paths.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "support/run_program.h"
#include "sweep/figures/reference.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
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
  for (int i = 0; i < 20000 && !std::filesystem::exists(begun); ++i) {
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

// Every file in experiments/ is one that evener sweep takes.

std::vector<fs::path> experiment_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source_folder() / "experiments")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  return files;
}

TEST(Experiments, AreWhatSweepTakesAtEachScale) {
  const TemporaryFolder folder;  // nothing may be written into the source
  const std::vector<fs::path> files = experiment_files();
  ASSERT_GE(files.size(), 19U);
  for (const fs::path& file : files) {
    for (const Words& scale : {Words{}, Words{"--scale", "small"}}) {
      const ProgramResult result = run_in_process(joined({"sweep", file.string(), "--dry-run"}, scale),
                                                  {.environment = {}, .cwd = folder.path()});
      EXPECT_EQ(result.exit_code, 0) << file << ": " << result.err;
      EXPECT_THAT(result.out, testing::HasSubstr("0 runs done")) << file;
    }
  }
}

/// What experiments/run-all says and its exit code, with a program in evener's place that does nothing but what the
/// shell's words say where sweeps would run.
std::pair<std::string, int> run_all_with(const std::string& words, const fs::path& folder) {
  const fs::path program = folder / "program";
  write_file_atomically(program, "#!/bin/bash\n[ $1 = sweep ] || exit 0\n" + words + "\n");
  fs::permissions(program, fs::perms::owner_all);
  const std::string command = "EVENER='" + program.string() + "' '" +
                              (source_folder() / "experiments/run-all").string() + "' '" + (folder / "out").string() +
                              "' > '" + (folder / "said").string() + "' 2>&1";
  fs::create_directories(folder / "out");
  const int status = std::system(command.c_str());
  return {read_file(folder / "said"), WEXITSTATUS(status)};
}

TEST(RunAll, TellsOfDownloadsBeforeAndGoesOnWithoutThem) {
  const TemporaryFolder folder;
  const std::string makes_record = "mkdir -p $4; touch $4/sweep.json";
  const auto [said, code] = run_all_with("case $2 in */000*) exit 1;; esac; " + makes_record, folder.path());
  EXPECT_EQ(code, 0) << said;
  EXPECT_LT(said.find("000-faces-workers downloads what it needs"), said.find("== 000-faces-workers"));
  EXPECT_THAT(said, testing::AllOf(testing::HasSubstr("== 004-resolutions"),
                                   testing::HasSubstr("could not be downloaded: 000-faces-workers\n")));
  fs::remove_all(folder.path() / "out");
  const auto [told, other] = run_all_with("case $2 in */002-ways*) exit 1;; esac; " + makes_record, folder.path());
  EXPECT_EQ(other, 1);
  EXPECT_THAT(told, testing::HasSubstr("failed: 002-ways\n"));
}

TEST(RunAll, HelpRunsNothing) {
  const TemporaryFolder folder;
  const std::string program = (source_folder() / "experiments/run-all").string();
  for (const char* words : {"--help", "out --help", "-x"}) {
    const std::string said = (folder.path() / "said").string();
    const int status = std::system(("EVENER=/bin/echo '" + program + "' " + words + " > '" + said + "' 2>&1").c_str());
    EXPECT_EQ(WEXITSTATUS(status), words[0] == '-' && words[1] == 'x' ? 2 : 0) << words;
    EXPECT_THAT(read_file(said), testing::AllOf(testing::HasSubstr("run-all OUT"),
                                                testing::Not(testing::HasSubstr("sweep experiments/"))))
        << words;
  }
}

TEST(PublishedFigures, BelongToAnExperimentAndNameItsCells) {
  std::size_t tables = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(source_folder() / "experiments/published")) {
    const std::string name = entry.path().stem().string();
    const fs::path experiment = source_folder() / "experiments" / (name + ".toml");
    ASSERT_TRUE(fs::exists(experiment)) << entry.path();
    const std::string listed = run_in_process({"sweep", experiment.string(), "--dry-run"}).out;
    for (const sweeps::ReferenceFigure& figure : sweeps::read_reference(entry.path())) {
      EXPECT_FALSE(figure.source.empty()) << entry.path() << ": " << figure.cell;
      for (const auto& [axis, value] : figure.measured) {
        EXPECT_THAT(listed, testing::HasSubstr(axis + "=" + value)) << entry.path() << ": " << figure.cell;
      }
    }
    ++tables;
  }
  EXPECT_GT(tables, 0U);
}

/// The command that experiments/README.md gives, of which a script works the figures out.
TEST(PublishedFigures, OfEnergyFollowFromStatedPowersWithinAPercent) {
  if (std::system("python3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no python3";
  const TemporaryFolder folder;
  const std::string command =
      "experiments/published-energy experiments/published/001-environments.csv "
      "cpu=98.5W,idle=44.7W,gpu=117.8W,gpu-idle=15.9W";
  EXPECT_THAT(read_file(source_folder() / "experiments/README.md"), testing::HasSubstr(command));
  const std::string said = (folder.path() / "said").string();
  ASSERT_EQ(std::system(("cd '" + source_folder().string() + "' && " + command + " > '" + said + "'").c_str()), 0);
  // The document's two speedups are not those of its products.
  EXPECT_THAT(read_file(said),
              testing::AllOf(testing::HasSubstr("8 of 10 figures"), testing::HasSubstr("8.48      8.479"),
                             testing::HasSubstr("+1.3 %"), testing::HasSubstr("-1.9 %")));
}

}  // namespace
}  // namespace evener::test
