// The scripts for shells, made from the commands' own descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/in_process_helpers.h"

namespace evener::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

std::string script(const std::string& shell) {
  const ProgramResult result = run_in_process({"completion", shell});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

/// What bash offers for the last of `words`.
std::vector<std::string> offered(const std::string& words) {
  const TemporaryFolder folder;
  std::ofstream(folder / "script") << script("bash");
  const std::string line = "shopt -s extglob; . '" + (folder / "script").string() + "'; COMP_WORDS=(" + words +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _evener; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ProgramResult result = RunningProgram("bash", {"-c", line}, {.environment = {}, .cwd = folder.path()}).finish();
  EXPECT_EQ(result.err, "");
  std::istringstream lines(result.out);
  std::vector<std::string> found;
  for (std::string text; std::getline(lines, text);) found.push_back(text);
  return found;
}

TEST(Completion, OffersCommandsOptionsAndValuesInBash) {
  EXPECT_THAT(offered("evener ''"),
              IsSupersetOf({"doctor",   "demo",      "info",    "train",   "infer",  "serve",     "export",
                            "quantize", "calibrate", "faces",   "detect",  "matmul", "plan",      "sweep",
                            "report",   "share",     "compare", "history", "data",   "completion"}));
  EXPECT_THAT(offered("evener tr"), testing::ElementsAre("train"));
  EXPECT_THAT(offered("evener data ''"), testing::UnorderedElementsAre("info", "labels", "pack", "synth", "fetch"));
  EXPECT_THAT(offered("evener train --lab"), testing::ElementsAre("--label-smoothing"));
  EXPECT_THAT(offered("evener train --"), AllOf(Contains("--config"), Not(Contains("--hosts-started"))));
  EXPECT_THAT(offered("evener train --optimizer ''"), testing::ElementsAre("sgd", "adamw"));
  EXPECT_THAT(offered("evener train --loss = m"), testing::ElementsAre("mse"));
  EXPECT_THAT(offered("evener train mobile"), Contains("mobilenet_v2"));
  EXPECT_THAT(offered("evener info resnet1"), testing::ElementsAre("resnet18"));
  EXPECT_THAT(offered("evener train resnet18 --data scr"), testing::ElementsAre("script"));  // a file
}

TEST(Completion, IsUnderstoodByTheOtherShells) {
  EXPECT_THAT(script("zsh"), AllOf(StartsWith("#compdef evener\n"), HasSubstr("'--label-smoothing:Share of"),
                                   HasSubstr("'train|--optimizer') values=('sgd' 'adamw')")));
  EXPECT_THAT(script("fish"), HasSubstr("complete -c evener -n '__evener_at \"train\"' -l optimizer -d 'sgd or adamw "
                                        "(detectors: adamw)' -x -a 'sgd adamw'\n"));
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const TemporaryFolder folder;
    std::ofstream(folder / "script") << script(shell);
    const ProgramResult checked = RunningProgram(shell, {"-n", (folder / "script").string()}).finish();
    if (checked.exit_code == 127) continue;  // not installed here
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
  }
}

TEST(Completion, KnowsThreeShells) {
  const ProgramResult result = run_in_process({"completion", "zhs"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'zsh'?"));
}

TEST(Version, HasAShortOption) {
  EXPECT_EQ(run_in_process({"-V"}).out, run_in_process({"--version"}).out);
  EXPECT_EQ(run_in_process({"-V"}).exit_code, 0);
}

}  // namespace
}  // namespace evener::test
