#include "sweep/figures/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "record/statistics.h"
#include "report/figures.h"
#include "report/format.h"
#include "sweep/figures/sweep.h"
#include "sweep/figures/sweep_claims.h"

namespace evener::sweeps {
namespace {

constexpr std::uint64_t kLargestReference = 10'000'000;
constexpr const char* kColumns[] = {"cell",   "figure",  "value",   "unit",  "measured",
                                    "metric", "against", "machine", "source"};

/// Parses the file row by row; errors name the row.
class ReferenceReader {
 public:
  explicit ReferenceReader(const std::filesystem::path& path) : path_(path) {}

  std::vector<ReferenceFigure> read() {
    std::istringstream lines(text_without_byte_order_mark(read_file(path_, kLargestReference)));
    CsvReader table(lines);
    line_ = table.line();
    if (!table.titles().empty()) check(table.titles());
    std::vector<ReferenceFigure> figures;
    while (table.next()) {
      line_ = table.line();
      figures.push_back(figure_of(table.titles(), table.cells()));
    }
    for (const ReferenceFigure& figure : figures) check_against(figure, figures);
    return figures;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}, line {}: {}", path_.string(), line_, what));
  }

  void check(const std::vector<std::string>& titles) const {
    for (const std::string& title : titles) {
      if (std::ranges::find(kColumns, title) == std::end(kColumns)) {
        fail(unknown_name_message("column", title, {std::begin(kColumns), std::end(kColumns)}));
      }
    }
    for (const char* needed : {"cell", "figure", "value"}) {
      if (std::ranges::find(titles, needed) == titles.end()) fail(fmt::format("there is no column '{}'", needed));
    }
  }

  ReferenceFigure figure_of(const std::vector<std::string>& titles, const std::vector<std::string>& cells) const {
    if (cells.size() != titles.size()) {
      fail(fmt::format("{} cells, where the first line names {} columns", cells.size(), titles.size()));
    }
    ReferenceFigure figure;
    for (std::size_t n = 0; n < cells.size(); ++n) {
      const std::string &title = titles[n], &cell = cells[n];
      if (title == "cell") figure.cell = cell;
      if (title == "figure") figure.figure = cell;
      if (title == "value") figure.value = number_in(cell);
      if (title == "unit") figure.unit = cell;
      if (title == "measured") figure.measured = values_in(cell);
      if (title == "metric") figure.metric = cell;
      if (title == "against") figure.against = cell;
      if (title == "machine") figure.machine = cell;
      if (title == "source") figure.source = cell;
    }
    return figure;
  }

  double number_in(const std::string& text) const {
    const auto value = to_number<double>(text);
    if (!value) fail(fmt::format("'{}' is no number", one_line(text)));
    return *value;
  }

  std::map<std::string, std::string> values_in(const std::string& text) const {
    std::map<std::string, std::string> values;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(';', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos) fail(fmt::format("'{}' is not AXIS=VALUE;AXIS=VALUE", one_line(text)));
      values[part.substr(0, equals)] = part.substr(equals + 1);
      begin = end + 1;
    }
    return values;
  }

  void check_against(const ReferenceFigure& figure, const std::vector<ReferenceFigure>& all) const {
    if (figure.against.empty() || std::ranges::find(all, figure.against, &ReferenceFigure::cell) != all.end()) return;
    throw Error(fmt::format("{}: '{}' stands against '{}', which is no cell of the file", path_.string(), figure.cell,
                            figure.against));
  }

  const std::filesystem::path& path_;
  int line_ = 0;
};

/// The row that `against` refers to, preferably one of the same figure.
const ReferenceFigure& base_of_figure(const ReferenceFigure& figure, const std::vector<ReferenceFigure>& all) {
  for (const ReferenceFigure& other : all) {
    if (other.cell == figure.against && other.figure == figure.figure && other.unit == figure.unit) return other;
  }
  return *std::ranges::find(all, figure.against, &ReferenceFigure::cell);
}

std::optional<double> published_to_compare(const ReferenceFigure& figure, const std::vector<ReferenceFigure>& all) {
  if (figure.unit == "%") return figure.metric.empty() ? std::nullopt : std::optional(figure.value / 100);
  if (figure.against.empty()) return std::nullopt;
  if (figure.unit.empty()) return figure.value;
  const ReferenceFigure& base = base_of_figure(figure, all);
  if (base.unit != figure.unit || base.value <= 0 || figure.value <= 0) return std::nullopt;
  return figure.unit.ends_with("/s") ? figure.value / base.value : base.value / figure.value;
}

const SweepCellRuns* cell_with(const Sweep& sweep, const std::map<std::string, std::string>& values) {
  for (const SweepCellRuns& cell : sweep.cells) {
    const bool has_all = std::ranges::all_of(values, [&](const auto& value) {
      const auto found = cell.cell.values.find(value.first);
      return found != cell.cell.values.end() && found->second == value.second;
    });
    if (has_all && !values.empty()) return &cell;
  }
  return nullptr;
}

/// The cell's figure, if it has values; else null, and the row's verdict says why.
const SweepFigure* figure_here(const SweepCellRuns* cell, const std::string& metric, ReferenceRow& row) {
  if (cell == nullptr) {
    row.verdict = "no cell here is like it";
    return nullptr;
  }
  const SweepFigure* figure = cell->figure(metric);
  if (figure != nullptr && figure->mean.mean) return figure;
  row.verdict = fmt::format("{} has no such figure", cell->name);
  for (const record::SweepRun& run : cell->runs) {
    if (!record::has_figures(run.end)) row.verdict = fmt::format("{} here", run_end_name(run.end));
  }
  return nullptr;
}

void measure_ratio(ReferenceRow& row, const SweepFigure& here, const record::RunComparison& comparison) {
  row.measured_to_compare = comparison.ratio;
  row.interval = comparison.interval;
  if (is_speedup(row.figure) || here.metric.better == record::Better::kHigher || !comparison.ratio) return;
  row.measured_to_compare = 1 / *comparison.ratio;
  if (row.interval) row.interval = record::Interval{1 / row.interval->high, 1 / row.interval->low};
}

void judge(ReferenceRow& row) {
  if (!row.published_to_compare || !row.measured_to_compare) return;
  const double published = *row.published_to_compare;
  if (!row.disturbance.empty()) {
    row.verdict = row.disturbance;
  } else if (!row.interval) {
    row.verdict = row.is_share() ? "of how many images it is isn't known" : "too few runs side by side";
  } else if (row.interval->low <= published && published <= row.interval->high) {
    row.verdict = "as published";
  } else {
    row.verdict = row.interval->low > published ? "higher" : "lower";
  }
}

/// Why the cell's ratios can't be held against those of another machine, which was quiet for all that is known; "" =
/// they can.
const char* disturbance_of(const SweepCellRuns& cell) {
  if (cell.not_comparable > 0) return "the measurements are INVALID";
  return cell.beside_others > 0 ? "measured beside other programs" : "";
}

std::string compared_text(const ReferenceRow& row, double value) {
  return row.is_share() ? report::percent_text(value) : report::number_text(value) + "x";
}

std::string measured_text(const ReferenceRow& row) {
  if (!row.measured_to_compare) return "-";
  std::string text = compared_text(row, *row.measured_to_compare);
  if (row.interval) {
    text += fmt::format(" ({} to {})", compared_text(row, row.interval->low), compared_text(row, row.interval->high));
  }
  return text;
}

}  // namespace

bool is_speedup(const ReferenceFigure& figure) {
  return !figure.unit.empty() || figure.figure.find("speedup") != std::string::npos;
}

std::vector<ReferenceFigure> read_reference(const std::filesystem::path& path) {
  return ReferenceReader(path).read();
}

std::vector<ReferenceRow> hold_against(const std::vector<ReferenceFigure>& reference, const Sweep& sweep) {
  std::vector<ReferenceRow> rows;
  for (const ReferenceFigure& figure : reference) {
    ReferenceRow& row = rows.emplace_back();
    row.figure = figure;
    row.published_to_compare = published_to_compare(figure, reference);
    const SweepCellRuns* cell = cell_with(sweep, figure.measured);
    if (cell != nullptr) row.here = cell->name;
    if (cell != nullptr && !row.is_share()) row.disturbance = disturbance_of(*cell);  // of accuracies time is none
    const SweepFigure* here = figure_here(cell, figure.metric, row);
    if (here == nullptr) continue;
    record::Metric metric = here->metric;
    metric.value = here->mean.mean;
    row.measured = report::figure_text(metric, "-");
    if (row.is_share()) {
      // Runs with the same seed have the same accuracy; its uncertainty comes from the number of test images.
      row.measured_to_compare = here->mean.mean;
      if (here->metric.of_images) row.interval = record::share_interval(*here->mean.mean, *here->metric.of_images);
    } else if (row.published_to_compare) {
      const SweepCellRuns* base = cell_with(sweep, base_of_figure(figure, reference).measured);
      const SweepFigure* of_base = figure_here(base, figure.metric, row);
      if (base != nullptr && row.disturbance.empty()) row.disturbance = disturbance_of(*base);
      if (of_base != nullptr) {
        measure_ratio(row, *here, compare_beside_load(*base, *cell, *of_base, *here, sweep.record.first_stage()));
      }
    } else {
      row.verdict = "of another machine";
    }
    judge(row);
  }
  return rows;
}

report::Table reference_table(std::span<const ReferenceRow> rows) {
  report::Table table;
  table.columns = {{"published as", false}, {"cell here", false},      {"figure", false},    {"published", true},
                   {"here", true},          {"published ratio", true}, {"ratio here", true}, {"verdict", false}};
  for (const ReferenceRow& row : rows) {
    const bool is_ratio = row.figure.unit.empty();
    std::string figure = row.figure.figure;
    if (!row.figure.against.empty()) figure += " against " + row.figure.against;
    const std::string unit = row.figure.unit.empty() ? "" : " " + row.figure.unit;
    table.rows.push_back({row.figure.cell, row.here.empty() ? "-" : row.here, figure,
                          is_ratio ? "-" : report::number_text(row.figure.value) + unit,
                          row.measured.empty() || is_ratio ? "-" : row.measured,
                          row.published_to_compare ? compared_text(row, *row.published_to_compare) : "-",
                          measured_text(row), row.verdict});
  }
  std::vector<std::string> machines;
  for (const ReferenceRow& row : rows) {
    if (row.figure.machine.empty()) continue;
    std::string text = fmt::format("published: {}, on {}", row.figure.source, row.figure.machine);
    if (std::ranges::find(machines, text) == machines.end()) machines.push_back(std::move(text));
  }
  table.notes = std::move(machines);
  return table;
}

std::string reference_sentence(std::span<const ReferenceRow> rows) {
  const auto count = [&](const char* verdict) { return std::ranges::count(rows, verdict, &ReferenceRow::verdict); };
  const auto can =
      std::ranges::count_if(rows, [](const ReferenceRow& row) { return row.published_to_compare.has_value(); });
  const auto same = count("as published"), higher = count("higher"), lower = count("lower");
  if (can == 0) return "";
  const auto rest = can - same - higher - lower;
  std::vector<std::string> parts;
  const auto add = [&](auto number, const std::string& what) {
    if (number == 0) return;
    const char* verb = number == 1 ? "is " : "are ";
    parts.push_back(fmt::format("{} {}{}", number, parts.empty() ? verb : "", what));
  };
  add(same, "as published");
  add(higher, "higher");
  add(lower, "lower");
  std::string text = fmt::format(
      "{}: here {}",
      counted(static_cast<std::size_t>(can), "published ratio or accuracy", "published ratios and accuracies"),
      parts.empty() ? "none can be judged" : report::listed(parts));
  if (rest > 0 && !parts.empty()) text += fmt::format("; {} can't be judged", rest);
  return text + (rest > 0 ? ": cells can't run here, runs are too few, INVALID, or beside other programs." : ".");
}

nlohmann::ordered_json reference_plot_data(std::span<const ReferenceRow> rows) {
  using ReferenceJson = nlohmann::ordered_json;
  ReferenceJson list = ReferenceJson::array();
  for (const ReferenceRow& row : rows) {
    if (!row.published_to_compare) continue;
    list.push_back({{"cell", row.figure.cell},
                    {"against", row.figure.against},
                    {"figure", row.figure.figure},
                    {"share", row.is_share()},
                    {"published", report::value_or_null(row.published_to_compare)},
                    {"measured", report::value_or_null(row.measured_to_compare)},
                    {"low", row.interval ? ReferenceJson(row.interval->low) : ReferenceJson(nullptr)},
                    {"high", row.interval ? ReferenceJson(row.interval->high) : ReferenceJson(nullptr)},
                    {"invalid", !row.disturbance.empty()},
                    {"verdict", row.verdict}});
  }
  return list;
}

}  // namespace evener::sweeps
