// Runs a scenario on a system and judges the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "infer/scenarios/lanes.h"
#include "infer/scenarios/run_log.h"
#include "infer/scenarios/scenario.h"
#include "infer/scenarios/system.h"
#include "record/record.h"

namespace evener::inference {

struct ScenarioResult {
  ScenarioOptions options;                     // that it was measured with
  RunLog log;                                  // of the run that is reported
  std::optional<PercentileEstimate> estimate;  // single-stream, multi-stream; absent with too few queries
  std::optional<double> arrival_rate;          // server: queries per second in the reported run
  std::optional<double> highest_rate;          // server: the highest that kept the limit in a whole run
  std::vector<record::RateTrial> rates;        // server: all rates tried, in order
  record::Validity validity;                   // by the scenario's own rules only
  std::vector<std::string> notes;
};

/// Shows the progress of a scenario. Called on the lanes' threads, one at a time, so long work here would disturb the
/// measurement.
class ScenarioObserver {
 public:
  virtual ~ScenarioObserver() = default;
  /// A part begins: "warming up", "trying 41.2 queries/s".
  virtual void on_part(const std::string& /*what*/) {}
  /// The present part has lasted `seconds` and answered `queries`.
  virtual void on_progress(double /*seconds*/, std::int64_t /*queries*/) {}
};

/// Measures `system`, with a thread per lane. After a stop request (base/stop.h) returns the figures so far, as soon as
/// the queries under way are answered. Throws UsageError for invalid options, and whatever the system threw.
ScenarioResult run_scenario(const ScenarioOptions& options, System& system, ScenarioObserver* observer = nullptr);
/// The same on `lanes`, which answer with `system`; `options.lanes` is replaced by their number.
ScenarioResult run_scenario(const ScenarioOptions& options, System& system, Lanes& lanes,
                            ScenarioObserver* observer = nullptr);

}  // namespace evener::inference
