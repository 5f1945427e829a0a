// The server scenario: searches the highest rate of queries that a system answers with few late ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stop.h"
#include "bench/session.h"

namespace evener::bench {
namespace {

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

/// Saves the reported run while others are made, so that it can be put back.
class KeptRun {
 public:
  explicit KeptRun(ScenarioResult& result)
      : result_(result), log_(std::move(result.log)), arrival_rate_(result.arrival_rate) {
    result.log = {};
  }
  void put_back() {
    result_.log = std::move(log_);
    result_.arrival_rate = arrival_rate_;
  }

 private:
  ScenarioResult& result_;
  RunLog log_;
  std::optional<double> arrival_rate_;
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
  KeptRun held(result);
  if (search.run_at(middle)) {
    result.highest_rate = middle;
  } else {
    held.put_back();
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
  KeptRun asked(result);
  search_below(std::min(*result.options.target_rate, search.capacity()), search, result);
  asked.put_back();
}

}  // namespace

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

}  // namespace evener::bench
