// What all runs of one measurement share. Inside bench/ only.
#pragma once

#include "bench/query_schedulers.h"
#include "bench/run_scenario.h"

namespace evener::bench {

struct Session {
  const ScenarioOptions& options;
  Lanes& lanes;
  SampleDraw& draw;
  ScenarioObserver* observer;

  void begin_part(const std::string& what) const {
    if (observer != nullptr) observer->on_part(what);
  }
  Progress progress() const {
    if (observer == nullptr) return {};
    return [to = observer](double seconds, std::int64_t queries) { to->on_progress(seconds, queries); };
  }
  Extent whole_extent() const {
    return {options.min_duration_s, options.max_duration_s, fewest_queries(options), options.max_queries};
  }
};

/// Measures the server scenario (server_search.cpp), at the given rate or at the highest rate that keeps the latency
/// limit.
void measure_server(const Session& session, ScenarioResult& result);

/// Judges the result by the rules of its scenario (scenario_rules.cpp).
record::Validity judge_scenario(const ScenarioResult& result);

}  // namespace evener::bench
