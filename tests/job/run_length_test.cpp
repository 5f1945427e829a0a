// `evener sweep --steady`: which option makes runs longer, and what the pilot runs of its cells come to.
#include "job/sweep/run_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/test_folder.h"
#include "job/asked_sweep.h"

namespace evener::job {
namespace {

using test::AskedSweep;
using test::PlanWords;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Leaves records of runs whose samples lie so far apart that a run of E epochs deviates by about `deviation` /
/// sqrt(E).
class MadeUpRuns : public bench::Executor {
 public:
  explicit MadeUpRuns(double deviation) : deviation_(deviation) {}

  bench::ExecutedRun execute(const record::SweepCell& cell, const fs::path& folder) override {
    words.push_back(cell.words);
    folders.push_back(folder);
    if (fails) return {.end = record::RunEnd::kFailed, .reason = "no such data", .seconds = 0.1, .figure = {}};
    record::Record record;
    record.status = record::Status::kDone;
    const double epochs = to_number<double>(cell.words.back().substr(cell.words.back().find('=') + 1)).value();
    // Of 20 samples the median's interval goes from the sixth to the fifteenth.
    const double apart = deviation_ * 3.92 / 9 / std::sqrt(epochs);
    std::vector<double> rates;
    for (int n = 0; n < 20; ++n) rates.push_back(1 + apart * ((7 * n % 20) - 9.5));
    record.images_per_s = record::throughput_of(std::move(rates), "blocks");
    fs::create_directories(folder);
    record::write_record(folder, record);
    return {.end = record::RunEnd::kDone, .reason = {}, .seconds = epochs, .figure = 1};
  }
  std::optional<bench::ExecutedRun> left_in(const fs::path& folder) override {
    if (!fs::exists(folder / "record.json")) return std::nullopt;
    ++taken;
    return bench::ExecutedRun{.end = record::RunEnd::kDone, .reason = {}, .seconds = 1, .figure = 1};
  }

  std::vector<std::vector<std::string>> words;
  std::vector<fs::path> folders;
  int taken = 0;
  bool fails = false;

 private:
  double deviation_;
};

class Notes : public Observer {
 public:
  void note(const std::string& text) override { texts.push_back(text); }
  std::vector<std::string> texts;
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
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes);
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
  const SteadyPlan before = steady_plan(plan, 0.01, {}, folder.path(), first, notes);
  const SteadyPlan after = steady_plan(plan, 0.01, {}, folder.path(), second, notes);
  EXPECT_TRUE(second.words.empty());
  EXPECT_GT(second.taken, 0);
  EXPECT_EQ(after.plan.fixed.at("epochs"), before.plan.fixed.at("epochs"));
}

TEST(RunLength, ACellThatFailsKeepsTheLengthAndIsTold) {
  const test::TestFolder folder;
  MadeUpRuns runs(0.04);
  runs.fails = true;
  Notes notes;
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, {}, folder.path(), runs, notes);
  EXPECT_EQ(steady.plan.fixed.at("epochs"), SweepValue{"2"});
  EXPECT_THAT(notes.texts, testing::Contains(HasSubstr("no such data")));
  EXPECT_THAT(steady.sentence, HasSubstr("2 of 2 cells"));
}

TEST(RunLength, ALimitOfARunIsOneOfItsLengthToo) {
  const test::TestFolder folder;
  MadeUpRuns runs(0.4);
  Notes notes;
  const SteadyPlan steady = steady_plan(AskedSweep(kTraining).plan(), 0.01, 10, folder.path(), runs, notes);
  EXPECT_EQ(steady.plan.fixed.at("epochs"), SweepValue{"10"});
  EXPECT_THAT(steady.sentence, HasSubstr("it still deviates by more"));
}

}  // namespace
}  // namespace evener::job
