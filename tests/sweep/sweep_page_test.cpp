// The page of a sweep of 200 runs, as a browser shows it, and its tables.
#include "sweep/figures/sweep_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "base/random.h"
#include "base/test_folder.h"
#include "support/browser_helpers.h"
#include "support/sample_records_helpers.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kThreads[] = {1, 2, 4, 8};
constexpr int kBatches[] = {16, 32, 64, 128, 256};
constexpr int kRepeats = 10;

record::SweepRecord two_axes() {
  record::SweepRecord record;
  record.title = "Threads and <b>batches</b>";
  record.command = "train";
  record.repeats = kRepeats;
  record.series = {{}};
  record.axes = {{{"on"}, {}}, {{"batch"}, {}}};
  for (const int threads : kThreads) record.axes[0].steps.push_back({"cpu/t" + std::to_string(threads)});
  for (const int batch : kBatches) record.axes[1].steps.push_back({std::to_string(batch)});
  for (const auto& on : record.axes[0].steps) {
    for (const auto& batch : record.axes[1].steps) {
      record::SweepCell& cell = record.cells.emplace_back();
      cell.values = {{"on", on[0]}, {"batch", batch[0]}};
      cell.key = on[0] + batch[0];
      cell.folder = "cell-" + std::to_string(record.cells.size());
      cell.words = {"train", "resnet34", "--on=" + on[0], "--batch=" + batch[0]};
    }
  }
  return record;
}

/// A tenth of the work is serial; larger batches are a little faster.
double true_speed(int threads, int batch) {
  return 20 / (0.1 + 0.9 / threads) * (1 + 0.02 * std::log2(batch));
}

record::Record record_of_cell(std::size_t cell, double speed, double joules) {
  const int threads = kThreads[cell / std::size(kBatches)];
  record::Record record =
      test::sample_record({.placement = "cpu/t" + std::to_string(threads), .images_per_s = speed, .threads = threads});
  record.images_per_s.median = speed;
  record.energy.joules = joules;
  record.energy.kind = cell == 0 ? record::EnergyClass::kEstimated : record::EnergyClass::kMeasured;
  record.energy.edp_js = joules * record.times.total.value_or(1);
  record.placement.replicas = {{.stages = {{.device = "cpu", .threads = threads, .cpus = {}, .emulated_speed = {}}}}};
  return record;
}

/// Writes the sweep with all of its runs into `folder`.
void write_two_axes(const std::filesystem::path& folder) {
  const record::SweepRecord record = two_axes();
  record::write_sweep(folder, record);
  std::ofstream journal(folder / record::kJournalFile);
  for (int block = 1; block <= kRepeats; ++block) {
    for (std::size_t cell = 0; cell < record.cells.size(); ++cell) {
      Random random(3, Purpose::kSynthetic, cell, static_cast<std::uint64_t>(block));
      const int threads = kThreads[cell / std::size(kBatches)], batch = kBatches[cell % std::size(kBatches)];
      const double speed = true_speed(threads, batch) * std::exp(0.01 * random.normal());
      const std::string run = record.cells[cell].folder + "/b" + std::to_string(block);
      std::filesystem::create_directories(folder / run);
      record::write_record(
          folder / run,
          record_of_cell(cell, speed, (cell == 0 ? 520 : 500) + 40.0 * threads * std::exp(0.01 * random.normal())));
      journal << R"({"event":"end","series":1,"part":"measure","status":"done","seconds":12,"cell":")"
              << record.cells[cell].key << R"(","block":)" << block << R"(,"folder":")" << run << "\"}\n";
    }
  }
}

/// One folder for all tests here: writing 200 records takes a second.
const std::filesystem::path& sweep_folder() {
  static const test::TestFolder folder;
  static const bool written = (write_two_axes(folder.path()), true);
  EXPECT_TRUE(written);
  return folder.path();
}

TEST(SweepPage, SaysWhatTheSweepShowed) {
  const Sweep sweep = load_sweep(sweep_folder());
  ASSERT_EQ(sweep.jobs.size(), 1U);
  EXPECT_EQ(sweep.cells[sweep.jobs[0].cells.front()].name, "on=cpu/t8, batch=256");
  const auto sentences = sweep_conclusion(sweep);
  ASSERT_GE(sentences.size(), 2U);
  EXPECT_THAT(sentences[0], HasSubstr("on=cpu/t8, batch=256"));
  EXPECT_THAT(sentences[1], HasSubstr("Against on=cpu/t1, batch=16, the first: 1"));
  const report::Table table = sweep_table(sweep);
  EXPECT_EQ(table.rows.size(), 20U);
  const std::string csv = sweep_csv(sweep);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 201);
  EXPECT_THAT(csv, HasSubstr("energy_joules"));
  ASSERT_EQ(sweep.scalings.size(), 5U);
  for (const SweepScaling& scaling : sweep.scalings) EXPECT_NEAR(scaling.scaling.fit->serial_share, 0.1, 0.02);
}

// Guesses stand beside what was measured: in each table it is told which is which.
TEST(SweepPage, EnergiesKeepTheirClass) {
  const Sweep sweep = load_sweep(sweep_folder());
  const report::Table table = sweep_table(sweep);
  const auto classes = std::ranges::find(table.columns, "energy is", &report::Column::title);
  ASSERT_NE(classes, table.columns.end());
  const auto column = static_cast<std::size_t>(classes - table.columns.begin());
  std::map<std::string, int> rows;
  for (const auto& row : table.rows) ++rows[row[column]];
  EXPECT_EQ(rows, (std::map<std::string, int>{{"estimated", 1}, {"measured", 19}}));
  const std::string csv = sweep_csv(sweep), json = sweep_json(sweep);
  EXPECT_THAT(csv, AllOf(HasSubstr("energy_class"), HasSubstr(",estimated"), HasSubstr(",measured")));
  EXPECT_THAT(json, AllOf(HasSubstr(R"("estimated")"), HasSubstr(R"("measured")")));
}

TEST(SweepPage, TheFrontHasWhatNothingBeats) {
  const Sweep sweep = load_sweep(sweep_folder());
  const std::vector<bool> front = front_of(sweep, "images_per_s", "energy_joules");
  EXPECT_TRUE(front[sweep.jobs[0].cells.front()]);  // the fastest
  EXPECT_FALSE(front[0]);                           // slower than with a larger batch, at more energy
  EXPECT_EQ(front_of(sweep, "nothing", "energy_joules"), std::vector<bool>(20, false));
}

TEST(SweepPage, IsSafeAndCompleteWithoutPlots) {
  const std::string page = sweep_page(load_sweep(sweep_folder()), "", "No plots: testing");
  EXPECT_THAT(page, AllOf(HasSubstr("Threads and &lt;b&gt;batches"), Not(HasSubstr("<b>batches"))));
  EXPECT_THAT(page, AllOf(HasSubstr("No plots: testing"), HasSubstr("<span>--on=cpu/t8</span>")));
  EXPECT_THAT(page, HasSubstr("randomised complete blocks"));
}

class SweepInBrowser : public testing::TestWithParam<int> {};

TEST_P(SweepInBrowser, PlotsEverythingWithoutAnError) {
  if (const std::string why = test::why_no_browser(); !why.empty()) GTEST_SKIP() << why;
  const test::TestFolder folder;
  const report::WrittenPage page = write_sweep_page(folder / "report.html", load_sweep(sweep_folder()));
  ASSERT_EQ(page.hint, "");
  std::ofstream(page.path, std::ios::app) << R"(<script>
    window.addEventListener('load', () => {
      const seen = document.body.dataset;
      document.querySelectorAll('.sort')[3].click();
      document.querySelectorAll('.sort')[3].click();
      seen.bars = 'bars=' + document.getElementById('plot-cells').data[0].x.length;
      seen.first = 'first=' + document.querySelector('table.sortable tbody tr').cells[0].textContent;
      seen.fastest = 'fastest=' + Math.round(Math.max(...document.getElementById('plot-cells').data[0].x));
      seen.scaling = 'scaling=' + document.getElementById('plot-scaling-0').data.map((one) => one.name).join();
      seen.pivot = 'pivot=' + document.getElementById('pivot').rows.length + 'x' + document.getElementById('pivot').rows[0].cells.length;
    });</script>)";
  const std::string dom = test::dom_of(page.path, folder / "profile", GetParam());
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  std::size_t plots = 0;
  for (std::size_t at = 0; (at = body.find("class=\"plot js-plotly-plot\"", at)) != std::string::npos; ++at) ++plots;
  EXPECT_EQ(plots, 9U);  // cells, five of speedup, one over batches, two against each other
  EXPECT_THAT(body, HasSubstr("id=\"problem\" hidden"));
  EXPECT_THAT(dom, HasSubstr("data-bars=\"bars=20\""));
  EXPECT_THAT(dom, HasSubstr("data-first=\"first=cpu/t8\""));  // sorted by speed, the fastest first
  EXPECT_THAT(dom, HasSubstr("data-fastest=\"fastest=" + std::to_string(std::lround(true_speed(8, 256))).substr(0, 1)));
  EXPECT_THAT(dom, HasSubstr("ideal"));
  EXPECT_THAT(dom, HasSubstr("data-pivot=\"pivot=5x6\""));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

INSTANTIATE_TEST_SUITE_P(Widths, SweepInBrowser, testing::Values(1400, 400));

/// The sweep with figures that a document gives.
Sweep with_reference() {
  Sweep sweep = load_sweep(sweep_folder());
  const auto published = [](const std::string& cell, double value, const std::string& unit, const std::string& on) {
    return ReferenceFigure{.cell = cell,
                           .figure = "time",
                           .value = value,
                           .unit = unit,
                           .measured = {{"on", on}, {"batch", "16"}},
                           .metric = "images_per_s",
                           .against = cell == "one" ? "" : "one",
                           .machine = "a <b>machine</b>",
                           .source = "a document"};
  };
  sweep.reference = hold_against(
      {published("one", 40, "s", "cpu/t1"), published("four", 13, "s", "cpu/t4"),
       published("hundred", 1, "s", "cpu/t100"),
       published("a batch at a time against all data on the device, with a wrapper around it", 9, "s", "cpu/t8")},
      sweep);
  sweep.name = "001-environments-of-a-long-name";
  return sweep;
}

class SweepsInBrowser : public testing::TestWithParam<int> {};

TEST_P(SweepsInBrowser, ShowsSeveralBesideWhatWasPublished) {
  if (const std::string why = test::why_no_browser(); !why.empty()) GTEST_SKIP() << why;
  const test::TestFolder folder;
  const std::vector<Sweep> sweeps = {with_reference(), load_sweep(sweep_folder())};
  const report::WrittenPage page = write_sweeps_page(folder / "all.html", sweeps);
  ASSERT_EQ(page.hint, "");
  std::ofstream(page.path, std::ios::app) << R"(<script>
    window.addEventListener('load', () => {
      const traces = document.getElementById('plot-ratios').data;
      document.body.dataset.published = 'published=' + traces[1].x.join();
      document.body.dataset.here = 'here=' + traces[2].x.map((one) => one.toFixed(1)).join();
      const table = document.querySelector('.scroll');
      document.body.dataset.table = 'table=' + (table.scrollWidth > table.clientWidth);
    });</script>)";
  const std::string dom = test::dom_of(page.path, folder / "profile", GetParam());
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  std::size_t plots = 0;
  for (std::size_t at = 0; (at = body.find("class=\"plot js-plotly-plot\"", at)) != std::string::npos; ++at) ++plots;
  EXPECT_EQ(plots, 3U);  // the ratios, and the cells of each; nothing is known of accuracies
  EXPECT_THAT(body, HasSubstr("id=\"problem\" hidden"));
  EXPECT_TRUE(dom.find("table=false") != std::string::npos) << "published, here, ratio and verdict are all to be seen";
  EXPECT_THAT(dom, HasSubstr("published=3.07692"));
  EXPECT_THAT(dom, HasSubstr("here=3.1,"));
  EXPECT_THAT(body, AllOf(HasSubstr("no cell here is like it"), Not(HasSubstr("<b>machine"))));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

INSTANTIATE_TEST_SUITE_P(Widths, SweepsInBrowser, testing::Values(1200, 400));

/// Three runs of each of two cells; how long an accuracy took is made up.
report::Table table_to_accuracy(const std::string& asked) {
  record::SweepRecord record = test::simulated_record(2, 3);
  record.cells[1].predicted = record::CellPrediction{.images_per_s = 110, .run_s = 1};
  record::SweepJournal journal;
  for (const record::SweepCell& cell : record.cells) {
    for (int block = 1; block <= 3; ++block) {
      record::SweepRun& run = journal.runs.emplace_back();
      run.cell = cell.key;
      run.block = block;
      run.end = record::RunEnd::kDone;
    }
  }
  return sweep_table(sweep_of(record, journal, [&](const record::SweepRun& run) {
    record::Record made;
    made.images_per_s.median = 100;
    made.config["until-accuracy"] = asked;
    if (run.cell == "way-0" || run.block == 1) made.times.to_accuracy = 10.0 * run.block;
    return made;
  }));
}

std::vector<std::string> column_of_table(const report::Table& table, const std::string& title) {
  for (std::size_t n = 0; n < table.columns.size(); ++n) {
    if (table.columns[n].title == title) return {table.rows[0][n], table.rows[1][n]};
  }
  return {};
}

TEST(SweepTable, TellsTheTimeToAnAccuracyAndWhatWasPredicted) {
  const report::Table table = table_to_accuracy("0.9");
  EXPECT_THAT(column_of_table(table, "to accuracy"), testing::ElementsAre("20.0 s", "never (2 of 3 runs)"));
  EXPECT_THAT(column_of_table(table, "predicted"), testing::ElementsAre("-", "110 (+10 %)"));
  EXPECT_TRUE(column_of_table(table_to_accuracy("0.0"), "to accuracy").empty());
}

TEST(SweepsPage, CountsCellsWithoutFiguresAndNamesEachMachineOnce) {
  Sweep first = test::simulate(test::simulated_record(3, 3), {.speeds = {100, 200, 300}}, 1);
  Sweep second = test::simulate(test::simulated_record(2, 3), {.speeds = {100, 200}}, 2);
  first.name = "001-first";
  second.record.title = "Second <one>";
  for (Sweep* sweep : {&first, &second}) {
    for (SweepCellRuns& cell : sweep->cells) {
      cell.record->machine.cpu = "Zen";
      cell.record->machine.cores = 4;
      cell.record->machine.memory_bytes = 8'000'000'000;
    }
  }
  const std::vector<Sweep> whole{first, second};
  std::string page = sweeps_page(whole, "", "");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>2 sweeps</h1>"), HasSubstr("<h2>001-first</h2>"),
                          HasSubstr("Second &lt;one&gt;"), Not(HasSubstr("could not be measured"))));
  const std::string machine = "<li>Zen, 4 cores, 8 GB memory</li>";
  EXPECT_EQ(page.find(machine), page.rfind(machine));
  EXPECT_NE(page.find(machine), std::string::npos);
  first.cells[1].record.reset();
  second.cells[0].record.reset();
  second.cells[1].record->machine.cores = 1;
  page = sweeps_page(std::vector<Sweep>{first, second}, "", "", "a <hint>");
  EXPECT_THAT(page, AllOf(HasSubstr("2 of 5 cells could not be measured here"), HasSubstr("Zen, 1 core,"),
                          HasSubstr(machine), HasSubstr("a &lt;hint&gt;")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("id=\"data\"")), HasSubstr("table class=\"figures sortable\"")));
  first.reference.emplace_back().figure.cell = "c";
  first.reference[0].published_to_compare = 2;
  first.reference[0].verdict = "higher";
  page = sweeps_page(std::vector<Sweep>{first, second}, "", "/* plots */");
  EXPECT_THAT(page, AllOf(HasSubstr("2 sweeps: published against measured"), HasSubstr("1 published ratio or accuracy"),
                          HasSubstr("\"experiment\":\"001\"")));
}

}  // namespace
}  // namespace evener::sweeps
