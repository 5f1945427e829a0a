#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "record/record.h"
#include "record/sweep_file.h"
#include "support/in_process_helpers.h"

namespace evener {
namespace {

using test::run_in_process;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReportCommand : public ::testing::Test {
 protected:
  /// A run folder with a small record; returns its path.
  std::string run(const std::string& name, const std::string& placement, double images_per_s) {
    record::Record record;
    record.model.name = "resnet34";
    record.data.location = "synth:masks";
    record.placement.text = placement;
    record.images_per_s = record::throughput_of(std::vector<double>(12, images_per_s), "steps after the first epoch");
    record.validity = {false, {{"swap", "1 GB were swapped out", "use a smaller --batch"}}};
    std::filesystem::create_directories(folder_ / name);
    record::write_record(folder_ / name, record);
    return (folder_ / name).string();
  }
  bool exists(const std::string& name) { return std::filesystem::exists(folder_ / name); }

  TemporaryFolder folder_;
};

TEST_F(ReportCommand, OneRunGetsATableAndAPageInItsFolder) {
  const auto result = run_in_process({"report", run("a", "cpu/t1", 10)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("placement    cpu/t1"), HasSubstr("images/s     10.0"),
                                HasSubstr("INVALID: swap: 1 GB were swapped out. What to do: use a smaller --batch")));
  EXPECT_THAT(result.err, HasSubstr("report: " + (folder_ / "a/report.html").string()));
  EXPECT_TRUE(exists("a/report.html"));
}

TEST_F(ReportCommand, ARecordCantControlTheTerminal) {
  const std::string a = run("a", "\x1b[2J\xc2\x9b<i>", 10);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--markdown"}}) {
    std::vector<std::string> words = {"report", a, "--no-html"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run_in_process(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xc2\x9b"))));
    const char* placement = more.empty() ? "?[2J?<i>" : "?\\[2J?\\<i\\>";
    EXPECT_THAT(result.out, HasSubstr(std::string("of synth:masks on ") + placement + " at 10.0 images/s"));
  }
}

TEST_F(ReportCommand, SeveralRunsAreCompared) {
  const std::string a = run("a", "cpu/t1", 10), b = run("b", "cpu/t2", 20);
  const auto result = run_in_process({"report", a, b}, {.environment = {}, .cwd = folder_.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2.00x"));
  EXPECT_THAT(result.out, HasSubstr("20.0 and 10.0 images/s on cpu/t2 and cpu/t1."));
  EXPECT_TRUE(exists("report.html"));
  EXPECT_FALSE(exists("a/report.html"));
}

TEST_F(ReportCommand, JsonToStdoutIsPure) {
  const std::string a = run("a", "cpu/t1", 10), b = run("b", "cpu/t2", 20);
  const auto one = run_in_process({"report", a, "--json", "-", "--no-html"});
  EXPECT_EQ(nlohmann::json::parse(one.out)["placement"]["text"], "cpu/t1");
  const auto two = run_in_process({"report", a, b, "--json", "-", "--no-html"});
  EXPECT_EQ(nlohmann::json::parse(two.out)[1]["images_per_s"], 20);
  EXPECT_FALSE(exists("a/report.html"));
}

TEST_F(ReportCommand, AFolderOfRunsHasItsPage) {
  run("sweep/a", "cpu/t1", 10);
  run("sweep/b", "cpu/t2", 20);
  const auto result = run_in_process({"report", (folder_ / "sweep").string()});
  EXPECT_THAT(result.out, AllOf(HasSubstr("cpu/t1"), HasSubstr("cpu/t2"))) << result.err;
  EXPECT_TRUE(exists("sweep/report.html"));
}

TEST_F(ReportCommand, CsvAndMarkdown) {
  const std::string a = run("a", "cpu/t1", 10);
  const auto to_stdout = run_in_process({"report", a, "--csv", "-", "--no-html"});
  EXPECT_THAT(to_stdout.out, ::testing::StartsWith("run,kind,status,"));
  EXPECT_EQ(std::count(to_stdout.out.begin(), to_stdout.out.end(), '\n'), 2);
  const auto to_file = run_in_process(
      {"report", a, "--csv", (folder_ / "x.csv").string(), "--markdown", "--html", (folder_ / "x.html").string()});
  EXPECT_THAT(to_file.out, HasSubstr("| a | resnet34 |"));
  EXPECT_THAT(read_file(folder_ / "x.csv"), HasSubstr("\na,train,done,"));
  EXPECT_TRUE(exists("x.html"));
}

TEST_F(ReportCommand, WithoutPlotlyItSaysSoAndGoesOn) {
  const auto result = run_in_process({"report", run("a", "cpu/t1", 10)},
                                     {.environment = {{"EVENER_PLOTLY", "/nowhere.js"}}, .cwd = {}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: No plots"), HasSubstr("/nowhere.js")));
  EXPECT_TRUE(exists("a/report.html"));
}

TEST_F(ReportCommand, BadFoldersAreNamed) {
  const std::string good = run("a", "cpu/t1", 10);
  const auto missing = run_in_process({"report", good, (folder_ / "b").string()});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr((folder_ / "b").string()), HasSubstr("not a folder")));
  EXPECT_FALSE(exists("a/report.html"));
  std::filesystem::create_directories(folder_ / "c");
  EXPECT_THAT(run_in_process({"report", (folder_ / "c").string()}).err, HasSubstr("has no record.json"));
  std::filesystem::create_symlink("record.json", folder_ / "c" / "record.json");  // leads to itself
  EXPECT_THAT(run_in_process({"report", (folder_ / "c").string()}).err,
              AllOf(HasSubstr("can't look into"), HasSubstr("Too many levels of symbolic links")));
  std::filesystem::remove(folder_ / "c" / "record.json");
  std::ofstream(folder_ / "c" / "record.json") << "{\"schema\": \"evener-record-1\", \"batch\": \"big\"}";
  EXPECT_THAT(run_in_process({"report", (folder_ / "c").string()}).err,
              AllOf(HasSubstr("record.json"), HasSubstr("'batch'")));
}

TEST_F(ReportCommand, WhatCantBeReadOfARunIsANoteOfTheTableAndOfThePage) {
  const std::string a = run("a", "cpu/t1", 10);
  for (const char* file : {"detection.json", "answers.json", "calibration.json"}) {
    std::ofstream(folder_ / "a" / file) << "{";
    const auto result = run_in_process({"report", a});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(file));
    EXPECT_THAT(read_file(folder_ / "a/report.html"), HasSubstr(std::string(file) + " can"));
  }
}

TEST_F(ReportCommand, WrongUsage) {
  EXPECT_THAT(run_in_process({"report", "runs/a", "--out", "page.html"}).err, HasSubstr("--html page.html"));
  EXPECT_EQ(run_in_process({"report"}).exit_code, 2);
  EXPECT_EQ(run_in_process({"report", run("a", "cpu/t1", 1), "--csv", "-", "--json", "-"}).exit_code, 2);
}

TEST_F(ReportCommand, APlaceThatCantBeWrittenIsToldWithAWayOut) {
  const std::string a = run("a", "cpu/t1", 10);
  std::filesystem::create_directories(folder_ / "a" / "report.html");  // a folder where the page should go: root too
  const auto result = run_in_process({"report", a});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("report.html"), HasSubstr("--html FILE"), HasSubstr("--no-html")));
}

TEST_F(ReportCommand, FilesAreToldAndStandBesideTheTable) {
  const std::string a = run("a", "cpu/t1", 10);
  const std::string json = (folder_ / "a.json").string(), csv = (folder_ / "a.csv").string();
  const auto result = run_in_process({"report", a, "--json", json, "--csv", csv, "--no-html"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("placement    cpu/t1"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("wrote " + csv), HasSubstr("wrote " + json), Not(HasSubstr("report: "))));
  EXPECT_EQ(nlohmann::json::parse(read_file(json))["placement"]["text"], "cpu/t1");
  EXPECT_EQ(run_in_process({"report", a, "--no-html", "--html", "x.html"}).exit_code, 2);
}

/// A sweep of two cells, `name`-1 and `name`-2 by their speeds, whose runs are INVALID.
class CompareCommand : public ReportCommand {
 protected:
  std::string sweep(const std::string& name) {
    record::SweepRecord sweep;
    sweep.command = "train";
    sweep.repeats = 2;
    sweep.series = {{}};
    sweep.axes.emplace_back().names = {"on"};
    std::filesystem::create_directories(folder_ / name);
    for (const char* on : {"slow", "fast"}) {
      sweep.axes[0].steps.push_back({on});
      record::SweepCell& cell = sweep.cells.emplace_back();
      cell.key = cell.folder = on;
      cell.values = {{"on", on}};
    }
    record::write_sweep(folder_ / name, sweep);
    record::JournalWriter journal(folder_ / name);
    for (int n = 0; n < 4; ++n) {
      record::SweepRun made;
      made.series = 1;
      made.cell = sweep.cells[static_cast<std::size_t>(n % 2)].key;
      made.block = 1 + n / 2;
      made.folder = made.cell + std::to_string(made.block);
      made.end = record::RunEnd::kInvalid;
      run(name + "/" + made.folder, "cpu/t1", n % 2 == 0 ? 10 : 20);
      journal.begin(made);
      journal.end(made);
    }
    return (folder_ / name).string();
  }
};

TEST_F(CompareCommand, OnePairIsASentenceWithNotesAndSeveralAreATable) {
  const std::string made = sweep("made"), other = sweep("\xc2\x9bother"), json = (folder_ / "c.json").string();
  const auto one = run_in_process({"compare", made + ":on=slow", made + ":on=fast", "--json", json});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("undecided whether " + made + ":on=fast is faster"), HasSubstr("2.00x"),
                             Not(HasSubstr("verdict"))));
  EXPECT_EQ(nlohmann::json::parse(read_file(json))["pairs"].size(), 1U);
  const auto alone = run_in_process({"compare", made + ":on=slow", made + ":on=fast", "--json", "-"});
  EXPECT_EQ(nlohmann::json::parse(alone.out)["b"], made + ":on=fast") << "nothing else stands there";
  const auto two = run_in_process({"compare", made, other});
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_THAT(two.out, AllOf(HasSubstr("verdict"), HasSubstr("on=slow"), HasSubstr("on=fast: undecided"),
                             Not(HasSubstr("\xc2\x9b"))));
  const auto runs = run_in_process({"compare", run("a", "cpu/t1", 10), run("b", "cpu/t2", 20)});
  EXPECT_THAT(runs.out, AllOf(HasSubstr("20.0 and 10.0 images/s"), HasSubstr("\nnote: one run of each")));
  EXPECT_EQ(run_in_process({"compare", made + ":on=slow", made, "--json", (folder_ / "no/c.json").string()}).exit_code,
            1);
}

TEST_F(CompareCommand, AReportOfSweepsWritesWhatIsAskedFor) {
  const std::string made = sweep("all/made"), other = sweep("all/other");
  const auto table = run_in_process({"report", made, "--csv", (folder_ / "s.csv").string()});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("slow"), HasSubstr("fast")));
  EXPECT_THAT(read_file(folder_ / "s.csv"), ::testing::StartsWith("on,block,"));
  EXPECT_TRUE(exists("all/made/report.html"));
  const auto csv = run_in_process({"report", made, "--csv", "-", "--html", (folder_ / "s.html").string()});
  EXPECT_EQ(csv.out, read_file(folder_ / "s.csv")) << "without the table";
  EXPECT_TRUE(exists("s.html"));
  EXPECT_THAT(run_in_process({"report", made, "--no-html", "--markdown"}).out, HasSubstr("|---"));
  const auto both = run_in_process({"report", (folder_ / "all").string()});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(::testing::StartsWith("made\n"), HasSubstr("\n\nother\n")));
  EXPECT_TRUE(exists("all/report.html"));
  EXPECT_THAT(run_in_process({"report", made, other}, {.environment = {}, .cwd = folder_.path()}).err,
              HasSubstr("report: " + (folder_ / "report.html").string()));
  EXPECT_EQ(run_in_process({"report", made, other, "--csv", "-"}).exit_code, 2);
  EXPECT_EQ(run_in_process({"report", made, other, "--json", "-"}).exit_code, 2);
}

class HistoryCommand : public ::testing::Test {
 protected:
  /// A run for each day of a month, slower from the `slower_from`th on.
  void write_runs(int count, int slower_from, bool is_valid = true, const std::string& placement = "cpu/t1") {
    for (int day = 1; day <= count; ++day) {
      record::Record record;
      record.started = fmt::format("2026-10-{:02}T02:00:00Z", day);
      record.model.name = "resnet34\x1b[2J";
      record.data.location = "photos";
      record.placement.text = placement;
      record.placement.replicas.resize(1);
      record.placement.replicas[0].stages = {{placement, {}, {}, {}}};
      record.versions = {{"evener", "0.7.0"}, {"program", day < slower_from ? "aaaaaaaaaaaa" : "bbbbbbbbbbbb"}};
      record.images_per_s.median = (day < slower_from ? 100 : 90) + 0.1 * (day * 7 % 5);
      if (!is_valid) record.validity = {false, {{"swap", "1 GB were swapped out", "use less"}}};
      const auto run = folder_ / fmt::format("{}{:02}", placement == "cpu/t1" ? "" : "other/", day);
      std::filesystem::create_directories(run);
      record::write_record(run, record);
    }
  }
  test::ProgramResult history(std::vector<std::string> more) {
    more.insert(more.begin(), {"history", folder_.path().string()});
    return run_in_process(more);
  }

  TemporaryFolder folder_;
};

TEST_F(HistoryCommand, NamesTheProgramThatIsSlowerAndWritesAPage) {
  write_runs(24, 15);
  const auto result = history({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("training speed: 10.0 % slower (95 %: "), HasSubstr("from 2026-10-15 on"),
                                HasSubstr("program aaaaaaaa of 2026-10-14 and evener 0.7.0, program bbbbbbbb of"),
                                Not(HasSubstr("\x1b"))));
  EXPECT_THAT(result.err, HasSubstr("report: " + (folder_ / "history.html").string()));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "history.html"));
}

TEST_F(HistoryCommand, ALimitThatIsExceededEndsWithOne) {
  write_runs(24, 15);
  const auto failed = history({"--fail-on", "slower=5%,memory=10%", "--no-html"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("training speed is 10.0 % slower, surely by more than 5 %, since 2026-10-15"));
  EXPECT_EQ(history({"--fail-on", "slower=15%", "--no-html"}).exit_code, 0);
  EXPECT_EQ(history({"--fail-on", "slower=5%", "--since", "2026-10-15", "--no-html"}).exit_code, 0);
  const auto open = history({"--fail-on", "slower=5%", "--since", "2026-10-17", "--no-html"});
  EXPECT_EQ(open.exit_code, 3) << "eight runs";
  EXPECT_THAT(open.err, HasSubstr("evener: undecided: "));
  EXPECT_THAT(open.err, HasSubstr("training speed: 8 runs can't show a change of 5 %; 10 runs would"));
  for (const char* no_day : {"2026-02-30", "2026-13-45"}) {
    const auto refused = history({"--since", no_day, "--no-html"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("no day; one is written as in 2026-11-01"));
  }
  const auto wrong = history({"--fail-on", "slower=fast"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("no percentage"));
}

TEST_F(HistoryCommand, JsonOnStdoutIsAlone) {
  write_runs(12, 100);
  const auto result = history({"--json", "-", "--no-html"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["series"][0]["runs"].size(), 12U);
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(HistoryCommand, InvalidRunsCountWhereAskedFor) {
  write_runs(24, 15, false);
  EXPECT_THAT(history({"--no-html"}).out,
              AllOf(HasSubstr("no run counts"), HasSubstr("24 runs not counted: INVALID: swap (--count-invalid")));
  EXPECT_EQ(history({"--no-html", "--fail-on", "slower=5%"}).exit_code, 3) << "none counts";
  EXPECT_THAT(history({"--no-html", "--count-invalid"}).out, HasSubstr("10.0 % slower"));
  EXPECT_EQ(history({"--no-html", "--count-invalid", "--fail-on", "slower=5%"}).exit_code, 1);
}

TEST_F(HistoryCommand, SeveralCellsHaveATableAndOnlyWhatChangedIsToldInFull) {
  write_runs(14, 8);
  write_runs(14, 100, true, "cpu/t2");
  const auto result = history({"--json", (folder_ / "h.json").string(), "--html", (folder_ / "p.html").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("cell "), HasSubstr("cpu/t1"), HasSubstr("cpu/t2"),
                                HasSubstr("\ntrain resnet34?[2J on photos, cpu/t1\n"),
                                Not(HasSubstr("\ntrain resnet34?[2J on photos, cpu/t2\n"))));
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "h.json"))["series"].size(), 2U) << "beside the table";
  EXPECT_TRUE(std::filesystem::exists(folder_ / "p.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "history.html"));
  // Surely beyond a limit in the one is more than not known of the other.
  const auto both = history({"--fail-on", "slower=5%,energy=5%", "--no-html"});
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_THAT(both.err, AllOf(HasSubstr("surely by more than 5 %"), HasSubstr("undecided: ")));
}

TEST_F(HistoryCommand, OfSeveralFoldersThePageIsWhereTheUserIs) {
  write_runs(2, 100);
  std::filesystem::create_directories(folder_ / "here");
  const auto result = run_in_process({"history", (folder_ / "01").string(), (folder_ / "02").string()},
                                     {.environment = {}, .cwd = folder_ / "here"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "here/history.html"));
  EXPECT_EQ(history({"--html", "x.html", "--no-html"}).exit_code, 2);
  std::filesystem::create_directories(folder_ / "history.html");  // a folder where the page should go
  const auto unwritten = history({});
  EXPECT_EQ(unwritten.exit_code, 1);
  EXPECT_THAT(unwritten.err, HasSubstr("history.html"));
}

TEST_F(HistoryCommand, WithoutRunsItSaysWhatARunIs) {
  const auto result = history({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("a folder with a record.json"));
}

}  // namespace
}  // namespace evener
