// Options about the scenario in which a system that answers queries is measured.
#pragma once

#include "bench/scenario.h"
#include "job/options/option.h"

namespace evener::job {

struct ScenarioFlags : OptionGroup {
  ScenarioFlags() : OptionGroup("Scenario") {}

  Option<std::string> scenario{*this,
                               {"--scenario", "NAME",
                                "Measure as MLPerf's LoadGen does: single-stream, multi-stream, server or offline "
                                "(docs/measuring.md; default: don't measure latency)"},
                               "",
                               {.in_plans = false}};
  Option<bool> quick{*this,
                     {"--quick", "", "Seconds: 5 s and as many queries as the percentile needs (default)"},
                     false,
                     {.in_plans = false}};
  Option<bool> full{*this, {"--full", "", "LoadGen's 600 s, and 24,576 samples offline"}, false, {.in_plans = false}};
  Option<double> latency_limit_ms{
      *this,
      {"--latency-limit", "MILLISECONDS", "Server: what the percentile of latency may be", {"--target-latency"}},
      100,
      {.range = more_than_zero(), .in_plans = false}};
  Option<std::optional<double>> target_rate{*this,
                                            {"--target-rate",
                                             "PER_SECOND",
                                             "Server: queries per second (default: search the highest rate that keeps "
                                             "the limit)",
                                             {"--target-qps"}},
                                            {},
                                            {.range = more_than_zero(), .in_plans = false}};
  Option<std::int64_t> samples_per_query{*this,
                                         {"--samples-per-query", "N", "Multi-stream: images of a query"},
                                         8,
                                         {.range = from_to(1, 1'000'000), .in_plans = false}};
  Option<std::optional<double>> percentile{
      *this,
      {"--percentile", "SHARE", "Of latency (default: 0.90 single-stream, 0.99 multi-stream and server)"},
      {},
      {.range = from_to(0.01, 0.9999), .in_plans = false}};
  Option<std::optional<double>> min_duration_s{
      *this,
      {"--min-duration", "SECONDS", "A run goes on at least so long (default: 5, with --full 600)"},
      {},
      {.range = zero_or_more(), .in_plans = false}};
  Option<std::string> seeds{*this,
                            {"--scenario-seeds", "N,N,N,N",
                             "Of the images that are asked for at all, of which each query asks for, of when queries "
                             "arrive, and of whose answers are kept"},
                            "1,2,3,4",
                            {.has_commas = true, .in_plans = false}};

  /// Whether a scenario was asked for.
  bool wanted() const { return !scenario->empty(); }
  /// The scenario that the options ask for, on `samples` samples; the caller sets lanes and batches. Throws UsageError.
  bench::ScenarioOptions scenario_options(std::int64_t samples) const;

 private:
  void check_together() const override;
};

}  // namespace evener::job
