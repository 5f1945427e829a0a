#include "report/latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "report/format.h"

namespace evener::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLatenciesLimitBytes = std::uint64_t{1} << 30;
constexpr std::size_t kBins = 60;
/// The clock's resolution; shorter latencies go into the first bin.
constexpr double kShortest_s = 1e-9;

/// Percentiles of latency: 50 %, 90 %, 99 %, ..., as far as there are enough queries. `one_in`: one in this many
/// queries is slower.
Json percentile_curve(const std::vector<double>& sorted_s) {
  Json one_in = Json::array(), latency_s = Json::array();
  const auto count = static_cast<double>(sorted_s.size());
  for (int step = 0; count > 0; ++step) {
    const double slower = std::pow(10, step / 10.0);
    if (slower > count) break;
    const auto place = static_cast<std::size_t>(count * (1 - 1 / slower));
    one_in.push_back(slower);
    latency_s.push_back(sorted_s[std::min(place, sorted_s.size() - 1)]);
  }
  return {{"one_in", one_in}, {"latency_s", latency_s}};
}

/// The median, and the scenario's percentile.
Json marks_data(const record::ScenarioRecord& scenario, const std::vector<double>& sorted_s) {
  Json marks = Json::array();
  for (const double share : {0.5, *scenario.percentile}) {
    marks.push_back({{"share", share}, {"latency_s", sorted_quantile(sorted_s, share)}});
  }
  return marks;
}

Json rates_data(const record::ScenarioRecord& scenario) {
  std::vector<record::RateTrial> trials = scenario.rates;
  std::ranges::stable_sort(trials, {}, &record::RateTrial::rate);
  Json rates = Json::array();
  for (const auto& trial : trials) {
    rates.push_back({{"rate", trial.rate},
                     {"latency_s", value_or_null(trial.latency_s)},
                     {"queries", trial.queries},
                     {"held", trial.held}});
  }
  return rates;
}

}  // namespace

std::vector<double> read_latencies(const std::filesystem::path& path) {
  std::istringstream lines(read_file(path, kLatenciesLimitBytes));
  CsvReader table(lines);
  const auto column = table.find_column("latency_s");
  if (!column) throw Error(fmt::format("{}: line 1 has no column 'latency_s'", path.string()));
  std::vector<double> latencies_s;
  while (table.next()) {
    const double latency_s = to_number<double>(table.cell(*column)).value_or(-1);
    if (std::isfinite(latency_s) && latency_s >= 0) latencies_s.push_back(latency_s);
  }
  std::ranges::sort(latencies_s);
  return latencies_s;
}

LatencyHistogram latency_histogram(const std::vector<double>& sorted_s) {
  if (sorted_s.empty()) return {};
  // A margin of 2 % on both sides, so that a histogram of equal latencies has a width.
  const double low = std::log(std::max(sorted_s.front(), kShortest_s)) - 0.02;
  const double high = std::log(std::max(sorted_s.back(), kShortest_s)) + 0.02;
  LatencyHistogram histogram{{}, std::vector<double>(kBins)};
  for (std::size_t n = 0; n <= kBins; ++n) {
    histogram.edges_s.push_back(std::exp(low + (high - low) * static_cast<double>(n) / kBins));
  }
  for (const double latency_s : sorted_s) {
    const double place = (std::log(std::max(latency_s, kShortest_s)) - low) / (high - low) * kBins;
    histogram.shares[std::min(static_cast<std::size_t>(place), kBins - 1)] += 1 / static_cast<double>(sorted_s.size());
  }
  return histogram;
}

bool has_latency(const Run& run) {
  return !run.record.scenario.empty() && !run.latencies_s.empty() && run.record.scenario.percentile.has_value();
}

Json latency_data(const Run& run) {
  if (!has_latency(run)) return nullptr;
  const record::ScenarioRecord& scenario = run.record.scenario;
  const LatencyHistogram histogram = latency_histogram(run.latencies_s);
  Json parts = Json::object();
  for (const auto& [name, seconds] : scenario.parts_s) parts[name] = seconds;
  double sum_s = 0;
  for (const double latency_s : run.latencies_s) sum_s += latency_s;
  return {{"edges_s", histogram.edges_s},
          {"shares", histogram.shares},
          {"percentile", value_or_null(scenario.percentile)},
          {"limit_s", value_or_null(scenario.latency_limit_s)},
          {"marks", marks_data(scenario, run.latencies_s)},
          {"curve", percentile_curve(run.latencies_s)},
          {"parts_s", parts},
          {"mean_s", sum_s / static_cast<double>(run.latencies_s.size())},
          {"rates", rates_data(scenario)}};
}

}  // namespace evener::report
