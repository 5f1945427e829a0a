#include "infer/scenarios/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "infer/scenarios/run_log.h"

namespace evener::inference {
namespace {

constexpr const char* kScenarios[] = {"single-stream", "multi-stream", "server", "offline"};
constexpr std::int64_t kFullOfflineSamples = 24'576;

void require(bool good, const char* what, double value, const char* wanted) {
  if (!good) throw UsageError(fmt::format("{} is {:g}; it has to be {}", what, value, wanted));
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

const char* scenario_name(Scenario scenario) {
  return name_in(kScenarios, scenario);
}

Scenario parse_scenario(const std::string& name) {
  return value_named<Scenario>(kScenarios, "scenario", name);
}

ScenarioOptions quick_options(Scenario scenario) {
  ScenarioOptions options;
  options.scenario = scenario;
  options.percentile = scenario == Scenario::kSingleStream ? 0.9 : 0.99;
  options.max_duration_s = 60;
  return options;
}

ScenarioOptions full_options(Scenario scenario, std::int64_t samples) {
  ScenarioOptions options = quick_options(scenario);
  options.min_duration_s = 600;
  options.max_duration_s.reset();
  options.trial_s = 10;
  if (scenario == Scenario::kOffline) options.min_queries = std::min(kFullOfflineSamples, samples);
  return options;
}

std::int64_t fewest_queries(const ScenarioOptions& options) {
  if (options.scenario == Scenario::kOffline) return options.min_queries.value_or(1);
  return std::max(options.min_queries.value_or(0), smallest_total(options.percentile));
}

void check_options(const ScenarioOptions& options) {
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  require(options.samples > 0, "the number of samples", count(options.samples), "1 or more");
  require(options.set_samples > 0, "the size of the sample set", count(options.set_samples), "1 or more");
  require(options.lanes > 0, "the number of lanes", options.lanes, "1 or more");
  require(options.largest_batch > 0, "the largest batch", count(options.largest_batch), "1 or more");
  require(options.samples_per_query > 0, "the samples per query", count(options.samples_per_query), "1 or more");
  // For a percentile closer to 1, early stopping would need more queries than a run may have.
  require(options.percentile > 0 && options.percentile <= 0.9999, "the percentile", options.percentile,
          "a share of more than 0 and at most 0.9999, such as 0.99");
  require(is_positive(options.latency_limit_s), "the latency limit in seconds", options.latency_limit_s, "more than 0");
  require(is_positive(options.target_rate.value_or(1)), "the rate", options.target_rate.value_or(1), "more than 0");
  require(std::isfinite(options.min_duration_s) && options.min_duration_s >= 0, "the least duration in seconds",
          options.min_duration_s, "0 or more");
  require(options.min_queries.value_or(1) > 0, "the fewest queries", count(options.min_queries.value_or(1)),
          "1 or more");
  require(options.accuracy_log_share >= 0 && options.accuracy_log_share <= 1, "the share of answers that are kept",
          options.accuracy_log_share, "from 0 to 1");
}

}  // namespace evener::inference
