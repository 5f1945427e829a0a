#include "infer/options.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace evener::inference {
namespace {

ScenarioSeeds parse_seeds(const std::string& text) {
  ScenarioSeeds seeds;
  std::uint64_t* const places[] = {&seeds.sample_set, &seeds.sample_index, &seeds.schedule, &seeds.accuracy_log};
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t n = 0; n < std::size(places); ++n) {
    const auto [after, error] = std::from_chars(next, end, *places[n]);
    const bool last = n + 1 == std::size(places);
    if (error != std::errc() || (last ? after != end : after == end || *after != ',')) {
      throw UsageError(fmt::format("--scenario-seeds '{}' is not four whole numbers with commas between", text));
    }
    next = last ? after : after + 1;
  }
  return seeds;
}

}  // namespace

OutputType PredictionFlags::type() const {
  if (*output_type == "prob") return OutputType::kProbabilities;
  return *output_type == "logit" ? OutputType::kLogits : OutputType::kAuto;
}

OutputType PredictionFlags::probability_type() const {
  return type() == OutputType::kLogits ? OutputType::kAuto : type();
}

void PredictionFlags::check_together() const {
  if (*json == "-" && !format->empty() && *format != "none") {
    throw UsageError("--json - and --format " + *format + " would both write to stdout: give one");
  }
  if (*outputs == "raw" && (out->empty() || *watch || !sort->empty() || (!format->empty() && *format != "none"))) {
    throw UsageError(
        "--outputs raw writes files: give --out DIR for them, and leave out --format, --sort and --watch, which are "
        "for classes");
  }
  if (sort->empty() && sort_by.given()) throw UsageError("--sort-by says how --sort sorts: give --sort DIR, too");
  if (*watch && (!out->empty() || !json->empty() || !features->empty())) {
    throw UsageError(
        "--watch tells and sorts photos as they come, and has no end for a record: leave out --out, --json and "
        "--features");
  }
  if (type() == OutputType::kLogits && confidence.given() && sort->empty()) {
    throw UsageError("--confidence is a probability, which --output-type logit doesn't give: leave one out");
  }
}

void ScenarioFlags::check_together() const {
  for (const OptionBase* option : options()) {
    if (!wanted() && option->given()) {
      throw UsageError(fmt::format("{} has no effect without --scenario NAME", option->name()));
    }
  }
  if (!wanted()) return;
  if (*quick && *full) throw UsageError("--quick and --full exclude each other: give one of them");
  const Scenario name = parse_scenario(*scenario);
  const auto needs = [&](const OptionBase& option, bool has_use, const char* of) {
    if (!option.given() || has_use) return;
    throw UsageError(fmt::format("{} has no effect with --scenario {}: it is for {}", option.name(), *scenario, of));
  };
  needs(latency_limit_ms, name == Scenario::kServer, "server");
  needs(target_rate, name == Scenario::kServer, "server");
  needs(samples_per_query, name == Scenario::kMultiStream, "multi-stream");
  needs(percentile, name != Scenario::kOffline, "single-stream, multi-stream and server");
  parse_seeds(*seeds);
}

ScenarioOptions ScenarioFlags::scenario_options(std::int64_t samples) const {
  const Scenario name = parse_scenario(*scenario);
  ScenarioOptions options = *full ? full_options(name, samples) : quick_options(name);
  options.samples = samples;
  options.samples_per_query = *samples_per_query;
  if (*percentile) options.percentile = (*percentile)->share();
  options.latency_limit_s = *latency_limit_ms / 1000;
  options.target_rate = *target_rate;
  if (*min_duration_s) {
    options.min_duration_s = **min_duration_s;
    // Who asks for long runs shall have them.
    if (options.max_duration_s && options.min_duration_s > *options.max_duration_s) options.max_duration_s.reset();
  }
  options.seeds = parse_seeds(*seeds);
  return options;
}

}  // namespace evener::inference
