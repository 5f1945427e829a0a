#include "infer/scenarios/record.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <numeric>

#include "base/files.h"
#include "base/names.h"
#include "base/statistics.h"

namespace evener::inference {
namespace {

using record::Better;
using record::Metric;
using record::MetricRole;
using record::Record;

constexpr std::array kShownPercentiles{0.5, 0.9, 0.99, 0.999};
/// With fewer queries in a tenth of the run, its percentile means nothing.
constexpr std::size_t kFewestOfTenth = 10;

/// "p50", "p99.9".
std::string percentile_name(double percentile) {
  return fmt::format("p{:g}", 100 * percentile);
}

/// "over 451 queries in 5.0 s".
std::string amount_text(const ScenarioResult& result) {
  const RunLog& log = result.log;
  const bool offline = result.options.scenario == Scenario::kOffline;
  const auto count = offline ? log.samples : static_cast<std::int64_t>(log.queries.size());
  return fmt::format("over {} {} in {}", count, offline ? "samples" : "queries", duration_text(log.seconds));
}

/// The percentile in each tenth of the run's queries.
std::vector<double> percentiles_of_tenths(const RunLog& log, double percentile) {
  constexpr std::size_t kTenths = 10;
  const std::size_t size = log.queries.size() / kTenths;
  if (size < kFewestOfTenth) return {};
  std::vector<double> percentiles;
  for (std::size_t tenth = 0; tenth < kTenths; ++tenth) {
    std::vector<double> latencies;
    for (std::size_t n = tenth * size; n < (tenth + 1) * size; ++n) latencies.push_back(log.queries[n].latency_s);
    percentiles.push_back(*quantile(latencies, percentile));
  }
  return percentiles;
}

/// The main figure of single-stream and multi-stream.
Metric estimate_metric(const ScenarioResult& result) {
  const double percentile = result.options.percentile;
  Metric metric{.name = "latency_" + percentile_name(percentile) + "_estimate_s",
                .unit = "s",
                .title = percentile_name(percentile) + " estimate s",
                .label = percentile_name(percentile) + " latency (with 99 % confidence)",
                .better = Better::kLower,
                .role = MetricRole::kSpeed,
                .samples = percentiles_of_tenths(result.log, percentile),
                .over = amount_text(result)};
  if (result.estimate) {
    metric.value = result.estimate->latency_s;
  } else {
    metric.reason = fmt::format("{} queries are too few to vouch for it (at least {})", result.log.queries.size(),
                                smallest_total(percentile));
  }
  return metric;
}

/// The main figure of server.
Metric highest_rate_metric(const ScenarioResult& result) {
  return {.name = "queries_per_s",
          .unit = "queries/s",
          .title = "queries/s",
          .label = "highest rate that kept the latency limit",
          .role = MetricRole::kSpeed,
          .value = result.highest_rate,
          .over = fmt::format("at a limit of {}", duration_text(result.options.latency_limit_s)),
          .reason = result.highest_rate ? "" : "no rate that was tried kept the latency limit"};
}

Metric arrival_metric(const ScenarioResult& result) {
  return {.name = "arriving_queries_per_s",
          .unit = "queries/s",
          .title = "",
          .label = "rate of arriving queries",
          .value = result.arrival_rate,
          .reason = result.arrival_rate ? "" : "fewer than two queries arrived"};
}

/// Answered queries or samples per second.
Metric throughput_metric(const ScenarioResult& result, const char* name, const char* unit, bool of_samples) {
  const RunLog& log = result.log;
  const auto count = static_cast<double>(of_samples ? log.samples : static_cast<std::int64_t>(log.queries.size()));
  Metric metric{.name = name,
                .unit = unit,
                .title = unit,
                .label = std::string(unit),
                .samples = log.rates_of_tenths(of_samples),
                .over = amount_text(result)};
  if (log.seconds > 0) metric.value = count / log.seconds;
  if (!metric.value) metric.reason = "nothing was answered";
  return metric;
}

Metric latency_metric(const std::string& name, const std::string& label, std::optional<double> value,
                      std::string reason = "") {
  return {.name = "latency_" + name + "_s",
          .unit = "s",
          .title = name == "p50" || name == "p99" ? name + " s" : "",
          .label = label,
          .better = Better::kLower,
          .value = value,
          .reason = std::move(reason)};
}

void add_latencies(const ScenarioResult& result, Record& record) {
  const std::vector<double> sorted = result.log.sorted_latencies_s();
  const auto queries = static_cast<double>(sorted.size());
  for (const double percentile : kShownPercentiles) {
    const std::string name = percentile_name(percentile);
    std::optional<double> value;
    if (queries * (1 - percentile) >= 1 - 1e-9) value = plain_percentile(sorted, percentile);
    add_metric(record, latency_metric(name, name + " latency", value,
                                      value ? "" : fmt::format("{} queries are too few for it", sorted.size())));
  }
  if (sorted.empty()) return;
  add_metric(record, latency_metric("mean", "mean latency", std::reduce(sorted.begin(), sorted.end()) / queries));
  add_metric(record, latency_metric("min", "least latency", sorted.front()));
  add_metric(record, latency_metric("max", "largest latency", sorted.back()));
}

record::ScenarioRecord scenario_record(const ScenarioResult& result) {
  const ScenarioOptions& options = result.options;
  const bool offline = options.scenario == Scenario::kOffline, server = options.scenario == Scenario::kServer;
  record::ScenarioRecord scenario;
  scenario.name = scenario_name(options.scenario);
  if (!offline) scenario.percentile = options.percentile;
  if (server) scenario.latency_limit_s = options.latency_limit_s;
  scenario.seconds = result.log.seconds;
  scenario.queries = offline ? 1 : static_cast<std::int64_t>(result.log.queries.size());
  scenario.samples = result.log.samples;
  scenario.late = result.log.late;
  if (result.estimate) scenario.discarded = result.estimate->discarded;
  scenario.lanes = options.lanes;
  scenario.largest_batch = options.largest_batch;
  if (options.scenario == Scenario::kMultiStream) scenario.samples_per_query = options.samples_per_query;
  const auto parts = result.log.mean_parts_s();
  for (std::size_t part = 0; part < kParts; ++part) {
    if (parts[part]) scenario.parts_s[kPartNames[part]] = *parts[part];
  }
  scenario.rates = result.rates;
  return scenario;
}

void append_line(std::string& text, std::size_t number, const AnsweredQuery& query) {
  fmt::format_to(std::back_inserter(text), "{},{},{},{:.9g},{:.9g}", number, query.lane, query.samples,
                 query.scheduled_s, query.latency_s);
  for (const float part : query.parts_s) {
    text += ',';
    if (!std::isnan(part)) fmt::format_to(std::back_inserter(text), "{:.6g}", part);
  }
  text += '\n';
}

}  // namespace

void fill_record(const ScenarioResult& result, Record& record) {
  const ScenarioOptions& options = result.options;
  record.scenario = scenario_record(result);
  if (result.log.stopped) record.status = record::Status::kInterrupted;
  record.seeds["sample_set"] = options.seeds.sample_set;
  record.seeds["sample_index"] = options.seeds.sample_index;
  record.seeds["schedule"] = options.seeds.schedule;
  record.seeds["accuracy_log"] = options.seeds.accuracy_log;
  Metric samples = throughput_metric(result, "samples_per_s", "samples/s", true);
  if (options.scenario == Scenario::kOffline) {
    samples.role = MetricRole::kSpeed;
  } else {
    add_latencies(result, record);
  }
  if (options.scenario == Scenario::kSingleStream || options.scenario == Scenario::kMultiStream) {
    add_metric(record, estimate_metric(result));
    add_metric(record, throughput_metric(result, "queries_per_s", "queries/s", false));
  } else if (options.scenario == Scenario::kServer) {
    add_metric(record, highest_rate_metric(result));
    add_metric(record, arrival_metric(result));
  }
  // With one sample per query this would repeat the rate of queries.
  const bool of_its_own = options.scenario == Scenario::kMultiStream || options.scenario == Scenario::kOffline;
  if (!of_its_own) samples.title.clear();
  add_metric(record, std::move(samples));
  record.notes.insert(record.notes.end(), result.notes.begin(), result.notes.end());
  auto& reasons = record.validity.reasons;
  reasons.insert(reasons.end(), result.validity.reasons.begin(), result.validity.reasons.end());
}

void write_latencies(const std::filesystem::path& path, const ScenarioResult& result) {
  write_file_atomically(path, [&](std::ostream& file) {
    std::string text = "query,lane,samples,scheduled_s,latency_s";
    for (const char* part : kPartNames) text += fmt::format(",{}_s", part);
    text += '\n';
    std::size_t number = 0;
    for (const AnsweredQuery& query : result.log.queries) {
      append_line(text, number++, query);
      if (text.size() > (1u << 16)) {
        file << text;
        text.clear();
      }
    }
    file << text;
  });
}

}  // namespace evener::inference
