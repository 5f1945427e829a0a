// What the system may refuse: memory, output, names; and the scripts of the set-up where something is not there yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/paths.h"
#include "base/sanitizer.h"
#include "support/in_process_helpers.h"

namespace evener::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

/// Runs a line of bash in which $EVENER is the program.
ProgramResult shell(const std::string& line) {
  return RunningProgram("bash", {"-c", line}, {.environment = {{"EVENER", program_path()}}, .cwd = {}}).finish();
}

TEST(Output, ThatCantBeWrittenIsAnError) {
  for (const std::string words : {"info mlp:784-10", "--help", "data info synth:digits:20"}) {
    const ProgramResult result = shell("\"$EVENER\" " + words + " >/dev/full");
    EXPECT_EQ(result.exit_code, 1) << words;
    EXPECT_THAT(result.err, HasSubstr("can't write to standard output: No space left on device")) << words;
  }
}

TEST(Output, ToAFolderWithAnImpossibleNameIsExplained) {
  const TemporaryFolder folder;
  const std::string name(300, 'x');
  const ProgramResult result = run_in_process(
      {"train", "mlp:784-10", "--data", "synth:digits:100", "--epochs", "1", "--out", (folder / name).string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(name + "': File name too long; choose another name"),
                                Not(HasSubstr("filesystem error"))));
}

TEST(Memory, ThatRunsOutIsExplained) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers reserve terabytes";
  const TemporaryFolder folder;
  const std::string train = "\"$EVENER\" train --data synth:digits:100 --epochs 1 --out '" + (folder / "run").string();
  const ProgramResult network = shell("ulimit -v 100000; " + train + "' mlp:784-20000-10");
  EXPECT_EQ(network.exit_code, 1);
  EXPECT_THAT(network.err, AllOf(HasSubstr("memory"), HasSubstr("'ulimit -v'"), Not(HasSubstr("bad_alloc"))));
  const ProgramResult data = shell("ulimit -d 100000; " + train + "' mlp:784-20000-10");
  EXPECT_EQ(data.exit_code, 1);
  EXPECT_THAT(data.err, AllOf(HasSubstr("'ulimit -d'"), Not(HasSubstr("ulimit -v"))));
  const ProgramResult module = shell("ulimit -v 100000; " + train + "' mlp:784-10 --engine torch");
  EXPECT_EQ(module.exit_code, 1);
  EXPECT_THAT(module.err, AllOf(HasSubstr("ulimit -v"), Not(HasSubstr("build it again"))));
  // Some more than the program needs to start at all, and less than with the stack of a thread.
  const ProgramResult thread = shell(
      "v=16000; while ! (ulimit -v $v; \"$EVENER\" --version) >/dev/null 2>&1; do v=$((v + 500)); done; ulimit -v $((v "
      "+ 4000)); " +
      train + "' mlp:784-10");
  EXPECT_EQ(thread.exit_code, 1);
  EXPECT_THAT(thread.err, HasSubstr("ulimit -v"));
}

/// Runs a line of bash after the parts of the set-up were read as deps/setup.sh reads them.
ProgramResult setup_shell(const std::string& line) {
  return shell("set -euEo pipefail; trap 'echo FAILED >&2' ERR; deps=" + source_folder().string() +
               "/deps; . $deps/ui.sh; . $deps/apt.sh; " + line);
}

TEST(SetUp, AptThatKnowsNoPackageYetIsNoFailure) {
  const ProgramResult none = setup_shell("apt-cache() { :; }; find_offered g++ cmake; echo ${#offered[@]}");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "0\n");
  EXPECT_EQ(none.err, "");
  const ProgramResult one = setup_shell(
      "apt-cache() { printf 'g++:\\n  Candidate: 12\\ng++-x:\\n  Candidate: 1\\ncmake:\\n  Candidate: (none)\\n'; }; "
      "find_offered g++ cmake; echo ${offered[@]}");
  EXPECT_EQ(one.out, "g++\n");
  EXPECT_EQ(one.err, "");
}

}  // namespace
}  // namespace evener::test
