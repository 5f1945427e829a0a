// Every file in experiments/ is one that evener sweep takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/run_program.h"

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

TEST(Experiments, AreWhatSweepTakes) {
  const TemporaryFolder folder;  // nothing may be written into the source
  const std::vector<fs::path> files = experiment_files();
  ASSERT_GE(files.size(), 34U);
  for (const fs::path& file : files) {
    const ProgramResult result =
        run_program({"sweep", file.string(), "--dry-run"}, {.environment = {}, .cwd = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << file << ": " << result.err;
    EXPECT_THAT(result.out, testing::HasSubstr("to come")) << file;
  }
}

TEST(Experiments, HaveASmallSisterEach) {
  for (const fs::path& file : experiment_files()) {
    if (file.parent_path().filename() == "small") continue;
    EXPECT_TRUE(fs::exists(file.parent_path() / "small" / file.filename())) << file;
  }
}

TEST(PublishedFigures, NameAnExperimentAndTheirSource) {
  std::size_t tables = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(EVENER_SOURCE_DIR "/experiments/published")) {
    ++tables;
    EXPECT_TRUE(fs::exists(fs::path(EVENER_SOURCE_DIR "/experiments") / (entry.path().stem().string() + ".toml")))
        << entry.path();
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "cell,figure,value,unit,source") << entry.path();
    for (int number = 2; std::getline(file, line); ++number) {
      EXPECT_THAT(line, testing::MatchesRegex("\"[^\"]+\",[^,]+,[0-9.]+,[^,]*,\"00[0-4]: [^\"]+\""))
          << entry.path() << ", line " << number;
    }
  }
  EXPECT_GT(tables, 0U);
}

}  // namespace
}  // namespace evener::test
