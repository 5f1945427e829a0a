// `evener sweep --steady`: which option makes runs longer, and what the pilot runs of its cells come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/numbers.h"
#include "base/test_folder.h"
#include "sweep/asked_sweep.h"
#include "sweep/sweep_job.h"

namespace evener::sweeps {
namespace {

using test::AskedSweep;
using test::Notes;
using test::PlanWords;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;
namespace fs = std::filesystem;
using test::plan_refusal;
using test::TestFolder;
using AskedFile = test::AskedSweep;

/// Leaves records of runs whose samples lie so far apart that a run of E epochs deviates by about `deviation` /
/// sqrt(E).
class MadeUpRuns : public Executor {
 public:
  explicit MadeUpRuns(double deviation) : deviation_(deviation) {}

  ExecutedRun execute(const record::SweepCell& cell, const fs::path& folder) override {
    words.push_back(cell.words);
    folders.push_back(folder);
    if (fails) return {.end = record::RunEnd::kFailed, .reason = "no such data", .seconds = 0.1, .figure = {}};
    record::Record record;
    record.status = record::Status::kDone;
    const double epochs = to_number<double>(cell.words.back().substr(cell.words.back().find('=') + 1)).value();
    // Of 20 samples the median's interval goes from the sixth to the fifteenth.
    const double apart = deviation_ * 3.92 / 9 / std::sqrt(epochs);
    std::vector<double> rates;
    for (int n = 0; n < samples; ++n) rates.push_back(1 + apart * ((7 * n % 20) - 9.5));
    record.images_per_s = record::throughput_of(std::move(rates), "blocks");
    if (sensor_period_s > 0) {
      record.energy.seconds = epochs;
      record.energy.devices = std::vector<record::DeviceEnergy>(1);
      record.energy.devices[0].update_period_s = sensor_period_s;
    }
    fs::create_directories(folder);
    record::write_record(folder, record);
    return {.end = record::RunEnd::kDone, .reason = {}, .seconds = epochs, .figure = 1};
  }
  std::optional<ExecutedRun> left_in(const fs::path& folder) override {
    if (!fs::exists(folder / "record.json")) return std::nullopt;
    ++taken;
    return ExecutedRun{.end = record::RunEnd::kDone, .reason = {}, .seconds = 1, .figure = 1};
  }

  std::vector<std::vector<std::string>> words;
  std::vector<fs::path> folders;
  int taken = 0;
  int samples = 20;
  double sensor_period_s = 0;  // 0: there is no sensor
  bool fails = false;

 private:
  double deviation_;
};

const PlanWords kTraining = {"train", "mlp:4-2", "--data", "synth:digits:200", "--epochs", "2", "--lr", "0.1,0.2"};

TEST(RunLength, IsAnOptionOfTheCommandWithItsValueOrDefault) {
  EXPECT_EQ(run_length_of(AskedSweep(kTraining).plan()).key, "epochs");
  EXPECT_EQ(run_length_of(AskedSweep(kTraining).plan()).length, 2);
  EXPECT_TRUE(run_length_of(AskedSweep(kTraining).plan()).is_whole);
  EXPECT_EQ(run_length_of(AskedSweep({"matmul", "64"}).plan()).key, "seconds");
  EXPECT_EQ(run_length_of(AskedSweep({"matmul", "64"}).plan()).length, 1);
  const AskedSweep scenario({"infer", "resnet18", "random:8", "--scenario", "offline"});
  EXPECT_EQ(run_length_of(scenario.plan()).key, "min-duration");
  EXPECT_EQ(run_length_of(scenario.plan()).length, 5);
}

TEST(RunLength, SaysWhatElseHelpsWhereRunsCanNotBeLonger) {
  const auto refused = [](PlanWords words) {
    words.insert(words.begin(), {"--steady", "2%"});
    return test::plan_refusal([&] { AskedSweep asked(words); });
  };
  EXPECT_THAT(refused({"faces", "photos"}), AllOf(HasSubstr("'faces'"), HasSubstr("--until ci=P%")));
  EXPECT_THAT(refused({"infer", "resnet18", "random:8"}), HasSubstr("--scenario"));
  EXPECT_THAT(refused({"train", "mlp:4-2", "--data", "synth:digits", "--epochs", "1,2"}), HasSubstr("is an axis"));
  EXPECT_THAT(refused({"train", "mlp:4-2", "--data", "synth:digits", "--epochs", "0"}), HasSubstr("'epochs = 0'"));
  EXPECT_EQ(refused(kTraining), "it was taken");
}

TEST(RunLength, IsTheSameForAllCellsAndGrowsUntilEachIsSteady) {
  const test::TestFolder folder;
  MadeUpRuns runs(0.039);
  Notes notes;
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes, "p", "m");
  const auto cells = cells_of(steady.plan);
  ASSERT_EQ(cells.size(), 2U);
  for (const record::SweepCell& cell : cells) EXPECT_THAT(cell.words, testing::Contains("--epochs=16"));
  // The first cell with 2 epochs deviates by 2.8 %, which says 9.6 times as many; 8 times are the most, and enough.
  // The second one begins with as many, and needs no more.
  ASSERT_EQ(runs.words.size(), 3U);
  EXPECT_EQ(runs.words[0].back(), "--epochs=2");
  EXPECT_THAT(runs.folders,
              Each(testing::ResultOf([](const fs::path& path) { return path.string(); }, HasSubstr("/pilot/"))));
  EXPECT_THAT(steady.sentence, AllOf(HasSubstr("epochs = "), HasSubstr("--steady 1%"), HasSubstr("1 % at most")));
  EXPECT_THAT(notes.texts,
              testing::Contains(AllOf(HasSubstr("pilot runs of lr=0.1: epochs"), HasSubstr("within a run"))));
}

TEST(RunLength, PilotRunsThatAreThereAreNotMadeAgain) {
  const test::TestFolder folder;
  Notes notes;
  MadeUpRuns first(0.04), second(0.04);
  const auto plan = AskedSweep(kTraining).plan();
  const SteadyPlan before = steady_plan(plan, 0.01, {}, folder.path(), first, notes, "p", "m");
  const SteadyPlan after = steady_plan(plan, 0.01, {}, folder.path(), second, notes, "p", "m");
  EXPECT_TRUE(second.words.empty());
  EXPECT_GT(second.taken, 0);
  EXPECT_EQ(after.plan.fixed.at("epochs"), before.plan.fixed.at("epochs"));
}

// The folder of the pilot runs has the hash of the program's files and the machine in its name.
TEST(RunLength, PilotRunsOfAnotherProgramOrMachineAreNotTaken) {
  const std::vector<std::pair<std::string, std::string>> makers = {{"p", "m"}, {"q", "m"}, {"p", "n"}, {"p", "m"}};
  const test::TestFolder folder;
  std::vector<bool> are_made;
  for (const auto& [program, machine] : makers) {
    MadeUpRuns runs(0.04);
    Notes notes;
    steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes, program, machine);
    are_made.push_back(!runs.words.empty());
  }
  EXPECT_THAT(are_made, ElementsAre(true, true, true, false));
}

TEST(RunLength, ACellThatFailsKeepsTheLengthAndIsTold) {
  const test::TestFolder folder;
  MadeUpRuns runs(0.04);
  runs.fails = true;
  Notes notes;
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes, "p", "m");
  EXPECT_EQ(steady.plan.fixed.at("epochs"), SweepValue{"2"});
  EXPECT_THAT(notes.texts, testing::Contains(HasSubstr("no such data")));
  EXPECT_THAT(steady.sentence, HasSubstr("2 of 2 cells"));
}

TEST(RunLength, SaysOfEachCellWhatItsLastPilotRunTold) {
  const auto told = [](double deviation, int samples, double sensor_period_s) {
    const test::TestFolder folder;
    MadeUpRuns runs(deviation);
    runs.samples = samples;
    runs.sensor_period_s = sensor_period_s;
    Notes notes;
    steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes, "p", "m");
    EXPECT_THAT(notes.texts.front(), AllOf(HasSubstr("by the first pilot run a run takes about "),
                                           HasSubstr(" and each block of 2 cells about ")));
    notes.texts.erase(notes.texts.begin());
    return notes.texts;
  };
  EXPECT_THAT(told(0.04, 5, 0), ElementsAre("pilot runs of lr=0.1: epochs = 60: too few samples for a deviation",
                                            "pilot runs of lr=0.2: epochs = 60: too few samples for a deviation"));
  // Of 60 s the root is 7.7: 0.09 becomes 1.2 %. A sensor of energy needs ten values, thus 100 s.
  EXPECT_THAT(told(0.09, 20, 0), Each(AllOf(HasSubstr("speed deviates by 1.2 % within a run; 1 % would take runs of "),
                                            HasSubstr(", and none is made longer than 1 min 00 s: end what else"))));
  // Beside a load that would take half an hour a run, the first pilot run is the last.
  EXPECT_THAT(told(0.4, 20, 0), Each(AllOf(HasSubstr("epochs = 2: speed deviates by 28 % within a run; 1 % would take "
                                                     "runs of 32 min"),
                                           HasSubstr("or ask for less"))));
  EXPECT_THAT(told(0.039, 20, 10), Each(HasSubstr("within a run; too short for the sensor of energy")));
  EXPECT_THAT(told(0.039, 20, 1), Each(testing::EndsWith("% within a run"))) << "16 s are enough";
}

TEST(RunLength, ALimitOfARunIsOneOfItsLengthToo) {
  const test::TestFolder folder;
  MadeUpRuns runs(0.045);
  Notes notes;
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, 10, folder.path(), runs, notes, "p", "m");
  EXPECT_EQ(steady.plan.fixed.at("epochs"), SweepValue{"10"});
  EXPECT_THAT(steady.sentence, HasSubstr("it still deviates by more"));
}

// What an experiment's file stands for: its fixed options and its axes, and what is wrong with it.

/// An experiment with this text.
class ExperimentTest : public testing::Test {
 protected:
  std::string write(const std::string& text) const {
    const std::filesystem::path path = folder_ / "grid.toml";
    test::write_text(path, text);
    return path.string();
  }
  AskedFile read(const std::string& text, const PlanWords& more = {}) const {
    PlanWords words = {write(text)};
    words.insert(words.end(), more.begin(), more.end());
    return AskedFile(words);
  }
  std::string refused(const std::string& text) const {
    return plan_refusal([&] { read(text).cells(); });
  }

  TestFolder folder_;
};

constexpr const char* kHead = "command = \"train\"\n";

TEST_F(ExperimentTest, ValuesAreOfEveryType) {
  const AskedFile asked = read(R"(
command = "train"
title = "Digits"
repeats = 7
warmup = 1
no-html = true
order-seed = 4
[options]
model = "resnet20"
data = "synth:digits:200"
lr = 0.25
momentum = 0.5
nesterov = true
"$EMPTY" = ""
[axes]
seed = 3
precision = ["fp32", "bf16"]
batch = ["8..24/8", 64]
)");
  EXPECT_EQ(asked.plan().title, "Digits");
  EXPECT_EQ(asked.plan().default_out, "runs/grid");
  EXPECT_EQ(asked.plan().file, (folder_ / "grid.toml").string());
  EXPECT_EQ(*asked.flags.repeats, 7);
  EXPECT_EQ(*asked.flags.warmup, 1);
  EXPECT_EQ(*asked.flags.order_seed, 4u);
  EXPECT_TRUE(*asked.flags.no_html);
  EXPECT_THAT(asked.plan().fixed, AllOf(testing::Contains(Pair("lr", PlanWords{"0.25"})),
                                        testing::Contains(Pair("nesterov", PlanWords{"true"})),
                                        testing::Contains(Pair("$EMPTY", PlanWords{""}))));
  ASSERT_EQ(asked.plan().axes.size(), 3u);
  EXPECT_THAT(asked.plan().axes[0].names, ElementsAre("seed")) << "as they stand in the file";
  EXPECT_THAT(asked.plan().axes[1].names, ElementsAre("precision"));
  EXPECT_THAT(asked.plan().axes[2].steps,
              ElementsAre(PlanWords{"8"}, PlanWords{"16"}, PlanWords{"24"}, PlanWords{"64"}));
}

TEST_F(ExperimentTest, AnOptionThatIsAListHasOneOrSeveralWords) {
  const AskedFile asked = read(R"(
command = "train"
[options]
model = "resnet20"
data = "synth:digits:200"
class = ["a=A/**", "b=B/**"]
[axes]
freeze = [["conv1*", "layer1*"], "layer2*"]
)");
  ASSERT_EQ(asked.plan().axes.size(), 1u);
  EXPECT_THAT(asked.plan().axes[0].steps, ElementsAre(PlanWords{"conv1* layer1*"}, PlanWords{"layer2*"}));
  EXPECT_THAT(asked.cells()[0].words, ElementsAre("train", "resnet20", "--freeze=conv1*", "--freeze=layer1*",
                                                  "--data=synth:digits:200", "--class=a=A/**", "--class=b=B/**"));
  EXPECT_THAT(refused("command = \"train\"\n[options]\nfreeze = []\n"), HasSubstr("line 3: 'freeze' is an empty list"));
}

TEST_F(ExperimentTest, OptionsThatWereTypedComeBeforeThoseOfTheFile) {
  const std::string text = std::string(kHead) + "repeats = 7\nwarmup = 2\n[options]\nmodel = \"resnet20\"\n";
  const AskedFile asked = read(text, {"--warmup", "5"});
  EXPECT_EQ(*asked.flags.repeats, 7);
  EXPECT_EQ(*asked.flags.warmup, 5);
  EXPECT_THAT(plan_refusal([&] { read(text, {"train"}); }), HasSubstr("'train' is one argument too many"));
}

TEST_F(ExperimentTest, KeysThatGoTogetherAreOneAxisBehindTheOthers) {
  const AskedFile asked = read(R"(
command = "train"
[options]
model = "resnet20"
data = "synth:digits:200"
[[together]]
batch = [16, 32]
lr = [0.1, 0.2]
[axes]
seed = [1, 2, 3]
[[exclude]]
seed = ["2..3"]
batch = 32
)");
  ASSERT_EQ(asked.plan().axes.size(), 2u);
  EXPECT_THAT(asked.plan().axes[1].names, ElementsAre("batch", "lr"));
  EXPECT_THAT(asked.plan().axes[1].steps, ElementsAre(PlanWords({"16", "0.1"}), PlanWords({"32", "0.2"})));
  ASSERT_EQ(asked.plan().exclusions.size(), 1u);
  EXPECT_THAT(asked.plan().exclusions[0].at("seed"), ElementsAre("2", "3"));
  std::vector<std::string> cells;
  for (const auto& cell : asked.cells()) cells.push_back(cell.values.at("seed") + "/" + cell.values.at("batch"));
  EXPECT_THAT(cells, ElementsAre("1/16", "1/32", "2/16", "3/16"));
}

TEST_F(ExperimentTest, AScaleReplacesKeysAndMovesOptionsToAxesAndBack) {
  const std::string text = R"(
command = "train"
title = "whole"
[options]
model = "resnet20"
data = "synth:digits:60000"
batch = 16
[axes]
lr = [0.1, 0.2]
seed = [1, 2, 3]
[scale.small]
title = "part"
[scale.small.options]
lr = 0.3
[scale.small.axes]
batch = [32, 64]
seed = [4]
)";
  const AskedFile small = read(text, {"--scale", "small"});
  EXPECT_EQ(small.plan().title, "part");
  EXPECT_EQ(small.plan().default_out, "runs/grid-small");
  EXPECT_THAT(small.plan().fixed.at("lr"), ElementsAre("0.3"));
  EXPECT_THAT(small.plan().fixed.at("data"), ElementsAre("synth:digits:60000"));
  EXPECT_FALSE(small.plan().fixed.contains("batch"));
  std::vector<std::string> axes;
  for (const auto& axis : small.plan().axes) axes.push_back(axis.names.front() + "/" + axis.steps.front().front());
  EXPECT_THAT(axes, UnorderedElementsAre("batch/32", "seed/4"));
  const AskedFile whole = read(text);
  EXPECT_EQ(whole.plan().axes.size(), 2u);
  EXPECT_THAT(whole.plan().fixed.at("batch"), ElementsAre("16"));
}

TEST_F(ExperimentTest, WhatIsWrongIsToldWithItsLine) {
  const std::vector<std::pair<std::string, const char*>> wrong = {
      {"title = 3\n", "line 2: 'title' is no text"},
      {"scale = 1\n[axes]\nbatch = [16]\n[options]\nbatch = 16\n", "line 4: 'batch' stands under [options] as well"},
      {"again = \"failed\"\n", "line 2: "},
      {"dry-run = true\n", "line 2: "},
      {"options = 3\n", "line 2: [options] is a table"},
      {"axes = 3\n", "line 2: [axes] is a table"},
      {"[options]\nlr = \"\"\n", "line 3: 'lr' is empty; leave the line out"},
      {"[options]\nlr = 2020-01-01\n", "line 3: 'lr' has a value that no option takes"},
      {"[options]\nnesterov = 1\n", "line 3: 'nesterov' is a switch"},
      {"[options]\n\"$A\" = [1, 2]\n", "line 3: '$A' takes one value; several are an axis"},
      {"[axes]\nlr = [0.1, [0.2, 0.3]]\n", "'lr' takes one value"},
      {"[axes]\nbatch = \"4..1\"\n", "line 3: the range '4..1' ends before it begins"},
      {"[[together]]\n", "[[together]] has no keys"},
      {"together = [{lr = [0.1]}, 1]\n", "'together' is written as [[together]]"},
      {"together = [1]\n", "'together' is written as [[together]]"},
      {"[axes]\nlr = [0.1]\n[[exclude]]\nlr = 0.2\n", "line 5: [[exclude]]: the axis 'lr' has no value '0.2'"},
      {"[axes]\nlr = [0.1]\n[[exclude]]\n", "line 4: [[exclude]] names no value"}};
  for (const auto& [text, message] : wrong) EXPECT_THAT(refused(kHead + text), HasSubstr(message)) << text;
  EXPECT_THAT(refused("title = \"a\"\ncommand = \"trian\"\n"), HasSubstr("line 2: 'trian' is no command"));
}

}  // namespace

}  // namespace evener::sweeps
