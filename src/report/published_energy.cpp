#include "report/published_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "report/format.h"

namespace evener::report {
namespace {

using measure::AssumedPower;
using record::Energy;

constexpr double kAgrees = 0.01;
constexpr const char* kNoEnergy = "absent";

struct PublishedUnit {
  const char* name;
  const char* of;  // the unit that figures are derived in
  double factor;
};
constexpr PublishedUnit kPublishedUnits[] = {
    {"s", "s", 1},     {"min", "s", 60},     {"h", "s", 3600},     {"J", "J", 1},
    {"kJ", "J", 1e3},  {"MJ", "J", 1e6},     {"Wh", "J", 3600},    {"kWh", "J", 3.6e6},
    {"J s", "J s", 1}, {"kJ s", "J s", 1e3}, {"MJ s", "J s", 1e6},
};

const PublishedUnit* published_unit(const std::string& name) {
  const auto* const found = std::ranges::find(kPublishedUnits, name, &PublishedUnit::name);
  return found == std::end(kPublishedUnits) ? nullptr : found;
}

bool is_published_time(const ReferenceFigure& figure) {
  const PublishedUnit* unit = published_unit(figure.unit);
  return unit != nullptr && std::string_view(unit->of) == "s" && figure.value > 0;
}

/// One replica's stage, such as "cuda:1/t2@0.5", computes on a device; `count` of them on as many, where none is named.
void add_device(std::string_view stage, int count, UsedDevices& used, std::set<std::string>& named) {
  const std::string device(stage.substr(0, stage.find_first_of("/@")));
  if (device == "cpu") {
    used.cpu = true;
  } else if (device.find(':') != std::string::npos) {
    named.insert(device);
  } else {
    for (int n = 0; n < count; ++n) named.insert(fmt::format("{}:{}", device, n));
  }
}

/// In watts; empty where the power of a device that computes isn't stated.
std::optional<double> watts_of(const UsedDevices& used, const AssumedPower& power) {
  if ((used.cpu && !power.cpu) || (used.gpus > 0 && !power.gpu) || (!used.cpu && used.gpus == 0)) return std::nullopt;
  // A processor that only drives GPUs draws what is stated for an idle one.
  const double cpu = (used.cpu || !power.idle ? power.cpu : power.idle).value_or(0);
  return cpu + static_cast<double>(used.gpus) * power.gpu.value_or(0);
}

Energy estimate(const UsedDevices& used, std::size_t gpus_here, const AssumedPower& power, double seconds) {
  Energy energy;
  energy.seconds = seconds;
  const std::optional<double> watts = watts_of(used, power);
  if (!watts) {
    energy.reason = used.cpu || used.gpus > 0
                        ? "the power of a device that it computes on isn't stated (--assume-power cpu=65W,gpu=150W)"
                        : "its lines don't say what it computed on (measured: on=cuda:0)";
    return energy;
  }
  energy.used_joules = *watts * seconds;
  energy.joules =
      *energy.used_joules + static_cast<double>(gpus_here - used.gpus) * power.gpu_idle.value_or(0) * seconds;
  energy.kind = record::EnergyClass::kEstimated;
  record::set_products(energy);
  return energy;
}

UsedDevices devices_of_cell(const ReferenceFigure& figure) {
  const auto on = figure.measured.find("on");
  return on == figure.measured.end() ? UsedDevices{} : used_devices(on->second);
}

std::optional<double> derived_value(const PublishedWay& way, const std::string& metric) {
  if (metric == way.metric) return way.seconds;
  if (metric == "energy_joules") return way.energy.joules;
  if (metric == "used_devices_joules") return way.energy.used_joules;
  if (metric == "edp_joule_seconds") return way.energy.edp_js;
  if (metric == "used_devices_edp_joule_seconds") return way.energy.used_edp_js;
  return std::nullopt;
}

std::string figure_name(const DerivedFigure& row) {
  return row.figure.against.empty() ? row.figure.figure : row.figure.figure + " against " + row.figure.against;
}

std::string derived_text(const DerivedFigure& row, double value) {
  const PublishedUnit* unit = published_unit(row.figure.unit);
  return unit == nullptr ? number_text(value) + "x" : number_text(value / unit->factor) + " " + unit->name;
}

std::string deviation_text(double deviation) {
  return fmt::format("{:+.1f} %", std::round(1000 * deviation) / 10 + 0.0);  // no "-0.0"
}

bool leaves_devices_idle(const PublishedWay& way) {
  return way.energy.joules && *way.energy.joules > *way.energy.used_joules;
}

}  // namespace

UsedDevices used_devices(std::string_view placement) {
  UsedDevices used;
  std::set<std::string> named;
  while (!placement.empty()) {
    std::string_view group = placement.substr(0, placement.find('+'));
    placement.remove_prefix(std::min(placement.size(), group.size() + 1));
    int count = 1;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), count);
    const auto digits = static_cast<std::size_t>(end - group.data());
    if (error == std::errc() && digits < group.size() && group[digits] == 'x') group.remove_prefix(digits + 1);
    for (bool more = true; more;) {
      const std::size_t dots = group.find("..");
      add_device(group.substr(0, dots), count, used, named);
      more = dots != std::string_view::npos;
      if (more) group.remove_prefix(dots + 2);
    }
  }
  used.gpus = named.size();
  return used;
}

std::vector<PublishedWay> published_ways(const std::vector<ReferenceFigure>& reference, const AssumedPower& power) {
  std::size_t gpus = 0;
  for (const ReferenceFigure& figure : reference) gpus = std::max(gpus, devices_of_cell(figure).gpus);
  std::vector<PublishedWay> ways;
  for (const ReferenceFigure& figure : reference) {
    if (!is_published_time(figure) || std::ranges::find(ways, figure.cell, &PublishedWay::name) != ways.end()) continue;
    const double seconds = figure.value * published_unit(figure.unit)->factor;
    ways.push_back({figure.cell, seconds, figure.metric, estimate(devices_of_cell(figure), gpus, power, seconds)});
  }
  if (ways.empty())
    throw Error("no line of the file is a time (its unit would be s, min or h), of which energy follows");
  return ways;
}

std::vector<DerivedFigure> derived_figures(const std::vector<ReferenceFigure>& reference,
                                           std::span<const PublishedWay> ways) {
  std::vector<DerivedFigure> rows;
  for (const ReferenceFigure& figure : reference) {
    const auto way = std::ranges::find(ways, figure.cell, &PublishedWay::name);
    const PublishedUnit* unit = published_unit(figure.unit);
    if (way == ways.end() || figure.metric.empty() || figure.value <= 0 || is_published_time(figure)) continue;
    std::optional<double> derived = derived_value(*way, figure.metric);
    if (!derived) continue;
    if (unit != nullptr) {
      rows.push_back({figure, figure.value * unit->factor, *derived});
      continue;
    }
    const auto base = std::ranges::find(ways, figure.against, &PublishedWay::name);
    const std::optional<double> of_base = base == ways.end() ? std::nullopt : derived_value(*base, figure.metric);
    if (!figure.unit.empty() || !of_base) continue;
    rows.push_back({figure, figure.value, is_speedup(figure) ? *of_base / *derived : *derived / *of_base});
  }
  return rows;
}

Table published_ways_table(std::span<const PublishedWay> ways) {
  Table table;
  const bool idle = std::ranges::any_of(ways, leaves_devices_idle);
  table.columns = {{"published as", false}, {"time", true},   {"speedup", true}, {"power", true},
                   {"energy is", false},    {"energy", true}, {"EDP", true},     {"EDP/first", true}};
  if (idle) {
    table.columns.insert(table.columns.end(), {{"energy with idle GPUs", true}, {"EDP/first with idle GPUs", true}});
  }
  const PublishedWay& first = ways.front();
  for (const PublishedWay& way : ways) {
    const Energy& energy = way.energy;
    const auto text = [](const std::optional<double>& value, const char* unit) {
      return value ? si_text(*value, unit) : std::string(kNoEnergy);
    };
    const auto ratio = [](const std::optional<double>& value, const std::optional<double>& base) {
      return value && base ? number_text(*value / *base) + "x" : std::string("-");
    };
    std::vector<std::string> row = {way.name,
                                    duration_text(way.seconds),
                                    number_text(first.seconds / way.seconds) + "x",
                                    energy.joules ? number_text(*energy.used_joules / way.seconds) + " W" : "-",
                                    record::energy_class_name(energy.kind),
                                    text(energy.used_joules, "J"),
                                    text(energy.used_edp_js, "J s"),
                                    ratio(energy.used_edp_js, first.energy.used_edp_js)};
    if (idle) {
      row.push_back(text(energy.joules, "J"));
      row.push_back(ratio(energy.edp_js, first.energy.edp_js));
    }
    table.rows.push_back(std::move(row));
    if (!energy.reason.empty()) table.notes.push_back(fmt::format("{}: {}", way.name, energy.reason));
  }
  return table;
}

Table derived_table(std::span<const DerivedFigure> figures) {
  Table table;
  table.columns = {{"published as", false},
                   {"figure", false},
                   {"published", true},
                   {"from times and powers", true},
                   {"deviation", true}};
  for (const DerivedFigure& row : figures) {
    table.rows.push_back({row.figure.cell, figure_name(row), derived_text(row, row.published),
                          derived_text(row, row.derived), deviation_text(row.deviation())});
  }
  return table;
}

std::string derived_sentence(std::span<const DerivedFigure> figures) {
  if (figures.empty()) return "";
  std::vector<std::string> others;
  for (const DerivedFigure& row : figures) {
    if (std::abs(row.deviation()) <= kAgrees) continue;
    others.push_back(fmt::format("{}: {} ({} is published, {} follows)", row.figure.cell, figure_name(row),
                                 derived_text(row, row.published), derived_text(row, row.derived)));
  }
  const std::string sentence =
      fmt::format("{} of {} that follow from these times and powers {} within 1 % of what is published",
                  figures.size() - others.size(), counted(figures.size(), "figure"),
                  figures.size() - others.size() == 1 ? "is" : "are");
  return sentence + (others.empty() ? "." : fmt::format(". Not so: {}.", listed(others)));
}

}  // namespace evener::report
