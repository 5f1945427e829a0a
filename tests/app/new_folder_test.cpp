// Where runs go that were given no --out.
#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/quantize_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::RunningProgram;
using test::Words;
using testing::Each;
using testing::ElementsAre;
using testing::MatchesRegex;
using testing::SizeIs;

/// "runs/NAME" of each run in the folder.
std::vector<std::string> runs_in(const fs::path& folder) {
  std::vector<std::string> runs;
  for (const auto& run : fs::directory_iterator(folder / "runs")) {
    if (fs::exists(run.path() / "record.json")) runs.push_back("runs/" + run.path().filename().string());
  }
  return runs;
}

class NewFolders : public test::QuantizeCommand {};

TEST_F(NewFolders, OfTrainingsThatBeginAtOnceAreTheirOwn) {
  std::vector<std::unique_ptr<RunningProgram>> programs;
  for (int i = 0; i < 4; ++i) {
    const Words words = {"train",    "mlp:784-8-10", "--data", "synth:digits:60", "--epochs", "1",
                         "--engine", "torch",        "--on",   "cpu/t1",          "--quiet"};
    programs.push_back(std::make_unique<RunningProgram>(
        test::program_path(), words, test::ProgramOptions{.environment = {}, .cwd = folder_.path()}));
  }
  for (const auto& program : programs) {
    const ProgramResult result = program->finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  const std::vector<std::string> runs = runs_in(folder_.path());
  EXPECT_THAT(runs, SizeIs(4));
  EXPECT_THAT(runs, Each(MatchesRegex("runs/mlp-784-8-10-20[0-9]+-[0-9]+(-[234])?")));
}

TEST_F(NewFolders, OfOtherJobsHaveTheirNames) {
  const auto run_there = [&](const Words& words) {
    const ProgramResult result = test::run_program(words, {.environment = {}, .cwd = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> runs = runs_in(folder_.path());
    fs::remove_all(folder_.path() / "runs");
    return runs;
  };
  EXPECT_THAT(run_there({"quantize", trained(), "--seconds", "0.05", "--on", "cpu/t1", "--quiet"}),
              ElementsAre(MatchesRegex("runs/mlp-784-32-10-quantized-20[0-9]+-[0-9]+")));
  weights::write_safetensors(folder_ / "faces.safetensors",
                             {{"embeddings", HostTensor::of_floats({2, 2}, {1, 2, 2, 1})}},
                             {{"files", R"(["a.jpg","b.jpg"])"}});
  EXPECT_THAT(run_there({"faces", file("faces.safetensors"), "--on", "cpu/t1", "--quiet"}),
              ElementsAre(MatchesRegex("runs/faces-20[0-9]+-[0-9]+")));
}

}  // namespace
}  // namespace evener
