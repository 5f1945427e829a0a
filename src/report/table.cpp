#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/notes.h"

namespace evener::report {
namespace {

using measure::Record;

constexpr const char* kMissing = "-";

std::string text_or_dash(const std::string& text) {
  return text.empty() ? kMissing : text;
}

std::string energy_text(const measure::Energy& energy) {
  return energy.joules ? si_text(*energy.joules, "J") : "absent";
}

std::vector<std::string> summary_row(const Run& run, const Record& base, bool compare) {
  const Record& record = run.record;
  const std::optional<double> epoch_s = seconds_per_epoch(record);
  std::vector<std::string> row{run.name,
                               text_or_dash(record.model.name),
                               text_or_dash(record.data.location),
                               text_or_dash(record.placement.text),
                               text_or_dash(record.precision),
                               record.batch ? std::to_string(*record.batch) : kMissing,
                               record.images_per_s.median ? number_text(*record.images_per_s.median) : kMissing};
  if (compare) {
    const std::optional<double> speed = speed_against(record, base);
    row.push_back(speed ? number_text(*speed) + "x" : kMissing);
  }
  row.insert(row.end(), {epoch_s ? number_text(*epoch_s) : kMissing, percent_text(best_val_accuracy(record)),
                         percent_text(record.accuracy.test),
                         record.memory.peak_rss_bytes ? bytes_text(*record.memory.peak_rss_bytes) : kMissing,
                         energy_text(record.energy), validity_text(record)});
  return row;
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

/// Titles and cells of the CSV, side by side so that they can't get out of step.
std::vector<std::pair<const char*, std::string>> csv_row(const Run& run, const Record& base) {
  const Record& record = run.record;
  const auto& rate = record.images_per_s;
  const auto low = rate.interval ? std::optional(rate.interval->low) : std::nullopt;
  const auto high = rate.interval ? std::optional(rate.interval->high) : std::nullopt;
  std::string rules;
  for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : "; ") + reason.rule;
  return {{"run", run.name},
          {"kind", record.kind},
          {"status", measure::status_name(record.status)},
          {"started", record.started},
          {"model", record.model.name},
          {"parameters", optional_count(record.model.parameters)},
          {"data", record.data.location},
          {"placement", record.placement.text},
          {"engine", record.engine},
          {"precision", record.precision},
          {"batch", optional_count(record.batch)},
          {"epochs", std::to_string(record.epochs.size())},
          {"images_per_s", optional_number(rate.median)},
          {"images_per_s_low95", optional_number(low)},
          {"images_per_s_high95", optional_number(high)},
          {"speed_against_first", optional_number(speed_against(record, base))},
          {"seconds_per_epoch", optional_number(seconds_per_epoch(record))},
          {"total_s", optional_number(record.times.total)},
          {"train_s", optional_number(record.times.train)},
          {"best_val_accuracy", optional_number(best_val_accuracy(record))},
          {"test_accuracy", optional_number(record.accuracy.test)},
          {"peak_rss_bytes", optional_count(record.memory.peak_rss_bytes)},
          {"cpu_seconds", optional_number(record.cpu.seconds)},
          {"energy_joules", optional_number(record.energy.joules)},
          {"edp_joule_seconds", optional_number(record.energy.edp_js)},
          {"cpu", record.machine.cpu},
          {"valid", record.validity.valid ? (*record.validity.valid ? "true" : "false") : ""},
          {"invalid_rules", rules}};
}

}  // namespace

Table summary_table(std::span<const Run> runs) {
  Table table;
  const bool compare = runs.size() > 1;
  table.columns = {{"run", false},       {"model", false}, {"data", false},   {"placement", false},
                   {"precision", false}, {"batch", true},  {"images/s", true}};
  if (compare) table.columns.push_back({"speed", true});
  table.columns.insert(table.columns.end(), {{"s/epoch", true},
                                             {"best val", true},
                                             {"test", true},
                                             {"peak memory", true},
                                             {"energy", true},
                                             {"valid", false}});
  for (const Run& run : runs) table.rows.push_back(summary_row(run, base_of(runs, run), compare));
  table.notes = notes_of(runs);
  return table;
}

std::string terminal_text(const Table& original, std::size_t width) {
  Table table = original;
  for (auto& row : table.rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
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
  for (const std::string& note : table.notes) text += "- " + printable(note) + "\n";
  return text;
}

std::string markdown_text(const Table& table) {
  std::string text = "|";
  for (const Column& column : table.columns) text += " " + column.title + " |";
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
  for (const Run& run : runs) {
    const auto row = csv_row(run, base_of(runs, run));
    std::string titles, cells;
    for (const auto& [title, cell] : row) {
      titles += (titles.empty() ? "" : ",") + std::string(title);
      cells += (&title == &row.front().first ? "" : ",") + csv_cell(cell);
    }
    if (text.empty()) text = titles + "\n";
    text += cells + "\n";
  }
  return text;
}

}  // namespace evener::report
