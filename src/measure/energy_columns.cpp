#include "measure/energy_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace evener::measure {
namespace {

std::string title_of(const std::string& name, const char* ending) {
  std::string title = name + ending;
  std::erase_if(title, [](char c) { return c == '(' || c == ')'; });
  std::ranges::replace_if(
      title, [](char c) { return c == ' ' || c == ',' || c == '"' || c == '\n'; }, '_');
  return title;
}

using Columns = std::vector<std::pair<std::string, std::string>>;

void add_phases(const PhaseTotals& phases, double seconds, Columns& columns) {
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    std::string name = phase_name(static_cast<Phase>(phase));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const double share = seconds > 0 ? static_cast<double>(phases.critical[phase].ns) * 1e-9 / seconds : 0;
    columns.emplace_back(kPhaseBeginning + name + "_percent", fmt::format("{:.1f}", 100 * std::min(1.0, share)));
  }
}

/// Title and cell of each column, in their order.
Columns columns_of(const EnergyMeter& meter) {
  Columns columns;
  const auto number = [](const auto& value, int decimals) {
    return value ? fmt::format("{:.{}f}", static_cast<double>(*value), decimals) : "";
  };
  const auto channels = meter.now();
  if (std::ranges::any_of(channels, &EnergyMeter::Now::added)) {
    columns.emplace_back(kJoulesColumn, number(meter.joules_so_far(), 3));
  }
  for (const auto& channel : channels) {
    columns.emplace_back(title_of(channel.name, kWattsEnding), number(channel.watts, 2));
  }
  for (const DeviceState& state : meter.states()) {
    columns.emplace_back(title_of(state.name, "_utilisation_percent"), number(state.utilisation_percent, 0));
    columns.emplace_back(title_of(state.name, "_memory_bytes"), number(state.memory_bytes, 0));
    columns.emplace_back(title_of(state.name, "_clock_mhz"), number(state.clock_mhz, 0));
    columns.emplace_back(title_of(state.name, "_temperature_c"), number(state.temperature_c, 0));
    columns.emplace_back(title_of(state.name, "_throttled"), state.throttled ? (*state.throttled ? "1" : "0") : "");
  }
  return columns;
}

}  // namespace

EnergyColumns::EnergyColumns(const EnergyMeter& meter, bool with_phases) {
  Columns columns;
  if (with_phases) add_phases({}, 0, columns);
  for (auto& column : columns_of(meter)) columns.push_back(std::move(column));
  for (const auto& [title, cell] : columns) titles_.push_back(title);
}

void EnergyColumns::go_on_with(const std::string& header) {
  titles_.clear();
  std::size_t begin = 0;
  bool ours = false;  // they stand behind the others
  while (begin <= header.size()) {
    const std::size_t end = std::min(header.find(',', begin), header.size());
    const std::string title = header.substr(begin, end - begin);
    ours = ours || title == kJoulesColumn || title.ends_with(kWattsEnding) || title.starts_with(kPhaseBeginning);
    if (ours) titles_.push_back(title);
    begin = end + 1;
  }
}

std::string EnergyColumns::titles() const {
  std::string text;
  for (const std::string& title : titles_) text += "," + title;
  return text;
}

std::string EnergyColumns::cells(const EnergyMeter& meter, const PhaseTotals* phases, double seconds) const {
  if (titles_.empty()) return "";
  std::map<std::string, std::string> cells;
  Columns columns = columns_of(meter);
  if (phases != nullptr && seconds > 0) add_phases(*phases, seconds, columns);
  for (auto& [title, cell] : columns) cells.emplace(title, std::move(cell));
  std::string text;
  for (const std::string& title : titles_) {
    const auto found = cells.find(title);
    text += "," + (found == cells.end() ? std::string() : found->second);
  }
  return text;
}

}  // namespace evener::measure
