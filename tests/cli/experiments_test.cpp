// Every file in experiments/ is one that evener sweep takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_helpers.h"
#include "cli/run_program.h"
#include "report/reference.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> experiment_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(EVENER_SOURCE_DIR "/experiments")) {
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
      const ProgramResult result =
          run_program(joined({"sweep", file.string(), "--dry-run"}, scale), {.environment = {}, .cwd = folder.path()});
      EXPECT_EQ(result.exit_code, 0) << file << ": " << result.err;
      EXPECT_THAT(result.out, testing::HasSubstr("0 runs done")) << file;
    }
  }
}

TEST(PublishedFigures, BelongToAnExperimentAndNameItsCells) {
  std::size_t tables = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(EVENER_SOURCE_DIR "/experiments/published")) {
    const std::string name = entry.path().stem().string();
    const fs::path experiment = fs::path(EVENER_SOURCE_DIR "/experiments") / (name + ".toml");
    ASSERT_TRUE(fs::exists(experiment)) << entry.path();
    const std::string listed = run_program({"sweep", experiment.string(), "--dry-run"}).out;
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

}  // namespace
}  // namespace evener::test
