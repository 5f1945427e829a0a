#include "bench/run_scenario.h"

#include <algorithm>

#include "bench/session.h"

namespace evener::bench {
namespace {

/// The batch sizes to warm up with, because the first call of a size is slow. A server's batches have any size up to
/// the largest; the powers of two stand for them.
std::vector<std::int64_t> warm_up_sizes(const ScenarioOptions& options, int lanes) {
  std::vector<std::int64_t> sizes;
  switch (options.scenario) {
    case Scenario::kSingleStream:
      sizes = {1};
      break;
    case Scenario::kMultiStream:
      sizes = {std::min(options.largest_batch, (options.samples_per_query + lanes - 1) / lanes)};
      break;
    case Scenario::kServer:
      for (std::int64_t size = 1; size < options.largest_batch; size *= 2) sizes.push_back(size);
      sizes.push_back(options.largest_batch);
      break;
    case Scenario::kOffline:
      sizes = {options.largest_batch};
      break;
  }
  std::vector<std::int64_t> rounds;
  for (int n = 0; n < options.warm_up; ++n) rounds.insert(rounds.end(), sizes.begin(), sizes.end());
  return rounds;
}

void measure_stream(const Session& session, ScenarioResult& result) {
  const bool multi = session.options.scenario == Scenario::kMultiStream;
  session.begin_part("measuring");
  StreamScheduler scheduler(session.draw, session.whole_extent(), session.progress(),
                            multi ? session.options.samples_per_query : 1, session.lanes.count(),
                            session.options.largest_batch);
  session.lanes.run(scheduler);
  result.log = std::move(scheduler.log());
  result.estimate = early_stopping_estimate(result.log.sorted_latencies_s(), session.options.percentile);
}

void measure_offline(const Session& session, ScenarioResult& result) {
  session.begin_part("measuring");
  OfflineScheduler scheduler(session.draw, session.whole_extent(), session.progress(), session.options.largest_batch);
  session.lanes.run(scheduler);
  result.log = std::move(scheduler.log());
}

}  // namespace

ScenarioResult run_scenario(const ScenarioOptions& options, System& system, ScenarioObserver* observer) {
  check_options(options);
  ThreadLanes lanes(system, options.scenario == Scenario::kSingleStream ? 1 : options.lanes);
  return run_scenario(options, system, lanes, observer);
}

ScenarioResult run_scenario(const ScenarioOptions& options, System& system, Lanes& lanes, ScenarioObserver* observer) {
  ScenarioResult result;
  result.options = options;
  result.options.lanes = lanes.count();
  check_options(result.options);
  const bool all = options.scenario == Scenario::kOffline;
  std::vector<std::int64_t> set =
      draw_sample_set(options.samples, all ? options.samples : options.set_samples, options.seeds.sample_set);
  system.load(set);
  SampleDraw draw(std::move(set), result.options);
  const Session session{result.options, lanes, draw, observer};

  session.begin_part("warming up");
  WarmUpScheduler warm_up(draw, warm_up_sizes(result.options, lanes.count()), lanes.count());
  lanes.run(warm_up);

  if (options.scenario == Scenario::kServer) {
    measure_server(session, result);
  } else if (all) {
    measure_offline(session, result);
  } else {
    measure_stream(session, result);
  }
  if (result.log.full) {
    result.notes.push_back("the scenario ended before its least duration, after " +
                           std::to_string(result.log.queries.size()) + " queries, which is as many as are kept");
  }
  result.validity = judge_scenario(result);
  return result;
}

}  // namespace evener::bench
