// The four scenarios in which a system that answers queries is measured, as MLPerf's LoadGen defines them.
// docs/measuring.md explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace evener::inference {

enum class Scenario : std::uint8_t {
  kSingleStream,  // a query of one sample as soon as the one before is answered
  kMultiStream,   // the same with several samples per query
  kServer,        // queries of one sample arrive at random moments
  kOffline        // one query of all samples
};

/// "single-stream", "multi-stream", "server", "offline".
const char* scenario_name(Scenario scenario);
/// Throws a UsageError that suggests the most similar name.
Scenario parse_scenario(const std::string& name);

/// A seed for each kind of random choice, so that each can be changed alone.
struct ScenarioSeeds {
  std::uint64_t sample_set = 1;    // which of the system's samples queries draw from
  std::uint64_t sample_index = 2;  // which samples of the set each query asks for
  std::uint64_t schedule = 3;      // when queries arrive (server)
  std::uint64_t accuracy_log = 4;  // which answers are kept for checking accuracy
};

struct ScenarioOptions {
  Scenario scenario = Scenario::kSingleStream;
  std::int64_t samples = 0;            // number of samples of the system
  std::int64_t set_samples = 1024;     // samples that queries draw from; offline uses all
  int lanes = 1;                       // concurrent lanes; single-stream uses one
  std::int64_t largest_batch = 1;      // most samples that a lane gets at once
  std::int64_t samples_per_query = 8;  // multi-stream
  double percentile = 0.9;             // the percentile of latency to report; not for offline
  double latency_limit_s = 0.1;        // server: limit of that percentile
  std::optional<double> target_rate;   // server: queries per second; absent: the highest rate is searched
  double min_duration_s = 5;
  std::optional<double> max_duration_s;     // a run ends then, INVALID if it saw too little; absent: no limit
  std::optional<std::int64_t> min_queries;  // offline: samples; absent: what early stopping needs (offline: 1)
  std::int64_t max_queries = 2'000'000;     // a run ends there, since the log keeps every query
  double trial_s = 1;                       // server: length of the trial of a rate in the search
  int warm_up = 2;                          // rounds of warm-up: each lane answers each size of query
  double accuracy_log_share = 0;            // share of samples whose answers are kept
  ScenarioSeeds seeds;
};

/// Options for a measurement of seconds: a run lasts 5 s and has as many queries as early stopping needs for the
/// percentile, but ends after a minute.
ScenarioOptions quick_options(Scenario scenario);
/// LoadGen's own options: 600 s, and offline 24,576 samples (or as many as there are).
ScenarioOptions full_options(Scenario scenario, std::int64_t samples);

/// The minimum number of queries (offline: samples) of a run.
std::int64_t fewest_queries(const ScenarioOptions& options);

/// Throws UsageError if the options are invalid.
void check_options(const ScenarioOptions& options);

}  // namespace evener::inference
