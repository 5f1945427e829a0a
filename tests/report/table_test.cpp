#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(terminal_text(summary_table(std::vector<report::Run>{run})), Not(HasSubstr("\x1b")));
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

}  // namespace
}  // namespace evener::report
