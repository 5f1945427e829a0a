// Every file in experiments/ is one that evener sweep takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/paths.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"
#include "report/reference.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;

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

TEST(PublishedFigures, BelongToAnExperimentAndNameItsCells) {
  std::size_t tables = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(source_folder() / "experiments/published")) {
    const std::string name = entry.path().stem().string();
    const fs::path experiment = source_folder() / "experiments" / (name + ".toml");
    ASSERT_TRUE(fs::exists(experiment)) << entry.path();
    const std::string listed = run_in_process({"sweep", experiment.string(), "--dry-run"}).out;
    for (const report::ReferenceFigure& figure : report::read_reference(entry.path())) {
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
