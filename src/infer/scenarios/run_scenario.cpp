#include "infer/scenarios/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/names.h"
#include "base/stop.h"
#include "infer/scenarios/query_schedulers.h"

namespace evener::inference {
namespace {

/// What all runs of one measurement share.
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

using Reasons = std::vector<record::ValidityReason>;

void judge_count(const ScenarioResult& result, Reasons& reasons) {
  const ScenarioOptions& options = result.options;
  const bool offline = options.scenario == Scenario::kOffline;
  const std::int64_t seen = offline ? result.log.samples : static_cast<std::int64_t>(result.log.queries.size());
  const std::int64_t fewest = fewest_queries(options);
  // A run that ended early because its rate was too high breaks a rule of its own, below.
  if (seen >= fewest || result.log.hopeless) return;
  std::string what = fmt::format("{} {} (at least {}", seen, offline ? "samples" : "queries", fewest);
  what += offline ? ")" : fmt::format(", to vouch for {:g} % of all latencies)", 100 * options.percentile);
  std::string advice = "let it run longer: --full has no longest duration";
  if (!offline && options.percentile > 0.9) {
    advice += fmt::format("; --percentile 0.9 takes {} queries", smallest_total(0.9));
  }
  reasons.push_back({"too few queries", what, advice});
}

void judge_duration(const ScenarioResult& result, Reasons& reasons) {
  const double least_s = result.options.min_duration_s;
  const RunLog& log = result.log;
  if (log.complete || log.full || log.hopeless || log.seconds >= least_s) return;
  reasons.push_back({"too short",
                     fmt::format("it took {} (at least {})", duration_text(log.seconds), duration_text(least_s)),
                     "let it run on, or ask for less with --min-duration"});
}

void judge_limit(const ScenarioResult& result, Reasons& reasons) {
  const ScenarioOptions& options = result.options;
  const auto queries = static_cast<std::int64_t>(result.log.queries.size());
  const std::optional<std::int64_t> allowed = allowed_late(queries, options.percentile);
  if (result.log.late <= allowed.value_or(0) && !result.log.hopeless) return;
  std::string what = fmt::format("{} of {} queries took longer than {}", result.log.late, queries,
                                 duration_text(options.latency_limit_s));
  if (result.arrival_rate) what += fmt::format(" at {:.4g} queries/s", *result.arrival_rate);
  what += result.highest_rate ? fmt::format("; the highest rate that held was {:.4g} queries/s", *result.highest_rate)
                              : "; no rate that was tried held";
  reasons.push_back({"latency limit", what,
                     result.highest_rate
                         ? fmt::format("ask for --target-rate {:.3g}, or raise --latency-limit", *result.highest_rate)
                         : "raise --latency-limit, or use a faster network, device or precision"});
}

/// Bisection narrows the rate down to about 3 %.
constexpr int kMostTrials = 6;
constexpr double kFineEnough = 0.03;
/// The fewest queries of a trial: with half as many, the percentile 0.99 would be the slowest query.
constexpr std::int64_t kTrialQueries = 200;
/// A whole run sees rarer, longer latencies than a short trial. If the trial's rate fails in it, the rate is reduced by
/// 5 %, then by another 10 %, and so on.
constexpr double kStepDown = 0.95;
constexpr int kMostRuns = 8;
/// A trial on a slow system may last this many times the usual length.
constexpr double kLongestTrial = 10;
/// The clock's resolution, against a division by 0.
constexpr double kResolution_s = 1e-9;

class Search {
 public:
  Search(const Session& session, ScenarioResult& result)
      : session_(session), options_(session.options), result_(result) {}

  /// Makes a whole run. True: the latency limit was kept, with the confidence of early stopping.
  bool run_at(double rate) {
    session_.begin_part(fmt::format("measuring {:.4g} queries/s", rate));
    const Extent extent = session_.whole_extent();
    const double planned = std::max(static_cast<double>(extent.min_queries), rate * extent.min_s);
    const auto allowed = allowed_late(static_cast<std::int64_t>(planned), options_.percentile);
    record::RateTrial trial = ask(rate, extent, allowed.value_or(0), &result_.log, &result_.arrival_rate);
    const auto late = allowed_late(static_cast<std::int64_t>(result_.log.queries.size()), options_.percentile);
    trial.held = !result_.log.hopeless && !result_.log.stopped && late && result_.log.late <= *late;
    if (!result_.log.stopped) result_.rates.push_back(trial);
    return trial.held;
  }

  /// The highest rate below `most` that kept the limit in a short trial; 0 if none did.
  double find_below(double most) {
    double holds = 0, fails = most;
    for (int n = 0; n < kMostTrials && fails - holds > kFineEnough * fails && !stop_requested(); ++n) {
      const double rate = (holds + fails) / 2;
      (try_at(rate) ? holds : fails) = rate;
    }
    return holds;
  }

  /// The system's throughput in queries per second, with all lanes busy; 0 if nothing was answered.
  double capacity() {
    session_.begin_part("measuring what the system does at most");
    const std::int64_t batches = 3 * session_.lanes.count();
    OfflineScheduler scheduler(session_.draw,
                               {.min_s = options_.trial_s / 2,
                                .max_s = kLongestTrial * options_.trial_s,
                                .min_queries = batches * options_.largest_batch,
                                .max_queries = options_.max_queries},
                               session_.progress(), options_.largest_batch);
    session_.lanes.run(scheduler);
    const RunLog& log = scheduler.log();
    return static_cast<double>(log.samples) / std::max(log.seconds, kResolution_s);
  }

 private:
  bool try_at(double rate) {
    session_.begin_part(fmt::format("trying {:.4g} queries/s", rate));
    const Extent extent{options_.trial_s, kLongestTrial * options_.trial_s, kTrialQueries, options_.max_queries};
    const double planned = std::max(static_cast<double>(kTrialQueries), rate * options_.trial_s);
    const auto most_late = static_cast<std::int64_t>((1 - options_.percentile) * planned);
    RunLog log;
    std::optional<double> arrival_rate;
    record::RateTrial trial = ask(rate, extent, most_late, &log, &arrival_rate);
    trial.held = !log.stopped && !log.hopeless && trial.latency_s && *trial.latency_s <= options_.latency_limit_s;
    if (!log.stopped) result_.rates.push_back(trial);
    return trial.held;
  }

  record::RateTrial ask(double rate, const Extent& extent, std::int64_t allowed, RunLog* log,
                        std::optional<double>* arrival_rate) {
    ServerScheduler scheduler(session_.draw, extent, session_.progress(), options_.largest_batch, rate,
                              options_.latency_limit_s, allowed, options_.seeds.schedule);
    session_.lanes.run(scheduler);
    *log = std::move(scheduler.log());
    *arrival_rate = scheduler.arrival_rate();
    record::RateTrial trial;
    trial.rate = rate;
    trial.queries = static_cast<std::int64_t>(log->queries.size());
    trial.seconds = log->seconds;
    if (const std::vector<double> sorted = log->sorted_latencies_s(); !sorted.empty()) {
      trial.latency_s = plain_percentile(sorted, options_.percentile);
      trial.latency_p50_s = plain_percentile(sorted, 0.5);
    }
    return trial;
  }

  const Session& session_;
  const ScenarioOptions& options_;
  ScenarioResult& result_;
};

/// Reduces the rate in growing steps until a whole run keeps the limit.
void step_down(double rate, Search& search, ScenarioResult& result) {
  double failed = 0;  // the lowest rate that failed; 0: none
  for (int n = 1; n <= kMostRuns && !stop_requested(); ++n) {
    if (search.run_at(rate)) {
      result.highest_rate = rate;
      break;
    }
    if (!result.log.hopeless) return;  // it failed for too few queries, and a lower rate would give fewer still
    failed = rate;
    rate *= std::pow(kStepDown, n);
  }
  // After a large step the rate may be well below the highest possible: try the middle.
  if (!result.highest_rate || failed * kStepDown <= *result.highest_rate || stop_requested()) return;
  const double middle = (*result.highest_rate + failed) / 2;
  RunLog held = std::exchange(result.log, {});
  const std::optional<double> held_rate = result.arrival_rate;
  if (search.run_at(middle)) {
    result.highest_rate = middle;
  } else {
    result.log = std::move(held);
    result.arrival_rate = held_rate;
  }
}

/// Searches the highest rate below `most` that keeps the limit in a whole run.
void search_below(double most, Search& search, ScenarioResult& result) {
  const double rate = search.find_below(most);
  if (rate > 0) {
    step_down(rate, search, result);
  } else if (!stop_requested()) {
    // Even the lowest rate failed in its trial: a whole run at a low rate shows how far the system is from the limit.
    search.run_at(most / std::exp2(kMostTrials));
  }
}

/// After the given rate failed, searches one that keeps the limit. The run at the given rate stays the reported one.
void search_what_would_hold(Search& search, ScenarioResult& result) {
  RunLog asked = std::exchange(result.log, {});
  const std::optional<double> asked_rate = result.arrival_rate;
  search_below(std::min(*result.options.target_rate, search.capacity()), search, result);
  result.log = std::move(asked);
  result.arrival_rate = asked_rate;
}

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

/// Judges the result by the rules of its scenario, with advice for each broken rule.
record::Validity judge_scenario(const ScenarioResult& result) {
  record::Validity validity;
  if (result.log.stopped) {
    validity.reasons.push_back({"unfinished", "it was interrupted", "run it again"});
  }
  judge_count(result, validity.reasons);
  judge_duration(result, validity.reasons);
  if (result.options.scenario == Scenario::kServer) judge_limit(result, validity.reasons);
  validity.valid = validity.reasons.empty();
  return validity;
}

/// Measures the server scenario, at the given rate or at the highest rate that keeps the latency limit.
void measure_server(const Session& session, ScenarioResult& result) {
  Search search(session, result);
  if (!session.options.target_rate) {
    search_below(search.capacity(), search, result);
  } else if (search.run_at(*session.options.target_rate)) {
    result.highest_rate = session.options.target_rate;
  } else if (result.log.hopeless) {
    search_what_would_hold(search, result);
  }
  if (!result.highest_rate && stop_requested()) result.log.stopped = true;
}

}  // namespace

ScenarioResult run_scenario(const ScenarioOptions& options, System& system, ScenarioObserver* observer) {
  check_options(options);
  const auto lanes = thread_lanes(system, options.scenario == Scenario::kSingleStream ? 1 : options.lanes);
  return run_scenario(options, system, *lanes, observer);
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

}  // namespace evener::inference
