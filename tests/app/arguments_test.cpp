// Wrong words on the command line and in config files, as the user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"

namespace evener::test {
namespace {

using Words = std::vector<std::string>;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

// `evener train` with all that it needs, planning only; `more` comes behind.
Words dry_run(const Words& more) {
  Words words = {"train", "mlp:784-10", "--data", "synth:digits:100", "--dry-run"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// stderr of a run that must end with exit code 2 and print nothing on stdout.
std::string usage_error(const Words& words) {
  const ProgramResult result = run_in_process(words);
  EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(words);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("evener: "));
  return result.err;
}

TEST(ForeignNames, LeadToWhatIsMeantHere) {
  EXPECT_THAT(usage_error(dry_run({"--threads", "4"})), HasSubstr("--on cpu/t4"));
  EXPECT_THAT(usage_error({"infer", "resnet18", "random:8", "--threads", "4"}), HasSubstr("--on cpu/t4"));
  EXPECT_THAT(usage_error(dry_run({"--gpu", "0"})), HasSubstr("--on cuda:0"));
  EXPECT_THAT(usage_error(dry_run({"--max-images", "100"})), HasSubstr("--split 20/5/5"));
  EXPECT_THAT(usage_error({"infer", "resnet18", "random:8", "--limit", "4"}), HasSubstr("--split 20/5/5"));
  EXPECT_THAT(usage_error(dry_run({"--num-workers", "4"})), HasSubstr("--loader-threads"));
  EXPECT_THAT(usage_error({"infer", "resnet18", "random:8", "--workers", "4"}), HasSubstr("--reading-threads"));
  EXPECT_THAT(usage_error(dry_run({"--amp"})), HasSubstr("--precision bf16"));
  EXPECT_THAT(usage_error(dry_run({"--img-size", "224"})), HasSubstr("--size 224x224"));
  EXPECT_THAT(usage_error(dry_run({"--arch", "resnet18"})), HasSubstr("without an option"));
  EXPECT_THAT(usage_error(dry_run({"--learning_rate", "1"})), HasSubstr("did you mean '--lr'"));
  EXPECT_THAT(usage_error(dry_run({"--batch_size", "1"})), HasSubstr("did you mean '--batch'"));
  EXPECT_THAT(usage_error(dry_run({"--loader_threads", "1"})), HasSubstr("did you mean '--loader-threads'"));
  EXPECT_THAT(usage_error(dry_run({"--precision", "int8"})), HasSubstr("evener quantize MODEL"));
  EXPECT_THAT(usage_error({"infer", "resnet18", "random:8", "--precision", "int8"}),
              HasSubstr("evener quantize MODEL"));
}

TEST(Help, IsPrintedOnStdout) {
  const ProgramResult alone = run_in_process({});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_THAT(alone.out, AllOf(HasSubstr("doctor"), HasSubstr("train"), HasSubstr("COMMAND --help")));
  for (const Words& words : {Words{"--help"}, Words{"help"}, Words{"-h"}}) {
    const ProgramResult result = run_in_process(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, alone.out);
    EXPECT_EQ(result.err, "");
  }
  for (const Words& words : {Words{"train", "--help"}, Words{"help", "train"}}) {
    const ProgramResult result = run_in_process(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("--batch"), HasSubstr("--config FILE"), HasSubstr("Examples:")));
  }
  const ProgramResult version = run_in_process({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("evener [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Help, OfACommandThatTakesAnotherIsItsOwn) {
  const std::string help = run_in_process({"sweep", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("Usage: evener sweep"));
  EXPECT_EQ(run_in_process({"sweep", "train", "--help"}).out, help);
  EXPECT_EQ(run_in_process({"sweep", "--help", "train"}).out, help);
}

TEST(Help, ShowsOptionsInGroupsWithTitles) {
  const std::string help = run_in_process({"train", "--help"}).out;
  std::size_t at = 0;
  for (const std::string title : {"Network", "Data", "Optimisation", "Placement", "Output", "Measuring", "General"}) {
    const std::size_t next = help.find("\n\n" + title + ":\n  -", at);
    ASSERT_NE(next, std::string::npos) << title << " is not where it should be in\n" << help;
    at = next;
  }
  EXPECT_THAT(help, Not(HasSubstr("--hosts-started")));  // for processes that the program starts itself
  const std::string plan = run_in_process({"plan", "--help"}).out;
  for (const char* given : {"--seconds SECONDS[ =[]+15", "--on PLACEMENT[ =[]+auto", "--batch"})
    EXPECT_THAT(plan, testing::ContainsRegex(given));  // CLI11 tells a default as =15, since 2.4 as [15]
  for (const char* useless : {"--out", "--resume", "--plan-seconds", "--trace"})
    EXPECT_THAT(plan, Not(HasSubstr(useless))) << "makes no difference to a plan";
}

TEST(Help, NamesWhatAValueStandsFor) {
  const std::vector<Words> commands = {{"train"},         {"plan"},         {"info"},         {"doctor"},
                                       {"demo"},          {"data", "info"}, {"data", "pack"}, {"data", "synth"},
                                       {"data", "fetch"}, {"report"},       {"export"}};
  for (Words words : commands) {
    words.emplace_back("--help");
    const std::string help = run_in_process(words).out;
    // CLI11's own words for a type that has no name.
    for (const char* type : {" TEXT", " INT", " UINT", " FLOAT", " BOOLEAN"}) EXPECT_THAT(help, Not(HasSubstr(type)));
    EXPECT_THAT(help, HasSubstr("Examples:\n  evener " + words.front()));
  }
}

TEST(Arguments, UnknownCommandsGetTheNearestOne) {
  EXPECT_THAT(usage_error({"trian"}),
              AllOf(HasSubstr("unknown command 'trian'; did you mean 'train'?"), HasSubstr("see 'evener --help'")));
  EXPECT_THAT(usage_error({"data", "inof"}),
              AllOf(HasSubstr("did you mean 'info'?"), HasSubstr("see 'evener data --help'")));
  EXPECT_THAT(usage_error({"xyzzy"}),
              AllOf(HasSubstr("unknown command 'xyzzy'. Known: "), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(usage_error({"data"}), HasSubstr("'evener data' needs one of 'info'"));
}

TEST(Arguments, UnknownOptionsGetTheNearestOne) {
  EXPECT_THAT(
      usage_error({"train", "--batc", "3"}),
      AllOf(HasSubstr("unknown option '--batc'; did you mean '--batch'?"), HasSubstr("see 'evener train --help'")));
  EXPECT_THAT(usage_error({"train", "--batc=3"}), HasSubstr("'--batc'; did you mean '--batch'?"));
  EXPECT_THAT(usage_error({"train", "-x"}), HasSubstr("unknown option '-x'"));
  EXPECT_THAT(usage_error({"--epochs", "3"}), HasSubstr("comes after the command, as in 'evener train --epochs'"));
}

TEST(Arguments, NamesFromOtherProgramsLeadToOurs) {
  EXPECT_THAT(usage_error({"train", "--batch-size", "3"}), HasSubstr("did you mean '--batch'?"));
  EXPECT_THAT(usage_error({"train", "--learning-rate", "0.1"}), HasSubstr("did you mean '--lr'?"));
  EXPECT_THAT(usage_error({"train", "--output", "a"}), HasSubstr("did you mean '--out'?"));
  EXPECT_THAT(usage_error(dry_run({"--on", "gpu"})), HasSubstr("a GPU is called cuda (NVIDIA), opencl or intel"));
}

TEST(Arguments, NonsenseIsRefusedBeforeTheRun) {
  EXPECT_THAT(usage_error(dry_run({"--lr", "inf"})), HasSubstr("--lr is inf; it has to be more than 0"));
  EXPECT_THAT(usage_error(dry_run({"--epochs", "2", "--warmup", "3"})), HasSubstr("longer than the run (--epochs 2)"));
  EXPECT_THAT(usage_error(dry_run({"--batch", "8", "--accumulate", "9"})), HasSubstr("more parts than a batch has"));
  EXPECT_THAT(usage_error(dry_run({"--on", "cpu/t1", "--shares", "1:2"})), HasSubstr("has 1 replica here"));
  EXPECT_THAT(usage_error(dry_run({"--on", "cpu/t1", "--elastic"})), HasSubstr("has only one"));
}

TEST(Arguments, MissingThingsAreNamed) {
  EXPECT_THAT(usage_error({"train"}), HasSubstr("'evener train' needs --data; see 'evener train --help'"));
  EXPECT_THAT(usage_error({"train", "mlp:4-2"}), AllOf(HasSubstr("needs --data"), Not(HasSubstr("MODEL"))));
  EXPECT_THAT(usage_error({"train", "mlp:4-2", "--epochs"}), HasSubstr("'--epochs' needs a value: a whole number"));
  EXPECT_THAT(usage_error({"train", "mlp:4-2", "--lr", "--epochs", "3"}), HasSubstr("'--lr' needs a value: a number"));
  EXPECT_THAT(usage_error({"train", "mlp:4-2", "--lr="}), HasSubstr("'--lr' needs a value"));
}

TEST(Arguments, ValuesOfTheWrongKindAreNamed) {
  EXPECT_THAT(usage_error(dry_run({"--epochs", "abc"})), HasSubstr("--epochs 'abc' is not a whole number"));
  EXPECT_THAT(usage_error(dry_run({"--epochs", "1.5"})), HasSubstr("--epochs '1.5' is not a whole number"));
  EXPECT_THAT(usage_error(dry_run({"--epochs", "99999999999999999999"})), HasSubstr("or is too large"));
  EXPECT_THAT(usage_error(dry_run({"--lr", "fast"})), HasSubstr("--lr 'fast' is not a number"));
  EXPECT_THAT(usage_error(dry_run({"resnet18"})), HasSubstr("'resnet18' is one argument too many"));
  EXPECT_THAT(usage_error(dry_run({"--hosts", "a,", "b"})), HasSubstr("too many; a list has commas without blanks"));
  EXPECT_THAT(usage_error(dry_run({"--lr", "-0.5"})), HasSubstr("-0.5"));  // a value, not an option
}

TEST(Arguments, APositionalListTakesAllWords) {
  EXPECT_THAT(usage_error({"data", "fetch", "mnist", "cifra10"}), HasSubstr("'cifra10'"));  // it looked at both
  EXPECT_THAT(usage_error({"data", "fetch", "mnist", "--out", "x", "cifra10"}), HasSubstr("'cifra10'"));
}

TEST(Arguments, NamesOfAListAreChecked) {
  EXPECT_THAT(usage_error(dry_run({"--engine", "torhc"})),
              HasSubstr("unknown engine 'torhc'; did you mean 'torch'? Known: auto, torch, native"));
  EXPECT_THAT(usage_error(dry_run({"--optimizer", "adam"})), HasSubstr("did you mean 'adamw'?"));
  EXPECT_THAT(usage_error(dry_run({"--layout", "hwc"})), HasSubstr("Known: auto, nchw, nhwc"));
}

TEST(Arguments, NumbersOutOfRangeSayTheRange) {
  EXPECT_THAT(usage_error(dry_run({"--momentum", "1"})),
              HasSubstr("--momentum is 1; it has to be 0 or more, and less than 1"));
  EXPECT_THAT(usage_error(dry_run({"--until-accuracy", "1.5"})), HasSubstr("it has to be a share, such as 0.9"));
  EXPECT_EQ(run_in_process(dry_run({"--until-accuracy", "1"})).exit_code, 0);
  EXPECT_THAT(usage_error(dry_run({"--loader-threads", "1025"})), HasSubstr("it has to be from 0 to 1024"));
  EXPECT_THAT(usage_error(dry_run({"--plan-seconds", "0"})),
              HasSubstr("--plan-seconds is 0; it has to be more than 0"));
  EXPECT_THAT(usage_error({"demo", "--minutes", "0.1"}), HasSubstr("it has to be from 0.2 to 1440"));
  EXPECT_THAT(usage_error({"data", "info", "synth:digits:9", "--threads", "0"}), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(usage_error({"report", "x", "--no-html", "--html", "y"}), HasSubstr("give one"));
}

TEST(Arguments, AnOptionGivenTwiceIsRefusedWithBothValues) {
  EXPECT_THAT(usage_error(dry_run({"--on", "cpu/t3", "--lr", "1", "--on=cpu/t1"})),
              StartsWith("evener: --on is given twice, cpu/t3 and cpu/t1: give it once"));
  EXPECT_THAT(usage_error({"train", "--resume", "a", "--resume=b"}), HasSubstr("--resume is given twice, a and b"));
  EXPECT_THAT(usage_error({"train", "--config", "a", "--config", "b"}), HasSubstr("--config is given twice, a and b"));
  EXPECT_THAT(usage_error({"history", "x", "--fail-on", "slower=5%", "--fail-on", "memory=1"}),
              HasSubstr("--fail-on 'memory=1'"))
      << "all of them count";
  EXPECT_EQ(run_in_process(dry_run({"--strict", "--strict"})).exit_code, 0);  // a switch is on or off
}

TEST(Placements, AreRefusedWithACaret) {
  EXPECT_EQ(usage_error(dry_run({"--on", "cpu/t1+cdua:0"})),
            "evener: placement 'cpu/t1+cdua:0' is not understood: unknown device 'cdua'; did you mean 'cuda'? Known: "
            "cpu, cuda, opencl, intel, npu, auto\n"
            "  cpu/t1+cdua:0\n"
            "         ^\n");
  EXPECT_THAT(usage_error(dry_run({"--on", "cpu+"})), HasSubstr("\n  cpu+\n      ^"));
  EXPECT_THAT(usage_error(dry_run({"--on", "cuda:900"})), HasSubstr("there is no cuda:900"));
}

TEST(DryRun, LooksAtModelDataAndWeights) {
  const ProgramResult good = run_in_process(dry_run({"--augment", "flip"}));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("run        mlp:784-10, 10 classes, 1x28x28: 80 images to train on, 10 to validate"));
  EXPECT_THAT(usage_error({"train", "resnet43", "--data", "synth:digits:100", "--dry-run"}), HasSubstr("resnet34"));
  EXPECT_THAT(usage_error(dry_run({"--size", "20x20"})), HasSubstr("takes 784 values, but the images have"));
  EXPECT_THAT(usage_error(dry_run({"--freeze", "conv*"})), HasSubstr("matches no parameter"));
  for (const Words& more : {Words{"--data", "no/such/folder"}, Words{"--weights", "no/such/file.pt"}}) {
    const ProgramResult missing = run_in_process(dry_run(more));
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_THAT(missing.err, HasSubstr("no/such/f"));
    EXPECT_EQ(missing.out, "");
  }
}

TEST(DryRun, TellsOfWhatChangesNothing) {
  const ProgramResult result = run_in_process(
      dry_run({"--on", "cpu/t1", "--engine", "native", "--layout", "nhwc", "--step-graph", "off", "--batch-norm",
               "local", "--communication-dtype", "bf16", "--split", "90/0/10", "--patience", "3"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("--layout changes nothing: the native engine has one memory layout"),
                                HasSubstr("--step-graph changes nothing: there is no GPU"),
                                HasSubstr("--batch-norm changes nothing: there is one replica"),
                                HasSubstr("--communication-dtype changes nothing: one replica"),
                                HasSubstr("--patience changes nothing: there are no images to validate on")));
  EXPECT_THAT(run_in_process(dry_run({})).out, Not(HasSubstr("nothing")));
}

TEST(Placements, ArePlannedOnADryRun) {
  if (!module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  const ProgramResult result = run_in_process(dry_run({"--on", "3xcpu/t1..cpu/t1@0.5", "--oversubscribe"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("placement  3xcpu/t1..cpu/t1@0.5\n"), HasSubstr("process 2  rank 2\n"),
                                HasSubstr("process 5  rank 5\n"), HasSubstr("slowed to 50 %"), HasSubstr("stage 1: ")));
}

TEST(Placements, OfOneStageHaveNoCut) {
  EXPECT_THAT(usage_error({"infer", "resnet18", "random:3", "--on", "cpu/t1", "--cut", "layer2"}),
              HasSubstr("--cut says where stages begin, and 'cpu/t1' has none"));
}

class Config : public testing::Test {
 protected:
  // Runs `evener train --config FILE WORDS...` with `text` in the file.
  ProgramResult run_with(const std::string& text, Words words = {}) {
    write_text(folder_ / "run.toml", text);
    words.insert(words.begin(), {"train", "--config", (folder_ / "run.toml").string()});
    return run_in_process(words);
  }
  std::string error_with(const std::string& text, const Words& words = {}) {
    const ProgramResult result = run_with(text, words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  }
  TestFolder folder_;
};

constexpr const char* kWhole =
    "model = 'mlp:784-10'\ndata = 'synth:digits:100'  # generated\ndry-run = true\non = 'cpu/t3'\nlr = 0.5\n";

TEST_F(Config, StandsInForTheCommandLine) {
  const ProgramResult result = run_with(kWhole);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("placement  cpu/t3\n"));
}

TEST_F(Config, TheCommandLineWins) {
  EXPECT_THAT(run_with(kWhole, {"--on", "cpu/t1"}).out, HasSubstr("placement  cpu/t1\n"));
  EXPECT_THAT(run_with(kWhole, {"--on=cpu/t1"}).out, HasSubstr("placement  cpu/t1\n"));
  // The file's wrong model is not looked at when the command line gives one.
  const std::string file = "model = 'nonsense'\ndata = 'synth:digits:100'\ndry-run = true\nepochs = 3\n";
  EXPECT_EQ(run_with(file, {"mlp:784-10"}).exit_code, 0);
}

TEST_F(Config, ValuesFromTheFileAreChecked) {
  EXPECT_THAT(error_with(std::string(kWhole) + "epochs = 'many'\n"),
              HasSubstr("--epochs 'many' is not a whole number"));
  EXPECT_THAT(error_with(std::string(kWhole) + "epochs = 1.5\n"), HasSubstr("--epochs '1.5' is not a whole number"));
  EXPECT_THAT(error_with("model = 'mlp:4-2'\n"), HasSubstr("needs --data"));
  EXPECT_THAT(error_with("dry-run = true\non = 'cpu+'\nmodel = 'mlp:4-2'\ndata = 'x'\n"),
              HasSubstr("\n  cpu+\n      ^"));
}

TEST_F(Config, UnknownKeysNameFileLineAndTheNearest) {
  EXPECT_THAT(error_with(std::string(kWhole) + "\nepohcs = 3\n"),
              AllOf(HasSubstr("run.toml, line 7: unknown key 'epohcs'; did you mean 'epochs'?")));
  EXPECT_THAT(error_with("weight_decay = 0.1\n"),
              HasSubstr("line 1: unknown key 'weight_decay'; did you mean 'weight-decay'?"));
  EXPECT_THAT(error_with("config = 'other.toml'\n"), HasSubstr("unknown key 'config'"));
}

TEST_F(Config, WrongKindsNameTheLine) {
  EXPECT_THAT(error_with("\nstrict = 1\n"), HasSubstr("line 2: 'strict' is a switch: it is true or false"));
  EXPECT_THAT(error_with("epochs = [1, 2]\n"), HasSubstr("line 1: 'epochs' takes one value"));
  EXPECT_THAT(error_with("epochs = 2026-01-01\n"), HasSubstr("line 1: 'epochs' has a value that no option takes"));
  EXPECT_THAT(error_with("out = ''\n"), HasSubstr("line 1: 'out' is empty"));
  EXPECT_THAT(error_with("[epochs]\nx = 1\n"), HasSubstr("line 1: [epochs] is a table"));
}

TEST_F(Config, BrokenFilesNameTheLine) {
  EXPECT_THAT(error_with("epochs = 3\nlr == 3\n"), HasSubstr("run.toml, line 2: "));
  EXPECT_THAT(error_with("epochs = 3\nepochs = 4\n"), HasSubstr("run.toml, line 2: "));
  const ProgramResult missing = run_in_process({"train", "--config", (folder_ / "none.toml").string()});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("none.toml"), HasSubstr("does not exist")));
  EXPECT_THAT(error_with("switches = true\n[train]\n"), HasSubstr("line 1: unknown key 'switches'"));
  EXPECT_EQ(run_with("", {"--help"}).exit_code, 0);
}

// The scripts for shells, made from the commands' own descriptions.

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
