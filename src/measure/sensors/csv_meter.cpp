#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"
#include "measure/sensors/csv_cells.h"
#include "measure/sensors/outside_meter.h"

namespace evener::measure {
namespace {

constexpr std::size_t kMostNewBytes = 16 << 20;
constexpr double kLookEvery_s = 0.05;
constexpr const char* kHowToWrite = "have the logger write rows such as 2026-11-24T22:12:22.5,61.5";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The last lines of a file that may be very long.
struct LastLines {
  std::vector<std::string> lines;  // complete ones
  std::size_t before = 0;          // number of lines before them
  std::uintmax_t bytes = 0;        // size of all complete lines
};

LastLines last_lines(const std::string& path) {
  constexpr std::size_t kLooked = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  LastLines found;
  std::string block(kLooked, '\0'), text;
  while (file.read(block.data(), kLooked), file.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
    const std::size_t cut = text.size() > 2 * kLooked ? text.find('\n', text.size() - kLooked) : std::string::npos;
    if (cut == std::string::npos) continue;
    found.before += lines_of(std::string_view(text).substr(0, cut + 1)).size();
    found.bytes += cut + 1;
    text.erase(0, cut + 1);
  }
  const std::size_t whole = text.rfind('\n') + 1;  // 0 without a complete line
  found.lines = lines_of(std::string_view(text).substr(0, whole));
  found.bytes += whole;
  return found;
}

}  // namespace

CsvMeter::CsvMeter(std::string channel, MeterSpec spec, std::function<double()> now_s)
    : spec_(std::move(spec)), now_s_(std::move(now_s)) {
  std::ifstream file(spec_.source, std::ios::binary);
  std::string header;
  if (!file || !std::getline(file, header)) {
    refuse(fmt::format("{} can't be read, or is empty", spec_.source), "start the logger first");
    return;
  }
  header = text_without_byte_order_mark(std::move(header));
  separator_ = csv_separator(header);
  const std::vector<std::string> titles = trimmed_cells(header, separator_);
  columns_ = titles.size();
  const auto column = [&](const std::string& title) {
    return static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin());
  };
  value_column_ = spec_.path.empty() ? 1 : column(spec_.path);
  for (const char* title : {"timestamp", "time", "date", "Time", "Timestamp", "Date"}) {
    if (const std::size_t found = column(title); found < titles.size()) {
      time_column_ = found;
      break;
    }
  }
  if (value_column_ >= titles.size() || value_column_ == time_column_) {
    std::string all;
    for (const std::string& title : titles) all += (all.empty() ? "" : ", ") + title;
    refuse(fmt::format("{} has no column {} for a value beside its time; there are {}", spec_.source,
                       quoted_text(spec_.path), printable(all)),
           "name one: csv:FILE#COLUMN=W");
    return;
  }
  if (const std::string error = error_at_the_start(); !error.empty()) {
    refuse(fmt::format("{}: {}", spec_.source, error), kHowToWrite);
    return;
  }
  channels_.push_back({.name = std::move(channel),
                       .covers = record::Covers::kMachine,
                       .joules_per_count = spec_.is_energy ? 1e-3 : 0,
                       .step_s = 1,
                       .at_socket = true});
}

/// Checks that the newest row, or the first one that comes within 5 s, can be read; "" = it can, or no row came.
std::string CsvMeter::error_at_the_start() {
  constexpr double kLongest_s = 5;
  const double until_s = now_s_() + kLongest_s;
  while (true) {
    const double before_s = now_s_();
    const LastLines last = last_lines(spec_.source);
    offset_ = last.bytes;  // skip rows from before the run
    rows_ = last.before + last.lines.size();
    if (rows_ > 1) {
      for (std::size_t i = last.before == 0 ? 1 : 0; i < last.lines.size(); ++i) row_of(last.lines[i]);  // sets mark_
      return last.lines.empty() ? "" : row_of(last.lines.back()).error;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookEvery_s));
    const bool stands_still = now_s_() == before_s;  // a test's clock, which never advances
    if (stands_still || now_s_() >= until_s) return "";
  }
}

CsvMeter::Row CsvMeter::row_of(const std::string& line) {
  Row row;
  try {
    std::vector<std::string> cells = trimmed_cells(line, separator_);
    while (cells.size() > columns_ && cells.back().empty()) cells.pop_back();
    if (cells.size() == 1 && cells.front().empty()) return row;
    if (cells.size() > columns_ || cells.size() <= std::max(time_column_, value_column_)) {
      throw Error(fmt::format("it has {} cells, and the first line {}{}", cells.size(), columns_,
                              cells.size() > columns_ && separator_ == ','
                                  ? "; decimal commas need semicolons or tabs between the cells, or quotes"
                                  : ""));
    }
    std::string& value = cells[value_column_];
    const MeterUnit* own = find_meter_unit(spec_.unit);
    if (const std::string unit = take_unit_off(value); !unit.empty()) {
      own = find_meter_unit(unit);
      if (own == nullptr || own->is_energy != spec_.is_energy) {
        throw Error(fmt::format("its value is in {}, not in {}", quoted_text(unit), spec_.unit));
      }
    }
    const double number = csv_number(value, mark_);
    const std::optional<double> time_s = csv_time(cells[time_column_]);
    if (!time_s) {
      throw Error(quoted_text(cells[time_column_]) +
                  " is no time: neither seconds since 1970, nor such as 2026-11-24T22:12:22.5 or 24.11.2026 22:12:22");
    }
    row.time_s = *time_s;
    row.value = number * own->factor;
  } catch (const Error& error) {
    row.error = fmt::format("row {} can't be read: {}: {}", rows_, error.what(), quoted_text(line.substr(0, 60)));
  }
  return row;
}

/// Reads the rows added since the last call: the newest becomes the reading, the others go into `earlier`.
bool CsvMeter::take_rows(Reading& reading) {
  std::ifstream file(spec_.source, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset_));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(spec_.source, error);
  if (error || size <= offset_) return false;
  std::string text(static_cast<std::size_t>(std::min<std::uintmax_t>(size - offset_, kMostNewBytes)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  const std::size_t whole = text.rfind('\n');
  if (whole == std::string::npos) return false;
  offset_ += whole + 1;
  std::vector<Row> rows;
  for (const std::string& line : lines_of(std::string_view(text).substr(0, whole + 1))) {
    ++rows_;
    Row row = row_of(line);
    if (row.value && *row.value < 0) row.error = fmt::format("row {} says {:g} W or J", rows_, *row.value);
    if (!row.error.empty()) {
      reading.error = row.error;
    } else if (row.value) {
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return false;
  const double lag_s = now_s_() - rows.back().time_s;
  least_lag_s_ = std::min(lag_s, least_lag_s_.value_or(lag_s));
  const double wall_ahead_s = static_cast<double>(time(nullptr)) - now_s_();
  channels_.front().note = fmt::format("its clock is {:+.1f} s from ours, to a row", -(*least_lag_s_ + wall_ahead_s));
  for (const Row& row : rows) {
    const double at_s = row.time_s + *least_lag_s_;
    if (spec_.is_energy) {
      reading.count = static_cast<std::uint64_t>(std::llround(*row.value * 1e3));
    } else {
      if (reading.watts) reading.earlier.push_back({*reading.at_s, *reading.watts});
      reading.watts = *row.value;
    }
    reading.at_s = at_s;
  }
  return true;
}

std::vector<Reading> CsvMeter::read(double wait_s) {
  if (channels_.empty()) return {};
  std::vector<Reading> readings(1);
  const double until_s = now_s_() + wait_s;
  while (!take_rows(readings.front()) && now_s_() < until_s) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookEvery_s));
  }
  return readings;
}

}  // namespace evener::measure
