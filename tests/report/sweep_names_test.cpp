// By which figure cells are compared, and how they are called beside each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sweep_claims.h"
#include "report/sweep_scaling.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using testing::HasSubstr;

Sweep two_ways() {
  return test::simulate(test::simulated_record(2, 5), {.speeds = {100, 200}}, 1);
}

TEST(MainFigure, IsASpeedThatAllCellsHave) {
  Sweep sweep = two_ways();
  const SweepFigure speed = *sweep.cells[0].figure("images_per_s");
  SweepFigure latency = speed;
  latency.metric.name = "latency";
  sweep.cells[0].figures.insert(sweep.cells[0].figures.begin(), latency);
  sweep.jobs.clear();
  make_claims(sweep);
  EXPECT_EQ(sweep.main_figure, "images_per_s") << "the second cell has no latency";
  sweep.cells[1].figures.insert(sweep.cells[1].figures.begin(), latency);
  sweep.jobs.clear();
  make_claims(sweep);
  EXPECT_EQ(sweep.main_figure, "latency");
}

TEST(NameAmong, LeavesOutWhatIsTheSame) {
  Sweep sweep = two_ways();
  sweep.record.axes.push_back({.names = {"batch"}, .steps = {{"8"}, {"16"}}});
  for (SweepCellRuns& cell : sweep.cells) cell.cell.values["batch"] = "8";
  EXPECT_EQ(name_among(sweep, {0, 1}, 1), "on=way-1");
  sweep.cells[1].cell.values["batch"] = "16";
  EXPECT_EQ(name_among(sweep, {0, 1}, 1), "on=way-1, batch=16");
  EXPECT_EQ(name_among(sweep, {1}, 1), sweep.cells[1].name);
}

TEST(ShownValue, LeavesOutTheFolderThatAllValuesAreIn) {
  const std::vector<record::SweepAxis> axes = {
      {.names = {"model", "precision"}, .steps = {{"runs/a", "fp32"}, {"runs/b", "bf16"}}},
      {.names = {"data"}, .steps = {{"photos/"}, {"more/photos"}}},
      {.names = {"on"}, .steps = {{"cpu/t1"}, {"cpu/t2"}}},
      {.names = {"dir"}, .steps = {{"photos/"}}}};
  EXPECT_EQ(shown_value(axes, "model", "runs/a"), "a");
  EXPECT_EQ(shown_value(axes, "precision", "fp32"), "fp32");
  EXPECT_EQ(shown_value(axes, "data", "more/photos"), "more/photos");
  EXPECT_EQ(shown_value(axes, "on", "cpu/t1"), "cpu/t1");
  EXPECT_EQ(shown_value(axes, "dir", "photos/"), "photos/");
}

TEST(ScalingSentence, SaysNothingOfAShareThatCouldBeAny) {
  SweepScaling scaling;
  scaling.name = "threads";
  scaling.scaling.workers.resize(2);
  scaling.scaling.workers.back().workers = 2;
  scaling.scaling.fit = record::AmdahlFit{};
  scaling.scaling.fit->serial_share = 0.4;
  scaling.scaling.share_interval = record::Interval{0, 1};
  EXPECT_EQ(scaling_sentence(scaling), "");
  scaling.scaling.share_interval = record::Interval{0.2, 1};
  EXPECT_THAT(scaling_sentence(scaling), HasSubstr("40.0 % of the work stays serial"));
}

}  // namespace
}  // namespace evener::report
