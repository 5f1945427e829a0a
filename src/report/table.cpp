#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "base/terminal_text.h"
#include "record/metric.h"
#include "report/figures.h"
#include "report/format.h"

namespace evener::report {
namespace {

using record::Metric;
using record::Record;

constexpr const char* kMissing = "-";
constexpr const char* kEnergy = "energy_joules";

std::string text_or_dash(const std::string& text) {
  return text.empty() ? kMissing : text;
}

/// The figures of all runs that `wanted` accepts, each name once, in the order of the runs.
template <typename Wanted>
std::vector<Metric> metrics_of_all(std::span<const Run> runs, Wanted wanted) {
  std::vector<Metric> all;
  for (const Run& run : runs) {
    std::size_t place = 0;  // after the figures that precede it in this run
    for (Metric& metric : record::metrics_of(run.record)) {
      const auto known = std::ranges::find(all, metric.name, &Metric::name);
      if (known != all.end()) {
        place = static_cast<std::size_t>(known - all.begin()) + 1;
      } else if (wanted(metric)) {
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(place++), std::move(metric));
      }
    }
  }
  return all;
}

/// The speedup over the first run of the same work.
std::optional<double> compared_speed(std::span<const Run> runs, const Run& run) {
  return is_alone(runs, run) ? std::nullopt : speed_against(run.record, base_of(runs, run));
}

/// The energy-delay product relative to the first run's. A ratio of a measured and an estimated product names both
/// classes.
std::string edp_cell(std::span<const Run> runs, const Run& run, bool used_only) {
  const Record &record = run.record, &base = base_of(runs, run);
  const std::optional<double> edp = edp_against(record, base, used_only);
  if (!edp) return kMissing;
  const std::string kinds = record.energy.kind == base.energy.kind
                                ? ""
                                : fmt::format(" ({}/{})", record::energy_class_name(record.energy.kind),
                                              record::energy_class_name(base.energy.kind));
  return number_text(*edp) + "x" + kinds;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return right ? space + text : text + space;
}

std::string lying_text(const Table& table, const std::vector<std::size_t>& widths) {
  std::string text;
  const auto add_row = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t column = 0; column < widths.size(); ++column) {
      line += (column ? "  " : "") + padded(cell_of(column), widths[column], table.columns[column].numeric);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_row([&](std::size_t column) { return table.columns[column].title; });
  for (const auto& row : table.rows) add_row([&](std::size_t column) { return row[column]; });
  return text;
}

/// One line per value, one column per run.
std::string upright_text(const Table& table) {
  std::size_t title_width = 0;
  for (const Column& column : table.columns) title_width = std::max(title_width, display_width(column.title));
  std::vector<std::size_t> widths;
  for (const auto& row : table.rows) {
    std::size_t width = 0;
    for (const std::string& cell : row) width = std::max(width, display_width(cell));
    widths.push_back(width);
  }
  std::string text;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::string line = padded(table.columns[column].title, title_width, false);
    for (std::size_t run = 0; run < table.rows.size(); ++run) {
      line += "  " + padded(table.rows[run][column], widths[run], false);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string optional_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}
template <typename T>
std::string optional_count(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "";
}

/// The CSV's titles with their cells, in one list so that they can't get out of step.
using CsvCells = std::vector<std::pair<std::string, std::string>>;

void add_figure(CsvCells& cells, const Metric& column, const std::vector<Metric>& metrics) {
  const Metric* metric = record::find_metric(metrics, column.name);
  cells.emplace_back(column.name, metric == nullptr ? "" : optional_number(metric->value));
  if (column.role != record::MetricRole::kSpeed) return;
  const bool known = metric != nullptr && metric->interval;
  cells.emplace_back(column.name + "_low95", known ? fmt::format("{}", metric->interval->low) : "");
  cells.emplace_back(column.name + "_high95", known ? fmt::format("{}", metric->interval->high) : "");
}

CsvCells csv_row(std::span<const Run> runs, const Run& run, const std::vector<Metric>& columns) {
  const Record& record = run.record;
  CsvCells cells{{"run", run.name},
                 {"kind", record.kind},
                 {"status", record::status_name(record.status)},
                 {"started", record.started},
                 {"model", record.model.name},
                 {"parameters", optional_count(record.model.parameters)},
                 {"data", record.data.location},
                 {"placement", record.placement.text},
                 {"engine", record.engine},
                 {"precision", record.precision},
                 {"batch", optional_count(record.batch)},
                 {"epochs", std::to_string(record.training.epochs.size())}};
  const std::vector<Metric> metrics = record::metrics_of(record);
  const Metric* compared = record::main_speed(columns);
  for (const Metric& column : columns) {
    add_figure(cells, column, metrics);
    if (&column == compared) cells.emplace_back("speed_against_first", optional_number(compared_speed(runs, run)));
    if (column.name != kEnergy) continue;
    const Record& base = base_of(runs, run);
    cells.emplace_back("energy_class", record::energy_class_name(record.energy.kind));
    cells.emplace_back("edp_against_first", optional_number(edp_against(record, base, false)));
    cells.emplace_back("used_devices_edp_against_first", optional_number(edp_against(record, base, true)));
  }
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : "; ") + reason.rule;
  cells.emplace_back("cpu", record.machine.cpu);
  cells.emplace_back("valid", record.validity.valid ? (*record.validity.valid ? "true" : "false") : "");
  cells.emplace_back("invalid_rules", rules);
  return cells;
}

}  // namespace

Table summary_table(std::span<const Run> runs) {
  Table table;
  const std::vector<Metric> metrics = metrics_of_all(runs, [](const Metric& metric) { return !metric.title.empty(); });
  const bool comparable = std::ranges::any_of(runs, [&](const Run& run) { return !is_alone(runs, run); });
  const Metric* compared = comparable ? record::main_speed(metrics) : nullptr;
  const bool energies = std::ranges::any_of(runs, [](const Run& run) { return run.record.energy.joules.has_value(); });
  const bool idle_devices = std::ranges::any_of(runs, [](const Run& run) {
    return run.record.energy.used_joules && run.record.energy.used_joules != run.record.energy.joules;
  });
  table.rows.resize(runs.size());
  const auto add = [&](const std::string& title, bool numeric, const auto& cell_of) {
    table.columns.push_back({title, numeric});
    for (std::size_t n = 0; n < runs.size(); ++n) table.rows[n].push_back(cell_of(runs[n]));
  };
  add("run", false, [](const Run& run) { return run.name; });
  add("model", false, [](const Run& run) { return text_or_dash(run.record.model.name); });
  add("data", false, [](const Run& run) { return text_or_dash(run.record.data.location); });
  add("placement", false, [](const Run& run) { return text_or_dash(run.record.placement.text); });
  add("precision", false, [](const Run& run) { return text_or_dash(run.record.precision); });
  add("batch", true, [](const Run& run) { return text_or_dash(optional_count(run.record.batch)); });
  for (const Metric& metric : metrics) {
    add(metric.title, true, [&](const Run& run) {
      const std::vector<Metric> own = record::metrics_of(run.record);
      const Metric* figure = record::find_metric(own, metric.name);
      return figure == nullptr ? kMissing : cell_text(*figure, kMissing);
    });
    if (&metric == compared) {
      add("speed", true, [&](const Run& run) {
        const std::optional<double> speed = compared_speed(runs, run);
        return speed ? number_text(*speed) + "x" : kMissing;
      });
    }
    if (metric.name != kEnergy || !energies) continue;
    add("energy is", false, [](const Run& run) { return record::energy_class_name(run.record.energy.kind); });
    if (runs.size() < 2) continue;
    add("EDP", true, [&](const Run& run) { return edp_cell(runs, run, false); });
    if (idle_devices) add("EDP without idle devices", true, [&](const Run& run) { return edp_cell(runs, run, true); });
  }
  add("valid", false, [](const Run& run) { return validity_text(run.record); });
  table.notes = notes_of(runs);
  for (const Run& run : runs) {
    for (const std::string& warning : run.record.warnings) table.notes.push_back(run.name + ": " + warning);
  }
  return table;
}

std::string terminal_text(const Table& original, std::size_t width) {
  Table table = original;
  for (Column& column : table.columns) column.title = one_line(column.title);
  for (auto& row : table.rows) std::ranges::transform(row, row.begin(), one_line);
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::size_t widest = display_width(table.columns[column].title);
    for (const auto& row : table.rows) widest = std::max(widest, display_width(row[column]));
    widths.push_back(widest);
    total += widest + (column ? 2 : 0);
  }
  std::string text = table.rows.size() == 1 || total > width ? upright_text(table) : lying_text(table, widths);
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += "- " + one_line(note) + "\n";
  return text;
}

std::string markdown_text(const Table& table) {
  std::string text = "|";
  for (const Column& column : table.columns) text += " " + escape_markdown(column.title) + " |";
  text += "\n|";
  for (const Column& column : table.columns) text += column.numeric ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const std::string& cell : row) text += " " + escape_markdown(cell) + " |";
    text += "\n";
  }
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += "- " + escape_markdown(note) + "\n";
  return text;
}

std::string csv_text(std::span<const Run> runs) {
  std::string text;
  const std::vector<Metric> columns = metrics_of_all(runs, [](const Metric&) { return true; });
  for (const Run& run : runs) {
    const auto row = csv_row(runs, run, columns);
    std::vector<std::string> titles, cells;
    for (const auto& [title, cell] : row) {
      titles.push_back(title);
      cells.push_back(cell);
    }
    if (text.empty()) text = csv_line(titles);
    text += csv_line(cells);
  }
  return text;
}

}  // namespace evener::report
