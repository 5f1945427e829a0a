// The four ways of asking a system for answers and of telling how fast they come, with the definitions of MLPerf's
// LoadGen. docs/measuring.md explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evener::bench {

enum class Scenario : std::uint8_t {
  kSingleStream,  // a query of one sample as soon as the one before is answered
  kMultiStream,   // the same with several samples per query
  kServer,        // queries of one sample arrive at random moments
  kOffline        // one query of all samples
};

/// "single-stream", "multi-stream", "server", "offline".
const char* scenario_name(Scenario scenario);
std::vector<std::string> scenario_names();
/// Throws UsageError that names the nearest.
Scenario parse_scenario(const std::string& name);

/// One seed per dimension, so that each can be changed alone.
struct ScenarioSeeds {
  std::uint64_t sample_set = 1;    // which of the system's samples queries draw from
  std::uint64_t sample_index = 2;  // which of those each query asks for
  std::uint64_t schedule = 3;      // when queries arrive (server)
  std::uint64_t accuracy_log = 4;  // which answers are kept
};

struct ScenarioOptions {
  Scenario scenario = Scenario::kSingleStream;
  std::int64_t samples = 0;            // that the system has
  std::int64_t set_samples = 1024;     // how many of them queries draw from; offline draws from all
  int lanes = 1;                       // that answer at the same time; single-stream uses the first one
  std::int64_t largest_batch = 1;      // samples that a lane is given at once
  std::int64_t samples_per_query = 8;  // multi-stream
  double percentile = 0.9;             // of latency, that the scenario is about; offline has none
  double latency_limit_s = 0.1;        // server: what the percentile of latency may be
  std::optional<double> target_rate;   // server: queries per second; absent: the highest rate is searched
  double min_duration_s = 5;
  std::optional<double> max_duration_s;     // a run ends here, INVALID if too little has been seen; absent: never
  std::optional<std::int64_t> min_queries;  // offline: samples; absent: what early stopping needs, offline 1
  std::int64_t max_queries = 2'000'000;     // a run ends here: each is kept, and more tell nothing new
  double trial_s = 1;                       // server: of each rate that the search tries
  int warm_up = 2;                          // times that each lane answers each size of query before the clock starts
  double accuracy_log_share = 0;            // of the samples, whose answers are kept
  ScenarioSeeds seeds;
};

/// Seconds, with early stopping so that what is told holds: 5 s and as many queries as the percentile needs, but no
/// longer than a minute for each run.
ScenarioOptions quick_options(Scenario scenario);
/// LoadGen's: 600 s, and 24,576 samples offline (or as many as there are).
ScenarioOptions full_options(Scenario scenario, std::int64_t samples);

/// The queries (offline: samples) that a run has at least.
std::int64_t fewest_queries(const ScenarioOptions& options);

/// Throws UsageError for what can't be measured.
void check_options(const ScenarioOptions& options);

}  // namespace evener::bench
