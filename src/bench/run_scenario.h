// Measures a system in a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/early_stopping.h"
#include "bench/lanes.h"
#include "bench/run_log.h"
#include "bench/scenario.h"
#include "bench/system.h"
#include "record/record.h"

namespace evener::bench {

struct ScenarioResult {
  ScenarioOptions options;                     // that it was measured with
  RunLog log;                                  // of the run that counts
  std::optional<PercentileEstimate> estimate;  // single-stream, multi-stream; absent with too few queries
  std::optional<double> arrival_rate;          // server: queries per second in the run that counts
  std::optional<double> highest_rate;          // server: that kept the limit in a whole run
  std::vector<record::RateTrial> rates;        // server: all that were tried, in that order
  record::Validity validity;                   // by the rules of the scenario alone
  std::vector<std::string> notes;
};

/// Who shows a scenario while it goes on. Called by the threads of lanes, one at a time: not the place for long work.
class ScenarioObserver {
 public:
  virtual ~ScenarioObserver() = default;
  /// A part begins: "warming up", "trying 41.2 queries/s".
  virtual void on_part(const std::string& /*what*/) {}
  /// The present part has come so far.
  virtual void on_progress(double /*seconds*/, std::int64_t /*queries*/) {}
};

/// Measures `system`, with a thread per lane. A stop request (base/stop.h) ends it as soon as the queries in hand are
/// answered, with what is known until then. Throws UsageError for options that can't be, and what the system threw.
ScenarioResult run_scenario(const ScenarioOptions& options, System& system, ScenarioObserver* observer = nullptr);
/// The same on lanes of `system` that somebody else runs, whose number takes the place of that in `options`.
ScenarioResult run_scenario(const ScenarioOptions& options, System& system, Lanes& lanes,
                            ScenarioObserver* observer = nullptr);

}  // namespace evener::bench
