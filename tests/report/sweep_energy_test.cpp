// Energies of a sweep: of which runs they are, and of which class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/sweep.h"
#include "report/sweep_page.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using record::EnergyClass;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A run of a cell: it draws `watts` for `seconds` on 600 images; its energy is known where that was long enough.
struct OneRun {
  double seconds = 1, watts = 1;
  bool known = true;
  EnergyClass kind = EnergyClass::kMeasured;
};
using RunsOfCell = std::vector<OneRun>;

constexpr double kImages = 600;

record::Record record_of(const OneRun& run) {
  record::Record record;
  record.model.name = "model";
  record.kind = "infer";
  record.data.images = static_cast<std::int64_t>(kImages);
  record.times.total = run.seconds;
  record.images_per_s.median = kImages / run.seconds;
  record.placement.replicas.emplace_back().stages.push_back(
      {.device = "cpu", .threads = 1, .cpus = {}, .emulated_speed = {}});
  if (!run.known) {
    record.energy.reason = "a window of 0.36 s is too short for the counters (at least 1 s)";
    return record;
  }
  record.energy.joules = run.seconds * run.watts;
  record.energy.seconds = run.seconds;
  record.energy.kind = run.kind;
  record.energy.process_joules = record.energy.used_joules = *record.energy.joules / 2;
  record::set_products(record.energy);
  return record;
}

/// A sweep of these cells; the runs of `energy` are its part for energy alone.
Sweep made(const std::vector<RunsOfCell>& measured, const std::vector<RunsOfCell>& energy = {}) {
  record::SweepRecord record = test::simulated_record(measured.size(), static_cast<int>(measured[0].size()));
  record.energy_repeats = energy.empty() ? 0 : static_cast<int>(energy[0].size());
  record::SweepJournal journal;
  std::map<std::string, OneRun> runs;
  const auto add = [&](const std::vector<RunsOfCell>& of, const char* part) {
    for (std::size_t cell = 0; cell < of.size(); ++cell) {
      for (std::size_t n = 0; n < of[cell].size(); ++n) {
        record::SweepRun& run = journal.runs.emplace_back();
        run.cell = record.cells[cell].key;
        run.part = part;
        run.block = static_cast<int>(n) + 1;
        run.folder = run.cell + part + std::to_string(n);
        run.end = record::RunEnd::kDone;
        runs[run.folder] = of[cell][n];
      }
    }
  };
  add(measured, record::kMeasurePart);
  add(energy, record::kEnergyPart);
  return sweep_of(record, journal, [&](const record::SweepRun& run) { return record_of(runs.at(run.folder)); });
}

double mean_of(const Sweep& sweep, std::size_t cell, const char* name) {
  const SweepFigure* figure = sweep.cells[cell].figure(name);
  return figure == nullptr ? NAN : figure->mean.mean.value_or(NAN);
}

/// The rows of the CSV file by title.
std::vector<std::map<std::string, std::string>> csv_rows(const Sweep& sweep) {
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        cells.emplace_back();
      } else if (c != '"') {
        cells.back() += c;
      }
    }
    return cells;
  };
  std::istringstream text(sweep_csv(sweep));
  std::string line;
  std::getline(text, line);
  const auto titles = cells_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(text, line)) {
    const auto cells = cells_of(line);
    EXPECT_EQ(cells.size(), titles.size());
    for (auto& row = rows.emplace_back(); const std::string& title : titles) row[title] = cells[row.size()];
  }
  return rows;
}

TEST(SweepEnergy, TheMostFrugalIsNamedWhereItIsOneBeyondChance) {
  const auto cell = [](double watts) {
    RunsOfCell runs;
    for (int n = 0; n < 5; ++n) runs.push_back({.seconds = 2, .watts = watts * (1 + 0.01 * (n % 3))});
    return runs;
  };
  EXPECT_THAT(sweep_conclusion(made({cell(40), cell(30), cell(60)})),
              testing::Contains(AllOf(HasSubstr("The least energy (measured) takes "), HasSubstr("(60.5 J): "),
                                      HasSubstr("takes 1.33x as much"))));
  RunsOfCell other = cell(30);
  std::ranges::reverse(other);
  EXPECT_THAT(sweep_conclusion(made({cell(30), other})),
              testing::Contains(HasSubstr("Which takes the least energy (measured) is undecided between")));
  for (OneRun& run : other) run.known = false;
  for (const std::string& sentence : sweep_conclusion(made({cell(30), other}))) {
    EXPECT_THAT(sentence, testing::Not(HasSubstr("least energy")));
  }
}

/// Four runs of 0.9 s at 40 W are 36 J each, but too short for a counter; one took 2.1 s and has 84 J. Beside a mean of
/// the five times these 84 J would be those of another run.
TEST(SweepEnergy, OneThatFewRunsKnowHasNoMeanBesideTheTimesOfAll) {
  const OneRun is_short{.seconds = 0.9, .watts = 40, .known = false}, is_long{.seconds = 2.1, .watts = 40};
  const Sweep sweep = made({{is_short, is_short, is_long, is_short, is_short}, RunsOfCell(5, is_long)});
  EXPECT_NEAR(mean_of(sweep, 0, "total_s"), std::exp((4 * std::log(0.9) + std::log(2.1)) / 5), 1e-9);
  for (const char* name : {"energy_joules", "edp_joule_seconds", "ed2p_joule_square_seconds", "images_per_joule",
                           "process_joules", "used_devices_joules"}) {
    EXPECT_TRUE(std::isnan(mean_of(sweep, 0, name))) << name;
    EXPECT_FALSE(std::isnan(mean_of(sweep, 1, name))) << name;
  }
  EXPECT_NEAR(mean_of(sweep, 1, "energy_joules"), 84, 1e-9);
  const SweepFigure* energy = sweep.cells[0].figure("energy_joules");
  EXPECT_THAT(energy->reason, AllOf(HasSubstr("1 of 5 runs have it"), HasSubstr("0.36 s is too short")));
  EXPECT_THAT(sweep.notes, testing::Contains(AllOf(HasSubstr("way-0"), HasSubstr("1 of 5 runs have it"))));
  // What is known of single runs stays.
  const auto rows = csv_rows(sweep);
  EXPECT_EQ(rows[2].at("energy_joules"), "84");
  EXPECT_EQ(rows[1].at("energy_joules"), "");
  const auto json = nlohmann::json::parse(sweep_json(sweep))["cells"][0]["figures"]["energy_joules"];
  EXPECT_TRUE(json["mean"].is_null());
  EXPECT_TRUE(json["range"].is_null());
  EXPECT_THAT(json.value("reason", ""), HasSubstr("1 of 5 runs have it"));
  EXPECT_EQ(json["values"], nlohmann::json({84.0}));
  const Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, "energy", &Column::title) - table.columns.begin();
  EXPECT_EQ(table.rows[0][static_cast<std::size_t>(column)], "-");
}

/// Runs for energy alone are longer and slower; each figure is of one kind of run, and no figure of both.
TEST(SweepEnergy, RunsForEnergyAloneGiveAllFiguresOfEnergyAndNoOther) {
  const RunsOfCell timed = {{.seconds = 2, .watts = 999}, {.seconds = 2.5, .watts = 999}, {.seconds = 2, .watts = 999}};
  const RunsOfCell metered = {{.seconds = 8, .watts = 50}, {.seconds = 10, .watts = 50}};
  const Sweep sweep = made({timed}, {metered});
  EXPECT_NEAR(mean_of(sweep, 0, "total_s"), std::cbrt(2 * 2.5 * 2), 1e-9);
  EXPECT_NEAR(mean_of(sweep, 0, "images_per_s"), std::cbrt(300.0 * 240 * 300), 1e-9) << "no speed of an energy run";
  EXPECT_NEAR(mean_of(sweep, 0, "energy_joules"), std::sqrt(400.0 * 500), 1e-9);
  EXPECT_NEAR(mean_of(sweep, 0, "edp_joule_seconds"), std::sqrt(400.0 * 8 * 500 * 10), 1e-6);
  EXPECT_NEAR(mean_of(sweep, 0, "ed2p_joule_square_seconds"), std::sqrt(400.0 * 64 * 500 * 100), 1e-6);
  EXPECT_NEAR(mean_of(sweep, 0, "images_per_joule"), std::sqrt(600 / 400.0 * 600 / 500), 1e-9);
  EXPECT_EQ(sweep.cells[0].figure("images_per_s")->values.size(), 3u);
  EXPECT_EQ(sweep.cells[0].figure("energy_joules")->values.size(), 2u);
  const auto rows = csv_rows(sweep);
  ASSERT_EQ(rows.size(), 5u);
  for (const auto& row : rows) {
    const bool is_metered = row.at("part") == record::kEnergyPart;
    for (const char* name : {"energy_joules", "energy_class", "edp_joule_seconds", "ed2p_joule_square_seconds",
                             "images_per_joule", "process_joules"}) {
      EXPECT_EQ(row.at(name).empty(), !is_metered) << name << " in " << row.at("part");
    }
    for (const char* name : {"images_per_s", "total_s"}) EXPECT_EQ(row.at(name).empty(), is_metered) << name;
  }
  EXPECT_EQ(rows[3].at("energy_joules"), "400");
  EXPECT_EQ(rows[4].at("ed2p_joule_square_seconds"), "50000");
}

TEST(SweepEnergy, KeepsTheClassOfEachCellInTablesFilesAndPlots) {
  const auto of = [](EnergyClass kind) { return RunsOfCell(3, OneRun{.seconds = 5, .watts = 30, .kind = kind}); };
  RunsOfCell both = of(EnergyClass::kMeasured);
  both[2].kind = EnergyClass::kEstimated;
  const Sweep sweep = made({of(EnergyClass::kEstimated), of(EnergyClass::kMeasured), both});
  const Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, "energy is", &Column::title) - table.columns.begin();
  std::vector<std::string> classes;
  for (const auto& row : table.rows) classes.push_back(row[static_cast<std::size_t>(column)]);
  EXPECT_THAT(classes, ElementsAre("estimated", "measured", "mixed"));
  const auto json = nlohmann::json::parse(sweep_json(sweep))["cells"];
  const auto class_in = [](const auto& cells, std::size_t n, const char* name) {
    return cells[n]["figures"][name]["class"].template get<std::string>();
  };
  for (const char* name : {"energy_joules", "edp_joule_seconds", "ed2p_joule_square_seconds", "images_per_joule"}) {
    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(class_in(json, n, name), classes[n]) << name;
  }
  EXPECT_EQ(class_in(json, 0, "process_joules"), "estimated") << "a share of an estimate is one";
  EXPECT_EQ(class_in(json, 1, "process_joules"), "derived");
  EXPECT_FALSE(json[0]["figures"]["images_per_s"].contains("class"));
  const auto rows = csv_rows(sweep);
  std::vector<std::string> of_runs;
  for (const auto& row : rows) of_runs.push_back(row.at("energy_class"));
  EXPECT_THAT(of_runs, ElementsAre("estimated", "estimated", "estimated", "measured", "measured", "measured",
                                   "measured", "measured", "estimated"));
  EXPECT_EQ(sweep.cells[0].figure("energy_joules")->metric.label, "energy (estimated)");
  EXPECT_EQ(sweep.cells[1].figure("energy_joules")->metric.label, "energy (measured)");
  for (const record::Metric& metric : sweep_metrics(sweep)) {
    if (metric.name == "energy_joules") {
      EXPECT_EQ(metric.label, "energy (of several classes)") << "the plot is of all cells";
    }
  }
}

}  // namespace
}  // namespace evener::report
