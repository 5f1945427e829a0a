// What the demo compares, and how much of it; what a sweep takes over from an earlier one, and what it asks a plan,
// made of a shell script here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "app/commands.h"
#include "app/demo/demo_job.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/own_program.h"
#include "base/test_folder.h"
#include "placement/placement.h"
#include "sweep/asked_sweep.h"
#include "sweep/figures/reference.h"
#include "sweep/options.h"
#include "sweep/run/identity.h"
#include "sweep/sweep_job.h"

namespace evener::sweeps {
namespace {

using test::Notes;
using test::TestFolder;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

placement::Machine machine_of(int cores) {
  placement::Machine machine;
  machine.cores = cores;
  return machine;
}

TEST(DemoPlan, HasEveryKindOfWay) {
  EXPECT_THAT(app::demo_ways(machine_of(1)), ElementsAre("cpu/t1"));
  EXPECT_THAT(app::demo_ways(machine_of(2)),
              ElementsAre("cpu/t1", "cpu/t2", "2xcpu/t1", "cpu/t1..cpu/t1", "cpu/t1+cpu/t1@0.5"));
  placement::Machine with_gpu = machine_of(16);
  with_gpu.cuda.devices.resize(1);
  const auto ways = app::demo_ways(with_gpu);
  EXPECT_THAT(ways, ElementsAre("cpu/t1", "cpu/t16", "2xcpu/t8", "cpu/t8..cpu/t8", "cpu/t8+cpu/t8@0.5", "cuda:0",
                                "cuda:0+cpu"));
  for (const std::string& way : ways) EXPECT_NO_THROW(placement::parse(way)) << way;
  EXPECT_THAT(app::ways_sentence(ways),
              AllOf(HasSubstr("cpu/t1, one thread; cpu/t16, all threads"), HasSubstr("2xcpu/t8, two equal replicas"),
                    HasSubstr("cpu/t8..cpu/t8, the layers are divided"), HasSubstr("@0.5, two unequal"),
                    HasSubstr("cuda:0+cpu, GPU and CPU share")));
  EXPECT_THAT(app::demo_precisions(machine_of(2)), ElementsAre("fp32"));
  EXPECT_THAT(app::demo_precisions(with_gpu), ElementsAre("fp32", "bf16"));
}

TEST(DemoPlan, MoreTimeGivesRepeatsFirstAndThenLongerRuns) {
  const app::DemoTraining& training = app::demo_trainings()[1];
  const app::ProbedTraining probed{.start_s = 1, .image_s = 0.001};
  const app::DemoSize hurried = app::demo_size(training, probed, 5, 6);
  EXPECT_EQ(hurried.repeats, 1);
  EXPECT_EQ(hurried.images, training.fewest_images);
  EXPECT_FALSE(hurried.learns);
  const app::DemoSize usual = app::demo_size(training, probed, 5, 90);
  EXPECT_EQ(usual.repeats, 3);
  EXPECT_TRUE(usual.learns);
  // Runs of 6 s, of which 5 s are training: 5000 trained images in 4 epochs.
  EXPECT_NEAR(usual.images, 5000 / 4.0 / training.train_share, 1);
  const app::DemoSize long_one = app::demo_size(training, probed, 5, 1000);
  EXPECT_EQ(long_one.repeats, 5);
  EXPECT_EQ(app::demo_size(training, probed, 5, 1e6).images, training.most_images);
}

TEST(DemoPlan, ExperimentsAreWhatSweepReads) {
  const test::TestFolder folder;
  for (const app::DemoTraining& training : app::demo_trainings()) {
    const auto file = folder / (training.name + ".toml");
    write_file_atomically(file, app::training_experiment(training, {3, 600, true}, {"cpu/t1", "2xcpu/t1"},
                                                         {"fp32", "bf16"}, 7, 30, folder / "with \"quotes\""));
    SweepFlags flags;
    flags.what.read({file.string()});
    complete(flags, app::measured_commands());
    const record::SweepRecord sweep = asked_for(flags);
    EXPECT_EQ(sweep.cells.size(), 4U);
    EXPECT_EQ(sweep.repeats, 3);
    EXPECT_EQ(sweep.time_limit_s, 30);
    EXPECT_THAT(sweep.cells[0].words, testing::Contains("--seed=7"));
  }
  const auto file = folder / "inference.toml";
  write_file_atomically(file, app::inference_experiment(app::demo_trainings()[1], "resnet20", "resnet18",
                                                        {"fp32", "bf16"}, 2, 7, folder / "out"));
  SweepFlags flags;
  flags.what.read({file.string()});
  complete(flags, app::measured_commands());
  const auto cells = cells_of(flags.plan);
  EXPECT_EQ(cells.size(), 3U) << "two precisions, and int8";
  EXPECT_THAT(cells[0].words, testing::IsSupersetOf({"synth:digits:4000", "--seed=8"})) << "images of another seed";
}

TEST(DemoPlan, PublishedFiguresNameCellsOfThePerceptron) {
  const test::TestFolder folder;
  write_file_atomically(folder / "published.csv", app::demo_reference(4));
  const auto rows = read_reference(folder / "published.csv");
  ASSERT_EQ(rows.size(), 5U);
  const auto ways = app::demo_ways(machine_of(4));
  for (const auto& row : rows) {
    EXPECT_THAT(ways, testing::Contains(row.measured.at("on"))) << row.cell;
  }
}

record::SweepCell cell_with(const std::vector<std::string>& words) {
  record::SweepCell cell;
  cell.words = {"train", "mlp:4-2"};
  cell.words.insert(cell.words.end(), words.begin(), words.end());
  return cell;
}

/// A program that tells each line of its words and a variable in calls.txt and answers with plan.json; or fails.
class Planner {
 public:
  explicit Planner(const std::string& end) {
    test::write_text(program(), "#!/bin/sh\necho \"$* POLICY=$POLICY\" >> " + (folder_ / "calls.txt").string() +
                                    "\nfor last; do :; done\n" + end + "\n");
    std::filesystem::permissions(program(), std::filesystem::perms::owner_all);
  }
  std::filesystem::path program() const { return folder_ / "planner"; }
  std::vector<std::string> calls() const {
    std::ifstream file(folder_ / "calls.txt");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  TestFolder folder_;
};

constexpr const char* kAnswer =
    R"(echo '{"placements": [{"placement": "cpu/t1", "images_per_s": 40, "epoch_s": 5},
                             {"placement": "cpu/t2", "images_per_s": 70, "epoch_s": 3},
                             {"placement": "cuda:0", "refused": "there is none"}]}' > "$last")";

TEST(SweepPredictions, OnePlanForEachKindOfWorkWithItsPlacements) {
  const Planner planner(kAnswer);
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.cells = {cell_with({"--on=cpu/t1", "--epochs=2", "--batch=8"}),
                 cell_with({"--on=cpu/t2", "--epochs=4", "--batch=8"}),
                 cell_with({"--on=cpu/t1", "--epochs=7", "--batch=8", "--lr=0.3"}),
                 cell_with({"--on=cpu/t2", "--batch=16", "--precision=bf16", "--seed=5"}),
                 cell_with({"--on=cpu/t2", "--batch=8"}),
                 cell_with({"--on=cpu/t2", "--batch=32"}),
                 cell_with({"--on=cuda:0", "--idle=3", "--batch=8"}),
                 cell_with({"--on=cpu/t4", "--batch=8"})};
  sweep.cells[4].environment = {{"POLICY", "passive"}};
  sweep.cells[5].predicted = record::CellPrediction{.images_per_s = 1, .run_s = 2};
  Notes notes;
  predict(app::measured_commands(), sweep, notes, planner.program());
  const std::vector<std::string> calls = planner.calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_THAT(
      calls,
      Contains(AllOf(HasSubstr("plan mlp:4-2 --epochs=2 --batch=8 --on=cpu/t1,cpu/t2,cuda:0,cpu/t4 --quiet --json "),
                     testing::EndsWith("POLICY="))));
  EXPECT_THAT(calls, Contains(AllOf(HasSubstr("--batch=8 --on=cpu/t2 --quiet"), testing::EndsWith("POLICY=passive"))));
  EXPECT_THAT(calls, Contains(AllOf(HasSubstr("--batch=16 --precision=bf16 --seed=5 --on=cpu/t2 --quiet"),
                                    testing::EndsWith("POLICY="))));
  const std::vector<double> run_s = {10, 12, 35, 30, 30, 2}, speed = {40, 70, 40, 70, 70, 1};
  for (std::size_t i = 0; i < run_s.size(); ++i) {
    ASSERT_TRUE(sweep.cells[i].predicted) << i;
    EXPECT_EQ(sweep.cells[i].predicted->run_s, run_s[i]) << i;
    EXPECT_EQ(sweep.cells[i].predicted->images_per_s, speed[i]) << i;
  }
  EXPECT_FALSE(sweep.cells[6].predicted) << "the plan refused it";
  EXPECT_FALSE(sweep.cells[7].predicted) << "the plan doesn't name it";
  EXPECT_THAT(notes.texts, Contains("planning cpu/t1, cpu/t2, cuda:0, cpu/t4"));
}

TEST(SweepPredictions, AreOfTheTrainingThatWeightsMakeOfTheWords) {
  const Planner planner(kAnswer);
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.cells = {cell_with({"--weights=w.pth", "--on=cpu/t1"}),
                 cell_with({"--weights=w.pth", "--on=cpu/t1", "--patience=1"}),
                 cell_with({"--weights=w.pth", "--on=cpu/t1", "--lr=0.1"})};
  Notes notes;
  predict(app::measured_commands(), sweep, notes, planner.program());
  const std::vector<std::string> calls = planner.calls();
  EXPECT_EQ(calls.size(), 2u) << "with a rate of its own a batch has 64 images, else 12";
  EXPECT_THAT(calls, Contains(HasSubstr("plan mlp:4-2 --weights=w.pth --lr=0.1 --on=cpu/t1")));
  const std::vector<double> run_s = {6 * 5, 6 * 5, 10 * 5};
  for (std::size_t i = 0; i < run_s.size(); ++i) EXPECT_EQ(sweep.cells[i].predicted->run_s, run_s[i]) << i;
}

TEST(SweepPredictions, WhatCannotBePlannedIsToldAndStaysWithout) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.cells = {cell_with({"--on=cpu/t1"})};
  Notes failed, silent, garbled;
  predict(app::measured_commands(), sweep, failed,
          Planner("echo first >&2; echo evener: no data >&2; exit 2").program());
  EXPECT_THAT(failed.texts, Contains("no prediction: evener: no data"));
  predict(app::measured_commands(), sweep, silent, Planner("exit 4").program());
  EXPECT_THAT(silent.texts, Contains("no prediction: exit code 4"));
  predict(app::measured_commands(), sweep, garbled, Planner("echo '{' > \"$last\"").program());
  EXPECT_FALSE(sweep.cells[0].predicted);
  sweep.command = "infer";
  EXPECT_THROW(predict(app::measured_commands(), sweep, silent, "/bin/false"), UsageError);
}

record::SweepRecord with_series(const std::vector<std::pair<std::string, std::string>>& programs_and_machines) {
  record::SweepRecord sweep;
  for (const auto& [program, machine] : programs_and_machines) {
    sweep.series.push_back({static_cast<int>(sweep.series.size()) + 1, "", program, machine});
  }
  return sweep;
}

TEST(SweepSeriesTest, IsThatOfTheProgramAndTheMachine) {
  record::SweepRecord first;
  EXPECT_EQ(choose_series(first, std::nullopt, "p", "m"), "");
  EXPECT_EQ(first.series_now, 1);
  ASSERT_EQ(first.series.size(), 1u);
  EXPECT_EQ(first.series[0].program + first.series[0].machine, "pm");
  const record::SweepRecord earlier = with_series({{"p", "m"}, {"q", "m"}, {"p", "n"}});
  const auto chosen = [&](const std::string& program, const std::string& machine) {
    record::SweepRecord sweep;
    const std::string news = choose_series(sweep, earlier, program, machine);
    return std::to_string(sweep.series_now) + " of " + std::to_string(sweep.series.size()) + news;
  };
  EXPECT_EQ(chosen("p", "m"), "1 of 3") << "one that began earlier goes on";
  EXPECT_EQ(chosen("q", "m"), "2 of 3");
  EXPECT_EQ(chosen("p", "n"), "3 of 3");
  EXPECT_THAT(chosen("q", "n"), testing::StartsWith("4 of 4a new series begins: the program is another"));
  EXPECT_THAT(chosen("p", "o"), testing::StartsWith("4 of 4a new series begins: the machine is another"));
}

TEST(SweepSeriesTest, PredictionsAreKeptWithinOne) {
  record::SweepRecord earlier = with_series({{"p", "m"}}), sweep = with_series({{"p", "m"}});
  earlier.cells = {cell_with({}), cell_with({})};
  earlier.cells[0].key = "a", earlier.cells[1].key = "b";
  earlier.cells[0].predicted = record::CellPrediction{.images_per_s = 3, .run_s = 4};
  sweep.cells = {cell_with({}), cell_with({}), cell_with({})};
  sweep.cells[0].key = "c", sweep.cells[1].key = "a", sweep.cells[2].key = "b";
  keep_predictions(earlier, sweep);
  EXPECT_FALSE(sweep.cells[0].predicted);
  ASSERT_TRUE(sweep.cells[1].predicted);
  EXPECT_EQ(sweep.cells[1].predicted->run_s, 4);
  EXPECT_FALSE(sweep.cells[2].predicted);
  record::SweepRecord next = with_series({{"p", "m"}, {"q", "m"}});
  next.cells = {cell_with({})};
  next.cells[0].key = "a";
  keep_predictions(earlier, next);
  EXPECT_FALSE(next.cells[0].predicted) << "another program may be faster";
}

TEST(SweepPlaces, AreRelativeNamesThatRunsRead) {
  SweepPlan plan;
  const auto places = [&](const std::string& key, const std::vector<std::string>& words) {
    plan.fixed = {{key, words}};
    return named_places(plan);
  };
  for (const char* key : {"data", "images", "dir", "calibration-data"}) {
    EXPECT_THAT(places(key, {"a", "b/c"}), ElementsAre("a", "b/c")) << key;
  }
  for (const char* key : {"model", "weights", "labels", "detector", "detector-weights", "embedder"}) {
    EXPECT_THAT(places(key, {"a", "b/c"}), ElementsAre("b/c")) << key << ": others may be names";
  }
  EXPECT_THAT(places("data", {"synth:digits", "/there", "-", "a*", "b?", "[c]"}), IsEmpty());
  EXPECT_THAT(places("batch", {"a/b"}), IsEmpty());
  plan.fixed = {{"data", {"x"}}};
  plan.values["weights"] = {{"r/1", {"r/1"}}, {"imagenet", {"imagenet"}}};
  plan.values["data"] = {{"y z", {"y", "z"}}};
  EXPECT_THAT(named_places(plan), testing::UnorderedElementsAre("x", "y", "z", "r/1"));
}

TEST(SweepDryRun, CountsWhatIsDoneAndToCome) {
  std::string program;
  try {
    program = program_identity();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const TestFolder folder;
  SweepFlags flags;
  flags.what.read({"matmul", "64,128,256", "--repeats", "3"});
  flags.out.read({folder.path().string()});
  complete(flags, app::measured_commands());
  Notes notes;
  const std::string before = sweep_dry_run_text(flags, notes);
  EXPECT_THAT(before,
              AllOf(HasSubstr("3 cells of 'evener matmul'"), HasSubstr("n=64: 5 runs to come: evener matmul 64 "),
                    HasSubstr("0 runs done, 15 to come; how long")));
  record::SweepRecord sweep = asked_for(flags);
  choose_series(sweep, std::nullopt, program, machine_identity());
  record::write_sweep(folder.path(), sweep);
  record::JournalWriter journal(folder.path());
  for (int block = 1; block <= 2; ++block) {
    record::SweepRun run;
    run.cell = sweep.cells[1].key;
    run.block = block;
    run.folder = "x/b00" + std::to_string(block);
    run.end = record::RunEnd::kDone;
    run.seconds = 10.0 * block;
    journal.end(run);
  }
  EXPECT_THAT(sweep_dry_run_text(flags, notes),
              AllOf(HasSubstr("n=128: 3 runs to come"), HasSubstr("n=256: 5 runs to come"),
                    HasSubstr("2 runs done, 13 to come, about " + duration_text(13 * 15)), Not(HasSubstr("series"))));
  SweepFlags steady;
  steady.what.read({"--steady", "3%", "matmul", "64,128,256", "--repeats", "3"});
  steady.out.read({folder.path().string()});
  complete(steady, app::measured_commands());
  EXPECT_THAT(
      sweep_dry_run_text(steady, notes),
      HasSubstr("pilot runs come first, which make seconds so large that within a run speed deviates by 3 %\n"));
  sweep.series.front().program = "another";
  record::write_sweep(folder.path(), sweep);
  EXPECT_THAT(sweep_dry_run_text(flags, notes),
              AllOf(HasSubstr("a new series begins: the program is another"), HasSubstr("0 runs done, 15 to come")));
}

}  // namespace
}  // namespace evener::sweeps
