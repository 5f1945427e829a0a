#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "measure/sensors/outside_meter.h"

namespace evener::measure {
namespace {

constexpr std::size_t kMostNewBytes = 16 << 20;
constexpr double kLookEvery_s = 0.05;

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells;
  const char separator = line.find(';') != std::string::npos && line.find(',') == std::string::npos ? ';' : ',';
  std::size_t begin = 0;
  while (begin <= line.size()) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    std::string cell(trimmed(std::string_view(line).substr(begin, end - begin)));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(std::move(cell));
    begin = end + 1;
  }
  return cells;
}

/// Seconds since 1970, or milliseconds (for numbers so large), or "2026-11-24T22:12:22.5Z"; other zones only move the
/// offset, which is measured.
std::optional<double> csv_time(const std::string& cell) {
  constexpr double kMilliseconds = 1e11;
  if (const auto number = to_number<double>(cell)) return *number > kMilliseconds ? *number / 1000 : *number;
  tm parts{};
  const char* rest = strptime(cell.c_str(), "%Y-%m-%d", &parts);
  if (rest == nullptr || (*rest != 'T' && *rest != ' ')) return std::nullopt;
  rest = strptime(rest + 1, "%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  double fraction = 0;
  if (*rest == '.') std::from_chars(rest, cell.c_str() + cell.size(), fraction);
  return static_cast<double>(timegm(&parts)) + fraction;
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
  const std::vector<std::string> titles = csv_cells(header);
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
  // What stands in the file already was before the run.
  std::error_code error;
  offset_ = std::filesystem::file_size(spec_.source, error);
  channels_.push_back({.name = std::move(channel),
                       .covers = Covers::kMachine,
                       .joules_per_count = spec_.is_energy ? 1e-3 : 0,
                       .step_s = 1});
}

/// The rows since the last look; the newest one becomes the reading, those before it stand in front of it.
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
  struct Row {
    double time_s, value;
  };
  std::vector<Row> rows;
  std::size_t begin = 0;
  while (begin < whole) {
    const std::size_t end = std::min(text.find('\n', begin), whole);
    const std::vector<std::string> cells = csv_cells(text.substr(begin, end - begin));
    begin = end + 1;
    if (cells.size() <= std::max(time_column_, value_column_)) continue;
    const auto time_s = csv_time(cells[time_column_]);
    const auto value = to_number<double>(cells[value_column_]);
    if (!time_s || !value || *value < 0) {
      reading.trouble = "a row has no time or no value: " + quoted_text(text.substr(begin, 60));
      continue;
    }
    rows.push_back({*time_s, *value * spec_.factor});
  }
  if (rows.empty()) return false;
  const double lag_s = now_s_() - rows.back().time_s;
  least_lag_s_ = std::min(lag_s, least_lag_s_.value_or(lag_s));
  const double wall_ahead_s = static_cast<double>(time(nullptr)) - now_s_();
  channels_.front().note = fmt::format("its clock is {:+.1f} s from ours, to a row", -(*least_lag_s_ + wall_ahead_s));
  for (const Row& row : rows) {
    const double at_s = row.time_s + *least_lag_s_;
    if (spec_.is_energy) {
      reading.count = static_cast<std::uint64_t>(std::llround(row.value * 1e3));
    } else {
      if (reading.watts) reading.earlier.push_back({*reading.at_s, *reading.watts});
      reading.watts = row.value;
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
