#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/folder_lock.h"
#include "base/terminal_text.h"
#include "base/test_folder.h"
#include "base/utf8.h"
#include "record/validity.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html.h"
#include "report/run.h"
#include "support/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<report::Run> three_runs() {
  std::vector<report::Run> runs{test::sample_run("a", {.placement = "cpu/t1", .images_per_s = 10}),
                                test::sample_run("b", {.placement = "cpu/t2", .images_per_s = 20}),
                                test::sample_run("c", {.model = "mlp:784-10", .images_per_s = 50000})};
  for (int n = 0; n < 3; ++n) {
    const double rate = runs[static_cast<std::size_t>(n)].record.images_per_s.median.value();
    runs[static_cast<std::size_t>(n)].record.images_per_s.median = n == 2 ? rate : (n + 1) * 10.0;
  }
  return runs;
}

std::string cell(const Table& table, std::size_t row, const std::string& title) {
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].title == title) return table.rows[row][column];
  }
  return "no column " + title;
}

TEST(Table, ComparesWithTheFirstRunOfTheSameJob) {
  const Table table = summary_table(three_runs());
  EXPECT_EQ(cell(table, 0, "speed"), "1.00x");
  EXPECT_EQ(cell(table, 1, "speed"), "2.00x");
  EXPECT_EQ(cell(table, 2, "speed"), "-") << "another model: nothing to compare with";
  EXPECT_EQ(cell(table, 1, "placement"), "cpu/t2");
  EXPECT_EQ(cell(table, 1, "test"), "97.2 %");
  EXPECT_EQ(cell(table, 1, "peak memory"), "1.74 GB");
  EXPECT_EQ(cell(table, 1, "energy"), "absent");
  EXPECT_EQ(cell(table, 1, "valid"), "VALID");
}

TEST(Table, OneRunHasNoSpeedColumn) {
  EXPECT_EQ(cell(summary_table(std::vector<report::Run>{test::sample_run("a")}), 0, "speed"), "no column speed");
}

TEST(Table, RunsOfWhichEachDoesAnotherWorkHaveNoSpeedColumn) {
  report::Run single = test::sample_run("a"), many = test::sample_run("b");
  single.record.scenario.name = "single-stream";
  many.record.scenario.name = "offline";
  const std::vector<report::Run> scenarios = {single, many};
  const std::vector<report::Run> networks = {test::sample_run("a"), test::sample_run("b", {.model = "resnet18"})};
  for (const std::vector<report::Run>& runs : {scenarios, networks}) {
    EXPECT_EQ(cell(summary_table(runs), 0, "speed"), "no column speed");
    EXPECT_THAT(csv_text(runs), Not(HasSubstr(",1,"))) << "no ratio";
  }
}

TEST(Table, MissingValuesAreDashesNeverZero) {
  report::Run empty;
  empty.name = "empty";
  const Table table = summary_table(std::vector<report::Run>{empty, empty});
  for (const char* title :
       {"model", "data", "batch", "images/s", "speed", "s/epoch", "best val", "test", "peak memory", "valid"}) {
    EXPECT_EQ(cell(table, 0, title), "-") << title;
  }
  EXPECT_EQ(cell(table, 0, "energy"), "absent");
  EXPECT_THAT(csv_text(std::vector<report::Run>{empty}), Not(HasSubstr(",0,0")));
}

TEST(Table, AFigureThatATaskAddsStandsInTheTableAndTheCsv) {
  std::vector<report::Run> runs = three_runs();
  record::add_metric(runs[1].record, {.name = "top5_accuracy",
                                      .unit = "share",
                                      .title = "top 5",
                                      .label = "top-5 accuracy",
                                      .role = record::MetricRole::kQuality,
                                      .value = 0.5});
  record::add_metric(runs[0].record, {.name = "top5_accuracy",
                                      .unit = "share",
                                      .title = "top 5",
                                      .label = "top-5 accuracy",
                                      .reason = "there are five classes"});
  const Table table = summary_table(runs);
  EXPECT_THAT(table.notes, Contains("Absent: top5_accuracy (a): there are five classes"));
  EXPECT_EQ(cell(table, 0, "top 5"), "-");
  EXPECT_EQ(cell(table, 1, "top 5"), "50.0 %");
  EXPECT_EQ(table.columns.at(11).title, "top 5") << "behind the test accuracy, not at the end";
  EXPECT_THAT(csv_text(runs), HasSubstr(",test_accuracy,top5_accuracy,"));
}

TEST(Table, ATaskOfItsOwnIsComparedByItsOwnSpeed) {
  std::vector<report::Run> runs;
  for (const double seconds : {0.4, 0.1}) {
    report::Run run;
    run.record.kind = "answer";
    record::add_metric(run.record, {.name = "latency_s",
                                    .unit = "s",
                                    .title = "latency",
                                    .label = "latency",
                                    .better = record::Better::kLower,
                                    .role = record::MetricRole::kSpeed,
                                    .value = seconds});
    runs.push_back(run);
  }
  const Table table = summary_table(runs);
  EXPECT_EQ(cell(table, 0, "images/s"), "no column images/s");
  EXPECT_EQ(cell(table, 0, "latency"), "0.400");
  EXPECT_EQ(cell(table, 1, "speed"), "4.00x");
}

TEST(Table, SharedReasonsAreToldOnce) {
  std::vector<report::Run> runs = three_runs();
  runs[1].record.missing["accuracy.test"] = "no test part";
  const auto notes = summary_table(runs).notes;
  EXPECT_THAT(notes, Contains(HasSubstr("Absent: energy (all runs): no energy counters")));
  EXPECT_THAT(notes, Contains("Absent: accuracy.test (b): no test part"));
}

TEST(Table, InvalidRunsHaveTheirReasonBelow) {
  std::vector<report::Run> runs = three_runs();
  runs[0].record.validity = {false, {{"other load", "others used 40 %", "end them"}}};
  const Table table = summary_table(runs);
  EXPECT_EQ(cell(table, 0, "valid"), "beside other programs");
  EXPECT_THAT(terminal_text(table),
              HasSubstr("- the times of a are not to be quoted: other load: others used 40 %. What to do: end them"));
  runs[0].record.validity = {false, {{"swap", "1 GB were swapped out", "use a smaller --batch"}}};
  EXPECT_EQ(cell(summary_table(runs), 0, "valid"), "INVALID");
  EXPECT_THAT(summary_table(runs).notes, Contains(HasSubstr("a is INVALID: swap: 1 GB were swapped out")));
}

TEST(Table, ColumnsAlign) {
  const std::string text = terminal_text(summary_table(three_runs()), 500);
  const std::string header = text.substr(0, text.find('\n'));
  const std::size_t end_of_batch = header.find("batch") + 5;
  std::size_t line_begin = header.size() + 1;
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(text.substr(line_begin + end_of_batch - 2, 2), "32");
    line_begin = text.find('\n', line_begin) + 1;
  }
}

TEST(Table, ANarrowTerminalGetsTheTableUpright) {
  const std::string text = terminal_text(summary_table(three_runs()), 80);
  EXPECT_THAT(text, HasSubstr("placement    cpu/t1"));
}

TEST(Table, NamesCantControlTheTerminal) {
  report::Run run = test::sample_run("\x1b[2Jname");
  // A figure of a foreign record names a column.
  add_metric(run.record, {.name = "odd",
                          .unit = "",
                          .title = "odd|\x1b[2J",
                          .label = "odd",
                          .role = record::MetricRole::kQuality,
                          .value = 1});
  const Table table = summary_table(std::vector<report::Run>{run, run});
  EXPECT_THAT(terminal_text(table, 500), AllOf(HasSubstr("odd|?[2J"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(markdown_text(table), AllOf(HasSubstr(" odd\\|?\\[2J |"), Not(HasSubstr("\x1b"))));
}

TEST(Table, Markdown) {
  std::vector<report::Run> runs = three_runs();
  runs[0].name = "a|b";
  const std::string text = markdown_text(summary_table(runs));
  EXPECT_THAT(text, HasSubstr("| run | model |"));
  EXPECT_THAT(text, HasSubstr("|---|---|"));
  EXPECT_THAT(text, HasSubstr("| a\\|b | resnet34 |"));
}

TEST(Table, CsvHasOneRowPerRunInFullPrecision) {
  std::vector<report::Run> runs = three_runs();
  runs[0].name = "with, comma";
  runs[0].record.images_per_s.median = 10.123456789;
  const std::string text = csv_text(runs);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_THAT(text, HasSubstr("\n\"with, comma\",train,done,"));
  EXPECT_THAT(text, HasSubstr(",10.123456789,"));
  const auto commas = [&](std::size_t begin) {
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                      text.begin() + static_cast<std::ptrdiff_t>(text.find('\n', begin)), ',');
  };
  EXPECT_EQ(commas(0) + 1, commas(text.find("\n\"with") + 1));  // the comma of the name
}

TEST(LoadRun, ReadsRecordAndSamples) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "night");
  const report::Run run = load_run(folder / "night");
  EXPECT_EQ(run.name, "night");
  EXPECT_EQ(run.record.model.name, "resnet34");
  EXPECT_GT(run.samples.time_s.size(), 100u);
  EXPECT_EQ(run.samples.time_s[1], 0.5);
  EXPECT_TRUE(run.samples.pss_bytes[0].has_value());
  EXPECT_FALSE(run.samples.pss_bytes[1].has_value());
  EXPECT_TRUE(run.warnings.empty());
  EXPECT_EQ(load_run(folder / "night/").name, "night");
}

TEST(LoadRun, ARowCutShortIsSkipped) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "run");
  const std::size_t rows = load_run(folder / "run").samples.time_s.size();
  std::ofstream(folder / "run/samples.csv", std::ios::app) << "999.5,10";
  EXPECT_EQ(load_run(folder / "run").samples.time_s.size(), rows);
}

TEST(LoadRun, BadSamplesAreAWarningBecauseTheRecordIsThere) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "run");
  std::ofstream(folder / "run/samples.csv") << "a,b\n1,2\n";
  const report::Run run = load_run(folder / "run");
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_THAT(run.warnings[0], HasSubstr("no column 'time_s'"));
  std::filesystem::remove(folder / "run/samples.csv");
  EXPECT_THAT(load_run(folder / "run").warnings[0], HasSubstr("no samples.csv"));
}

TEST(LoadRun, AFolderWithoutARecordIsNamed) {
  const test::TestFolder folder;
  try {
    load_run(folder.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder.path().string()));
    EXPECT_THAT(error.what(), HasSubstr("record.json"));
  }
}

TEST(LoadRuns, NamesAreUnique) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "a/run");
  test::write_sample_run(folder / "b/run");
  const auto runs = load_runs({folder / "a/run", folder / "b/run"});
  EXPECT_EQ(runs[0].name, "run");
  EXPECT_EQ(runs[1].name, "run (2)");
}

TEST(LoadRuns, ARunIsTakenOnceHoweverItIsNamed) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "a/run");
  test::write_sample_run(folder / "b/run");
  std::filesystem::create_directory_symlink(folder / "a/run", folder / "link");
  const auto runs = load_runs({folder / "a/run", folder / "b/run", folder / "a/../a/run/", folder / "link"});
  ASSERT_EQ(runs.size(), 2);
  ASSERT_EQ(runs[0].warnings.size(), 1);
  EXPECT_THAT(runs[0].warnings[0], testing::HasSubstr("taken once"));
  EXPECT_TRUE(runs[1].warnings.empty());
}

TEST(LoadRuns, AFolderOfRunsStandsForThemInTheOrderOfTheirStart) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "sweep/b", {.started = "2026-11-21T10:15:00Z"});
  test::write_sample_run(folder / "sweep/c", {.started = "2026-11-21T10:16:00Z"});
  test::write_sample_run(folder / "sweep/a", {.started = "2026-11-21T10:17:00Z"});
  std::filesystem::create_directories(folder / "sweep/not-a-run");
  const auto runs = load_runs({folder / "sweep", folder / "sweep/b"});
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[0].name, "b");
  EXPECT_EQ(runs[1].name, "c");
  EXPECT_EQ(runs[2].name, "a");
}

/// A run that wrote its record while it went on.
void write_running(const std::filesystem::path& dir) {
  test::write_sample_run(dir);
  record::Record record = record::read_record(dir);
  record.status = record::Status::kRunning;
  record.validity = record::judge(record);
  record::write_record(dir, record);
}

TEST(LoadRun, ARunIsKilledWhereNobodyHoldsItsFolderAnyMore) {
  const test::TestFolder folder;
  write_running(folder / "run");
  {
    const FolderLock lock(folder / "run");
    const report::Run run = load_run(folder / "run");
    EXPECT_EQ(run.record.status, record::Status::kRunning);
    EXPECT_THAT(run.record.validity.reasons[0].what, HasSubstr("has not ended"));
  }
  const report::Run run = load_run(folder / "run");
  EXPECT_EQ(run.record.status, record::Status::kKilled);
  EXPECT_THAT(run.record.validity.reasons[0].what, HasSubstr("ended without finishing"));
}

// Energy in tables, the CSV file and the page.

void put_energy(Run& run, double joules, double seconds, double idle_device_j, record::EnergyClass kind) {
  record::Energy& energy = run.record.energy;
  energy = {.joules = joules, .seconds = seconds};
  energy.kind = kind;
  energy.used_joules = joules - idle_device_j;
  record::set_products(energy);
}

std::string energy_cell(const Table& table, std::size_t row, const std::string& title) {
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].title == title) return table.rows[row][column];
  }
  return "no column " + title;
}

TEST(EnergyFigures, WithoutEnergyThereAreNoColumnsOfIt) {
  const Table table = summary_table(std::vector<report::Run>{test::sample_run("a"), test::sample_run("b")});
  EXPECT_EQ(energy_cell(table, 0, "energy is"), "no column energy is");
  EXPECT_EQ(energy_cell(table, 0, "EDP"), "no column EDP");
}

TEST(EnergyFigures, PowerIsDrawnWhereItIsKnown) {
  std::vector<report::Run> runs{test::sample_run("a")};
  EXPECT_THAT(html_page(runs, "/* Plotly */"), HasSubstr("\"watts\":[]"));
  std::vector<std::optional<double>> watts(runs[0].samples.time_s.size(), 65.5);
  runs[0].samples.watts = {{"package-0", watts}};
  put_energy(runs[0], 1000, 10, 0, record::EnergyClass::kEstimated);
  EXPECT_THAT(html_page(runs, "/* Plotly */"), testing::AllOf(HasSubstr("\"energy_class\":\"estimated\""),
                                                              HasSubstr("{\"name\":\"package-0\",\"values\":[65.5")));
}

std::optional<std::int64_t> overfits_from(const std::vector<double>& train, const std::vector<double>& val,
                                          const std::string& warning = "overfitting: 99 % of the images") {
  record::Record record;
  record.warnings = {warning};
  for (std::size_t i = 0; i < train.size(); ++i) {
    record::EpochRecord epoch;
    epoch.epoch = static_cast<std::int64_t>(i) + 1;
    epoch.train_loss = train[i];
    if (val[i] >= 0) epoch.val_loss = val[i];
    record.training.epochs.push_back(epoch);
  }
  return overfitting_epoch(record);
}

TEST(OverfittingEpoch, IsTheLowestValidationLossBeforeALastingRise) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 1.1}), 2);
}

TEST(OverfittingEpoch, IsOneOnlyWhereTheTrainingJudgedSo) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 1.1}, "class imbalance: 'a' has 900 images"), std::nullopt);
}

TEST(OverfittingEpoch, AWobbleIsNone) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 0.82}), std::nullopt);
}

TEST(OverfittingEpoch, BothLossesRisingIsSomethingElse) {
  EXPECT_EQ(overfits_from({1, 0.5, 0.7, 0.9}, {1, 0.8, 1.2, 1.5}), std::nullopt);
}

TEST(OverfittingEpoch, EpochsThatWereNotValidatedDoNotCount) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {-1, 0.8, -1, 1.1}), 2);
  EXPECT_EQ(overfits_from({1, 0.7}, {-1, -1}), std::nullopt);
  EXPECT_EQ(overfits_from({}, {}), std::nullopt);
}

TEST(OtherTime, IsWhatNoPhaseCovers) {
  record::Record record;
  EXPECT_EQ(other_s(record), std::nullopt);
  record.times.total = 10;
  EXPECT_EQ(other_s(record), std::nullopt) << "no phases are known";
  record.phases_s = {{"forward", 4}, {"backward", 3.5}};
  EXPECT_EQ(other_s(record), 2.5);
  record.phases_s["read"] = 3;  // clocks are read at differing moments
  EXPECT_EQ(other_s(record), 0);
}

TEST(Format, NumbersHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(number_text(26.94), "26.9");
  EXPECT_EQ(number_text(1.846), "1.85");
  EXPECT_EQ(number_text(0.01234), "0.0123");
  EXPECT_EQ(number_text(523), "523");
  EXPECT_EQ(number_text(52345), "52,300");
  EXPECT_EQ(number_text(1234567), "1,230,000");
  EXPECT_EQ(number_text(-5234), "-5,230");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(std::nan("")), "-");
}

TEST(Format, PercentsOrADash) {
  EXPECT_EQ(percent_text(0.972), "97.2 %");
  EXPECT_EQ(percent_text(std::optional<double>()), "-");
}

TEST(Format, HtmlIsHarmless) {
  EXPECT_EQ(escape_html("<b onclick='x'>\"&\x01"), "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;");
}

TEST(Format, JsonCantEndAScriptElement) {
  EXPECT_EQ(escape_json_for_script("{\"a\":\"</script><!-- & \xe2\x80\xa8\"}"),
            "{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"}");
}

TEST(Format, CsvIsQuotedWhereNeeded) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  const std::string name = "caf\xe9, b\"r", told = to_utf8_text(name);
  EXPECT_EQ(csv_cell(name), "\"caf\xEF\x9F\xA9, b\"\"r\"");
  EXPECT_EQ(csv_cell(told), csv_cell(name)) << "once";
  EXPECT_EQ(escape_html("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(escape_markdown("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"hi\""), "\"say \"\"hi\"\"\"");
}

TEST(Format, MarkdownCantBreakATable) {
  EXPECT_EQ(escape_markdown("a|b\n<i>"), "a\\|b \\<i\\>");
  EXPECT_EQ(escape_markdown("\x1b[2J"), "?\\[2J");
}

TEST(Format, TerminalsObeyNothing) {
  EXPECT_EQ(one_line("a\x1b[31mred\n"), "a?[31mred?");
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31m \xc2\x80\xc2\x9f"),
            "a?31m ??");
  EXPECT_EQ(one_line("\u00a0größer \u0400 \xc2"), "\u00a0größer \u0400 \xc2");
  EXPECT_EQ(display_width("größer"), 6u);
}

TEST(Format, ListsTheFirstOfMany) {
  EXPECT_EQ(listed({"a", "b", "c"}, 3), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(listed({"a", "b"}, 1), "a and 1 more");
}

}  // namespace
}  // namespace evener::report
