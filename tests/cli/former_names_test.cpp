// Names and values of options that were others in earlier versions: what people have in scripts and files still works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "cli/in_process_helpers.h"
#include "cli/program.h"
#include "cli/run_helpers.h"

namespace evener::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const cli::Command* find_command(const cli::Command& of, const std::string& path) {
  for (const cli::Command& command : of.commands) {
    if (command.name == path) return &command;
    if (path.starts_with(command.name + " ")) return find_command(command, path.substr(command.name.size() + 1));
  }
  return nullptr;
}

/// All options that the commands had before the first release, one on a line: "train --head-first".
TEST(FormerNames, EveryOptionThatThereWasIsTaken) {
  std::ifstream file(source_folder() / "tests/golden/option_names.txt");
  const cli::Command program = cli::all_commands();
  int options = 0;
  for (std::string line; std::getline(file, line); ++options) {
    const std::size_t dashes = line.rfind(" --");
    ASSERT_NE(dashes, std::string::npos) << line;
    const cli::Command* command = find_command(program, line.substr(0, dashes));
    ASSERT_NE(command, nullptr) << line;
    EXPECT_NE(command->options.find(line.substr(dashes + 1)), nullptr) << line << " is not known any more";
  }
  EXPECT_EQ(options, 399);
}

Words train_words(const Words& more, const std::string& out) {
  Words words = {"train",  "mlp:784-10", "--data", "synth:digits:100", "--epochs", "1", "--on",
                 "cpu/t1", "--out",      out,      "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class FormerNamesOfRuns : public testing::Test {
 protected:
  nlohmann::json config_of(const Words& more) {
    const ProgramResult result = run_in_process(train_words(more, out()));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(read_file(folder_.path() / "run/record.json")).at("config");
  }
  std::string out() const { return (folder_.path() / "run").string(); }

  TestFolder folder_;
};

TEST_F(FormerNamesOfRuns, OnTheCommandLineAndInRecords) {
  const nlohmann::json config = config_of({"--head-first", "off", "--exchange-precision=bf16", "--crop", "border"});
  EXPECT_EQ(config.at("head-first"), "off") << "a record's keys stay, which others read";
  EXPECT_EQ(config.at("exchange-precision"), "bf16");
  EXPECT_EQ(config.at("crop"), "letterbox");
}

TEST_F(FormerNamesOfRuns, InFilesOfOptions) {
  const std::filesystem::path file = folder_.path() / "options.toml";
  std::ofstream(file) << "head-first = \"off\"\nexchange-precision = \"bf16\"\ncrop = \"center\"\n";
  const nlohmann::json config = config_of({"--config", file.string()});
  EXPECT_EQ(config.at("head-first"), "off");
  EXPECT_EQ(config.at("exchange-precision"), "bf16");
  EXPECT_EQ(config.at("crop"), "centre");
}

TEST_F(FormerNamesOfRuns, TheNewNameCountsAgainstTheOldOneInAFile) {
  const std::filesystem::path file = folder_.path() / "options.toml";
  std::ofstream(file) << "exchange-precision = \"bf16\"\n";
  EXPECT_EQ(config_of({"--config", file.string(), "--communication-dtype", "fp32"}).at("exchange-precision"), "fp32");
}

TEST_F(FormerNamesOfRuns, ARunGoesOnUnderEitherSpelling) {
  config_of({"--crop", "border", "--exchange-precision", "bf16"});
  const Words again = {"train", "--resume", out(), "--epochs", "2", "--crop", "letterbox", "--quiet"};
  const ProgramResult result = run_in_process(again);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(record_in(out())["config"]["exchange-precision"], "bf16") << "what isn't given is the run's own";
  const ProgramResult other = run_in_process({"train", "--resume", out(), "--epochs", "3", "--crop", "squash"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("other settings"));
}

TEST_F(FormerNamesOfRuns, InFilesOfSweeps) {
  const std::filesystem::path file = folder_.path() / "sweep.toml";
  std::ofstream(file) << "command = \"train\"\n[options]\nmodel = \"mlp:784-10\"\ndata = \"synth:digits:100\"\n"
                         "exchange-precision = \"bf16\"\n[axes]\nhead-first = [\"on\", \"off\"]\n"
                         "[[exclude]]\nhead-first = \"on\"\n";
  const ProgramResult result = run_in_process({"sweep", file.string(), "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("--linear-probing=off"), HasSubstr("--communication-dtype=bf16")));
  EXPECT_THAT(result.out, Not(HasSubstr("--linear-probing=on")));
}

TEST_F(FormerNamesOfRuns, InValuesOfSweepsThatGoTogether) {
  const std::filesystem::path file = folder_.path() / "sweep.toml";
  std::ofstream(file) << "command = \"train\"\n[options]\nmodel = \"mlp:784-10\"\ndata = \"synth:digits:100\"\n"
                         "[[together]]\nexchange-precision = [\"fp32\", \"bf16\"]\nbatch = [10, 20]\n";
  const ProgramResult result = run_in_process({"sweep", file.string(), "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("--communication-dtype=fp32"), HasSubstr("--communication-dtype=bf16")));
}

TEST_F(FormerNamesOfRuns, BothNamesInOneFileOfASweepAreRefused) {
  const std::filesystem::path file = folder_.path() / "sweep.toml";
  std::ofstream(file) << "command = \"train\"\n[options]\nmodel = \"mlp:784-10\"\ndata = \"synth:digits:100\"\n"
                         "communication-dtype = \"fp32\"\nexchange-precision = \"bf16\"\n[axes]\nbatch = [10, 20]\n";
  const ProgramResult result = run_in_process({"sweep", file.string(), "--dry-run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("'communication-dtype' stands there twice"));
}

}  // namespace
}  // namespace evener::test
