// The journal of a sweep and its sweep.json: what is written comes back, and what each line does to those before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "record/sweep_file.h"

namespace evener::record {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SweepRun run_of(const std::string& cell, int block, const std::string& part = kMeasurePart, int series = 1) {
  SweepRun run;
  run.series = series;
  run.cell = cell;
  run.part = part;
  run.block = block;
  run.folder = cell + "/" + part + std::to_string(block);
  run.began = "2026-11-24T10:00:0" + std::to_string(block) + "Z";
  return run;
}

SweepRun ended(SweepRun run, RunEnd end, std::optional<double> seconds = 2.5, std::optional<double> figure = {},
               const std::string& reason = "") {
  run.end = end;
  run.seconds = seconds;
  run.figure = figure;
  run.reason = reason;
  return run;
}

SweepJournal journal_of(const std::string& lines) {
  const test::TestFolder folder;
  test::write_text(folder / kJournalFile, lines);
  return read_journal(folder.path());
}

/// "a1 done, b2 begun": the runs in their order.
std::string runs_text(const SweepJournal& journal) {
  std::string text;
  for (const SweepRun& run : journal.runs) {
    text += (text.empty() ? "" : ", ") + run.cell + std::to_string(run.block) + " " + run_end_name(run.end);
  }
  return text;
}

TEST(SweepJournal, WhatIsWrittenComesBack) {
  const test::TestFolder folder;
  EXPECT_THAT(read_journal(folder.path()).runs, IsEmpty());
  JournalWriter writer(folder.path());
  writer.block({.series = 2, .part = kEnergyPart, .block = 7, .cells = {"b", "a"}});
  writer.begin(run_of("a", 7, kEnergyPart, 2));
  writer.end(ended(run_of("a", 7, kEnergyPart, 2), RunEnd::kInvalid, 12.5, 99.25, "others took the processor"));
  writer.begin(run_of("b", 8, kWarmupPart, 3));
  const SweepJournal journal = read_journal(folder.path());
  EXPECT_THAT(journal.warnings, IsEmpty());
  ASSERT_EQ(journal.blocks.size(), 1U);
  EXPECT_EQ(journal.blocks[0].series, 2);
  EXPECT_EQ(journal.blocks[0].part, kEnergyPart);
  EXPECT_EQ(journal.blocks[0].block, 7);
  EXPECT_THAT(journal.blocks[0].cells, ElementsAre("b", "a"));
  ASSERT_EQ(journal.runs.size(), 2U);
  const SweepRun& whole = journal.runs[0];
  EXPECT_EQ(whole.series, 2);
  EXPECT_EQ(whole.cell, "a");
  EXPECT_EQ(whole.part, kEnergyPart);
  EXPECT_EQ(whole.block, 7);
  EXPECT_EQ(whole.folder, "a/energy7");
  EXPECT_EQ(whole.began, "2026-11-24T10:00:07Z");
  EXPECT_EQ(whole.end, RunEnd::kInvalid);
  EXPECT_EQ(whole.seconds, 12.5);
  EXPECT_EQ(whole.figure, 99.25);
  EXPECT_EQ(whole.reason, "others took the processor");
  EXPECT_EQ(journal.runs[1].end, RunEnd::kBegun);
  EXPECT_EQ(journal.runs[1].part, kWarmupPart);
  EXPECT_EQ(journal.runs[1].seconds, std::nullopt);
  EXPECT_EQ(journal.runs[1].figure, std::nullopt);
}

TEST(SweepJournal, EachEndHasItsNameAndOnlyTwoLeaveFigures) {
  const std::pair<RunEnd, const char*> ends[] = {
      {RunEnd::kDone, "done"},     {RunEnd::kInvalid, "invalid"},           {RunEnd::kFailed, "failed"},
      {RunEnd::kKilled, "killed"}, {RunEnd::kOutOfMemory, "out of memory"}, {RunEnd::kOutOfTime, "out of time"}};
  for (const auto& [end, name] : ends) {
    EXPECT_STREQ(run_end_name(end), name);
    const test::TestFolder folder;
    JournalWriter(folder.path()).end(ended(run_of("a", 1), end));
    EXPECT_EQ(read_journal(folder.path()).runs.at(0).end, end) << name;
    EXPECT_EQ(has_figures(end), end == RunEnd::kDone || end == RunEnd::kInvalid) << name;
  }
  EXPECT_STREQ(run_end_name(RunEnd::kBegun), "begun");
  EXPECT_FALSE(has_figures(RunEnd::kBegun));
  EXPECT_THAT(journal_of(R"({"event":"end","cell":"a","status":"begun"})"
                         "\n")
                  .warnings,
              ElementsAre(HasSubstr("status")));
}

TEST(SweepJournal, AnEndBelongsToTheRunOfItsSeriesCellPartAndBlock) {
  const test::TestFolder folder;
  JournalWriter writer(folder.path());
  const std::vector<SweepRun> others{run_of("a", 1, kMeasurePart, 2), run_of("b", 1), run_of("a", 1, kEnergyPart),
                                     run_of("a", 2), run_of("a", 1)};
  for (const SweepRun& run : others) writer.begin(run);
  writer.end(ended(run_of("a", 1), RunEnd::kDone));
  const SweepJournal journal = read_journal(folder.path());
  ASSERT_EQ(journal.runs.size(), 5U);
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(journal.runs[n].end, n == 4 ? RunEnd::kDone : RunEnd::kBegun) << n;
    EXPECT_EQ(journal.runs[n].began, others[n].began) << "the time of the beginning, not of the end";
  }
}

TEST(SweepJournal, ARunThatBeginsAgainComesLastAndOnce) {
  const test::TestFolder folder;
  JournalWriter writer(folder.path());
  writer.begin(run_of("a", 1));
  writer.begin(run_of("b", 1));
  writer.begin(run_of("a", 1));
  writer.end(ended(run_of("a", 1), RunEnd::kDone));
  writer.end(ended(run_of("c", 1), RunEnd::kFailed));  // whose beginning was lost
  EXPECT_EQ(runs_text(read_journal(folder.path())), "b1 begun, a1 done, c1 failed");
}

TEST(SweepJournal, AgainForgetsWhatIsNotGoodOfThatCellAndSeriesAlone) {
  const test::TestFolder folder;
  JournalWriter writer(folder.path());
  writer.block({.series = 1, .block = 1, .cells = {"a", "b"}});
  writer.block({.series = 2, .block = 1, .cells = {"b", "a"}});
  writer.block({.series = 1, .block = 2, .cells = {"c", "a", "b"}});
  writer.end(ended(run_of("a", 1), RunEnd::kDone));
  writer.end(ended(run_of("a", 2), RunEnd::kFailed));
  writer.end(ended(run_of("a", 3), RunEnd::kInvalid));
  writer.begin(run_of("a", 4));
  writer.end(ended(run_of("b", 5), RunEnd::kFailed));
  writer.end(ended(run_of("a", 6, kMeasurePart, 2), RunEnd::kKilled));
  writer.again(1, "a");
  SweepJournal journal = read_journal(folder.path());
  EXPECT_EQ(runs_text(journal), "a1 done, b5 failed, a6 killed");
  EXPECT_THAT(journal.blocks[0].cells, ElementsAre("b"));
  EXPECT_THAT(journal.blocks[1].cells, ElementsAre("b", "a")) << "of another series";
  EXPECT_THAT(journal.blocks[2].cells, ElementsAre("c", "b"));
  writer.end(ended(run_of("a", 2), RunEnd::kDone));  // what comes after it counts
  EXPECT_EQ(runs_text(read_journal(folder.path())), "a1 done, b5 failed, a6 killed, a2 done");
}

TEST(SweepJournal, LinesThatCantBeReadAreLeftOutAndTold) {
  const std::string good = R"({"event":"begin","cell":"a","block":3,"folder":"a/3","at":"then"})";
  const SweepJournal journal = journal_of(
      good + "\n\nnoise\n" + R"({"event":"stop"})" + "\n" + R"({"event":"begin","cell":"b","folder":"../b"})" + "\n" +
      R"({"event":"begin","cell":"b","folder":"/b"})" + "\n" + R"({"event":"begin","cell":"b","folder":"b/../../c"})" +
      "\n" + R"({"event":"begin","cell":"b","block":4,"folder":"b..c/4"})" + "\n" +
      R"({"event":"end","cell":"a","block":3,"status":"do)");
  EXPECT_EQ(runs_text(journal), "a3 begun, b4 begun") << "the last line was being written";
  EXPECT_THAT(
      journal.warnings,
      ElementsAre(AllOf(HasSubstr("line 3"), HasSubstr("not JSON")), AllOf(HasSubstr("line 4"), HasSubstr("event")),
                  AllOf(HasSubstr("line 5"), HasSubstr("folder")), AllOf(HasSubstr("line 6"), HasSubstr("folder")),
                  AllOf(HasSubstr("line 7"), HasSubstr("folder"))));
}

TEST(SweepJournal, ALineThatWasCutShortGetsItsEnd) {
  const test::TestFolder folder;
  { JournalWriter(folder.path()).begin(run_of("a", 1)); }
  { JournalWriter(folder.path()).begin(run_of("b", 2)); }
  const std::string whole = read_file(folder / kJournalFile, 1 << 20);
  EXPECT_EQ(std::ranges::count(whole, '\n'), 2) << "nothing is added where nothing is missing";
  test::write_text(folder / kJournalFile, whole + R"({"event":"end")");
  { JournalWriter(folder.path()).begin(run_of("c", 3)); }
  EXPECT_EQ(runs_text(read_journal(folder.path())), "a1 begun, b2 begun, c3 begun");
}

SweepRecord whole_sweep() {
  SweepRecord sweep;
  sweep.title = "Threads";
  sweep.command = "train";
  sweep.started = "2026-11-24T10:00:00Z";
  sweep.version = "1.2.3";
  sweep.words = {"sweep", "train", "--on=cpu/t1,cpu/t2"};
  sweep.axes = {{{"on", "$OMP_WAIT_POLICY"}, {{"cpu/t1", "active"}, {"cpu/t2", "passive"}}}, {{"batch"}, {{"8"}}}};
  sweep.cells = {
      {.key = "k1",
       .folder = "f1",
       .values = {{"on", "cpu/t1"}},
       .words = {"train", "--on=cpu/t1"},
       .environment = {{"OMP_WAIT_POLICY", "active"}},
       .data = "sizes",
       .predicted = CellPrediction{.images_per_s = 120.5, .run_s = 33.25}},
      {.key = "k2", .folder = "f2", .values = {{"on", "cpu/t2"}}, .words = {"train"}, .environment = {}, .data = ""}};
  sweep.repeats = 6;
  sweep.warmup = 2;
  sweep.energy_repeats = 3;
  sweep.until_width = 0.025;
  sweep.max_runs = 17;
  sweep.steady_deviation = 0.035;
  sweep.steady = "so long";
  sweep.order_seed = 99;
  sweep.setup = "set up";
  sweep.prepare = "prepare";
  sweep.cleanup = "clean";
  sweep.cool_down = "50 C";
  sweep.run_limit_s = 60.5;
  sweep.time_limit_s = 3600.25;
  sweep.series = {{1, "then", "p1", "m1"}, {2, "later", "p2", "m2"}};
  sweep.series_now = 2;
  return sweep;
}

TEST(SweepFile, WhatIsWrittenComesBack) {
  const test::TestFolder folder;
  write_sweep(folder.path(), whole_sweep());
  const SweepRecord sweep = read_sweep(folder.path());
  EXPECT_EQ(sweep.title, "Threads");
  EXPECT_EQ(sweep.command, "train");
  EXPECT_EQ(sweep.started, "2026-11-24T10:00:00Z");
  EXPECT_EQ(sweep.version, "1.2.3");
  EXPECT_THAT(sweep.words, ElementsAre("sweep", "train", "--on=cpu/t1,cpu/t2"));
  EXPECT_EQ(sweep.repeats, 6);
  EXPECT_EQ(sweep.warmup, 2);
  EXPECT_EQ(sweep.energy_repeats, 3);
  EXPECT_EQ(sweep.until_width, 0.025);
  EXPECT_EQ(sweep.max_runs, 17);
  EXPECT_EQ(sweep.steady_deviation, 0.035);
  EXPECT_EQ(sweep.steady, "so long");
  EXPECT_EQ(sweep.order_seed, 99U);
  EXPECT_EQ(sweep.setup, "set up");
  EXPECT_EQ(sweep.prepare, "prepare");
  EXPECT_EQ(sweep.cleanup, "clean");
  EXPECT_EQ(sweep.cool_down, "50 C");
  EXPECT_EQ(sweep.run_limit_s, 60.5);
  EXPECT_EQ(sweep.time_limit_s, 3600.25);
  EXPECT_EQ(sweep.series_now, 2);
  ASSERT_EQ(sweep.series.size(), 2U);
  EXPECT_EQ(sweep.series[1].number, 2);
  EXPECT_EQ(sweep.series[1].started, "later");
  EXPECT_EQ(sweep.series[1].program, "p2");
  EXPECT_EQ(sweep.series[1].machine, "m2");
  ASSERT_EQ(sweep.axes.size(), 2U);
  EXPECT_EQ(sweep.axes[0].names, whole_sweep().axes[0].names);
  EXPECT_EQ(sweep.axes[0].steps, whole_sweep().axes[0].steps);
  ASSERT_EQ(sweep.cells.size(), 2U);
  EXPECT_EQ(sweep.cells[0].key, "k1");
  EXPECT_EQ(sweep.cells[0].folder, "f1");
  EXPECT_EQ(sweep.cells[0].values.at("on"), "cpu/t1");
  EXPECT_THAT(sweep.cells[0].words, ElementsAre("train", "--on=cpu/t1"));
  EXPECT_EQ(sweep.cells[0].environment.at("OMP_WAIT_POLICY"), "active");
  EXPECT_EQ(sweep.cells[0].data, "sizes");
  ASSERT_TRUE(sweep.cells[0].predicted.has_value());
  EXPECT_EQ(sweep.cells[0].predicted->images_per_s, 120.5);
  EXPECT_EQ(sweep.cells[0].predicted->run_s, 33.25);
  EXPECT_FALSE(sweep.cells[1].predicted.has_value());
  EXPECT_EQ(sweep.cells[1].data, "");
}

/// Of a written sweep in which one text was replaced by another; "" = it was read.
std::string why_no_sweep(const std::string& before, const std::string& after) {
  const test::TestFolder folder;
  write_sweep(folder.path(), whole_sweep());
  std::string text = read_file(folder / kSweepFile, 1 << 20);
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "not found: " + before;
  test::write_text(folder / kSweepFile, text.replace(at, before.size(), after));
  try {
    read_sweep(folder.path());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SweepFile, RefusesWhatCantBeItsOwn) {
  EXPECT_EQ(why_no_sweep("\"f1\"", "\"f9\""), "");
  EXPECT_EQ(why_no_sweep("\"repeats\": 6", "\"repeats\": 1"), "");
  EXPECT_THAT(why_no_sweep("\"repeats\": 6", "\"repeats\": 0"), HasSubstr("repeats"));
  EXPECT_THAT(why_no_sweep("\"f1\"", "\"\""), HasSubstr("name of a folder"));
  EXPECT_THAT(why_no_sweep("\"f1\"", "\"../f1\""), HasSubstr("name of a folder"));
  EXPECT_THAT(why_no_sweep("\"f1\"", "\"f1/g\""), HasSubstr("name of a folder"));
  EXPECT_THAT(why_no_sweep("\"f1\"", "\".\""), HasSubstr("name of a folder"));
  EXPECT_THAT(why_no_sweep("\"k1\"", "\"\""), HasSubstr("key"));
  EXPECT_THAT(why_no_sweep("evener-sweep-1", "evener-sweep-2"), HasSubstr("evener-sweep-1"));
  EXPECT_THAT(why_no_sweep("\"active\"\n", "\"active\", \"more\"\n"), HasSubstr("a value for each name"));
  EXPECT_THAT(why_no_sweep("{", "["), HasSubstr("not JSON"));
}

TEST(SweepFile, SaysHowManyRunsThereAreAndWhy) {
  SweepRecord sweep = whole_sweep();
  EXPECT_THAT(stopping_rule_text(sweep), AllOf(HasSubstr("6 to 17 runs"), HasSubstr("+-2.5 %"), HasSubstr("first 6")));
  EXPECT_EQ(sweep.first_stage(), 6U);
  sweep.until_width.reset();
  EXPECT_THAT(stopping_rule_text(sweep), HasSubstr("6 runs of each cell, as asked for"));
  EXPECT_EQ(sweep.first_stage(), 0U);
}

}  // namespace
}  // namespace evener::record
