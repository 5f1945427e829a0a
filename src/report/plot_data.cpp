// A job's plots: placeholders, and the JSON that page/plots.js.inc and page/latency.js.inc draw; null = missing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using record::EpochRecord;
using record::Record;

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

/// The most rows of samples per run in a plot; more are averaged.
constexpr std::size_t kMostSamples = 1500;
/// If the durations of runs differ by more than this factor, phases are first shown as shares: in seconds the short run
/// would be invisible.
constexpr double kComparableLengths = 4;

template <typename Field>
Json epoch_column(const Record& record, Field field) {
  Json column = Json::array();
  for (const EpochRecord& epoch : record.training.epochs) column.push_back(value_or_null(epoch.*field));
  return column;
}

Json epochs_data(const Record& record) {
  Json epochs = Json::array();
  for (const EpochRecord& epoch : record.training.epochs) epochs.push_back(epoch.epoch);
  return {{"epoch", epochs},
          {"train_loss", epoch_column(record, &EpochRecord::train_loss)},
          {"train_accuracy", epoch_column(record, &EpochRecord::train_accuracy)},
          {"val_loss", epoch_column(record, &EpochRecord::val_loss)},
          {"val_accuracy", epoch_column(record, &EpochRecord::val_accuracy)}};
}

Json phases_data(const std::map<std::string, double>& seconds, const std::optional<double>& other) {
  Json json = seconds;
  if (other) json["other"] = json.value("other", 0.0) + *other;
  return json;
}

/// Means of `bucket` neighbouring values; missing ones are skipped.
Json thinned(const std::vector<std::optional<double>>& values, std::size_t bucket) {
  Json json = Json::array();
  for (std::size_t begin = 0; begin < values.size(); begin += bucket) {
    double sum = 0;
    int count = 0;
    for (std::size_t n = begin; n < std::min(begin + bucket, values.size()); ++n) {
      if (!values[n]) continue;
      sum += *values[n];
      ++count;
    }
    json.push_back(count > 0 ? Json(sum / count) : Json(nullptr));
  }
  return json;
}

/// The columns that have any value.
Json columns_data(const std::vector<Samples::Column>& columns, std::size_t bucket) {
  Json data = Json::array();
  for (const auto& [name, values] : columns) {
    const bool any = std::ranges::any_of(values, [](const auto& value) { return value && *value > 0; });
    if (any) data.push_back({{"name", name}, {"values", thinned(values, bucket)}});
  }
  return data;
}

Json samples_data(const Samples& samples) {
  const std::size_t bucket = std::max<std::size_t>(1, (samples.time_s.size() + kMostSamples - 1) / kMostSamples);
  Json time = Json::array();
  for (std::size_t n = 0; n < samples.time_s.size(); n += bucket) time.push_back(samples.time_s[n]);
  return {{"time", time},
          {"cpu", thinned(samples.cpu_percent, bucket)},
          {"others", thinned(samples.others_percent, bucket)},
          {"rss", thinned(samples.rss_bytes, bucket)},
          {"pss", thinned(samples.pss_bytes, bucket)},
          {"watts", columns_data(samples.watts, bucket)},
          {"phases", columns_data(samples.phases, bucket)}};
}

/// The speed that runs are compared by.
Json rate_data(const Record& record) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  const record::Metric* found = record::main_speed(metrics);
  const record::Metric speed = found == nullptr ? record::Metric{} : *found;
  return {{"median", value_or_null(speed.value)},
          {"interval", ends_or_null(speed.interval)},
          {"samples", speed.samples},
          {"unit", speed.unit},
          {"text", speed.value ? number_text(*speed.value) : ""},
          {"label", speed.label}};
}

Json run_data(std::span<const Run> runs, std::size_t n, const std::string& label, std::span<const PagePart> parts) {
  const Run& run = runs[n];
  const Record& record = run.record;
  const Record& base = base_of(runs, run);
  const std::optional<double> speed = &base == &record ? std::nullopt : speed_against(record, base);
  Json data{{"number", n},
            {"name", run.name},
            {"label", label},
            {"color", run_color(n)},
            {"rate", rate_data(record)},
            {"speed_text", speed ? number_text(*speed) + "×" : ""},
            {"epochs", epochs_data(record)},
            {"val_epoch", value_or_null(record.training.accuracy.val_epoch)},
            {"overfitting_epoch", value_or_null(overfitting_epoch(record))},
            {"phases", phases_data(record.phases_s, other_s(record))},
            {"hidden", phases_data(record.hidden_s, std::nullopt)},
            {"samples", samples_data(run.samples)},
            {"energy_class", record::energy_class_name(record.energy.kind)},
            {"latency", latency_data(run)}};
  for (const PagePart& part : parts) {
    if (n < part.plots.size()) data[part.name] = part.plots[n];
  }
  return data;
}

bool lengths_differ(std::span<const Run> runs, const std::vector<std::size_t>& job) {
  std::vector<double> totals;
  for (const std::size_t n : job) {
    const Run& run = runs[n];
    if (run.record.times.total && !run.record.phases_s.empty()) totals.push_back(*run.record.times.total);
  }
  if (totals.empty()) return false;
  const auto [least, most] = std::minmax_element(totals.begin(), totals.end());
  return *most > kComparableLengths * *least;
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

std::string plot_card(const std::string& id, const std::string& title, const std::string& explanation,
                      const std::string& control) {
  return fmt::format(
      "<div class=\"card\"><div class=\"plot-head\"><h3>{0}</h3><span class=\"controls\">{1}<span "
      "class=\"save\"><button type=\"button\" data-plot=\"plot-{3}\" data-format=\"svg\" title=\"Save this plot as "
      "SVG\">SVG</button><button type=\"button\" data-plot=\"plot-{3}\" data-format=\"png\" title=\"Save this plot as "
      "PNG\">PNG</button></span></span></div><p class=\"explain\">{2}</p><div class=\"plot\" "
      "id=\"plot-{3}\"></div></div>",
      escape_html(title), control, explanation, id);
}

const char* run_color(std::size_t n) {
  static constexpr std::array<const char*, 8> kColors{"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                      "#d55e00", "#56b4e9", "#b8ac00", "#7f7f7f"};
  return kColors[n % kColors.size()];
}

std::string plot_data(std::span<const Run> runs, std::span<const PagePart> parts) {
  Json data;
  data["jobs"] = Json::array();
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    data["jobs"].push_back(
        {{"runs", job}, {"title", job_text(runs[job.front()].record)}, {"phases_as_share", lengths_differ(runs, job)}});
  }
  data["runs"] = Json::array();
  const std::vector<std::string> labels = labels_of(runs);
  for (std::size_t n = 0; n < runs.size(); ++n) data["runs"].push_back(run_data(runs, n, labels[n], parts));
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace evener::report
