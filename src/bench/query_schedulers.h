// The schedulers of the scenarios. Inside bench/ and its tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "bench/lanes.h"
#include "bench/run_log.h"
#include "bench/scenario.h"
#include "bench/system.h"

namespace evener::bench {

/// Draws `count` of the samples 0..samples-1 without replacement; all of them in random order if there are no more.
std::vector<std::int64_t> draw_sample_set(std::int64_t samples, std::int64_t count, std::uint64_t seed);

class SampleDraw {
 public:
  SampleDraw(std::vector<std::int64_t> set, const ScenarioOptions& options);

  /// The samples of query `number`, drawn from the set with replacement.
  Query query(std::int64_t number, std::int64_t samples) const;
  /// For offline: `samples` samples from place `first` on of an endless sequence that repeats the whole set, each time
  /// in another order.
  Query of_row(std::int64_t first, std::int64_t samples);

 private:
  void mark_logged(Query& query, std::int64_t first) const;

  std::vector<std::int64_t> set_;
  ScenarioSeeds seeds_;
  double logged_share_;
  std::vector<std::uint32_t> order_;  // order of the set in round_
  std::int64_t round_ = -1;
};

/// The length of a run, which ends when both minimums are reached, or one of the maximums.
struct Extent {
  double min_s = 0;
  std::optional<double> max_s = {};
  std::int64_t min_queries = 1, max_queries = 1;  // offline: samples, resp. batches
};

/// Called a few times a second with the progress of a run. Calls come from different lanes' threads, but never at once.
using Progress = std::function<void(double seconds, std::int64_t queries)>;

/// The base of the schedulers that log their queries.
class LoggingScheduler : public QueryScheduler {
 public:
  LoggingScheduler(SampleDraw& draw, const Extent& extent, Progress progress)
      : draw_(draw), extent_(extent), progress_(std::move(progress)) {}
  RunLog& log() { return log_; }

 protected:
  /// Whether no new query may be issued at `now_s`, after `count` queries (offline: samples), for which the log will
  /// have `logged` entries. Sets the log's `complete` and `full`.
  bool is_over(double now_s, std::int64_t count, std::int64_t logged);
  void add(const AnsweredQuery& query);

  SampleDraw& draw_;
  const Extent extent_;
  RunLog log_;

 private:
  Progress progress_;
  double told_s_ = 0;
};

/// Single-stream and multi-stream: the next query is issued as soon as the last one is answered. The samples of a query
/// are divided evenly over the lanes, into parts of at most `largest_batch`.
class StreamScheduler final : public LoggingScheduler {
 public:
  StreamScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t samples, int lanes,
                  std::int64_t largest_batch);
  NextStep next(int lane, double now_s) override;
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override;

 private:
  void ask(double now_s);

  const std::int64_t samples_, samples_each_;
  std::int64_t asked_ = 0;
  std::vector<IssuedQuery> unissued_;  // parts of the present query, in reverse order
  std::int64_t in_hand_ = 0;           // parts that lanes are answering
  double asked_s_ = 0;
  AnsweredQuery answer_;  // of the present query, by its slowest part so far
};

/// Server: queries of one sample arrive as a Poisson process of `rate` per second, however many wait already. A free
/// lane takes the waiting queries, at most `largest_batch` at once.
class ServerScheduler final : public LoggingScheduler {
 public:
  /// `allowed_late`: the run ends early once more queries than this took longer than `limit_s`; absent: never.
  ServerScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t largest_batch, double rate,
                  double limit_s, std::optional<std::int64_t> allowed_late, std::uint64_t schedule_seed);
  NextStep next(int lane, double now_s) override;
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override;

  /// Queries that arrived, per second; absent with fewer than two.
  std::optional<double> arrival_rate() const;

 private:
  void let_arrive(double now_s);

  const std::int64_t largest_batch_;
  const double rate_, limit_s_;
  const std::optional<std::int64_t> allowed_late_;
  Random schedule_;
  double next_arrival_s_ = 0;
  std::vector<double> arrived_s_;  // of all queries, in order
  std::size_t taken_ = 0;          // of those, already issued
  bool closed_ = false;            // no more arrive
};

/// Offline: all samples are asked for at once and issued in batches to free lanes.
class OfflineScheduler final : public LoggingScheduler {
 public:
  OfflineScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t batch)
      : LoggingScheduler(draw, extent, std::move(progress)), batch_(batch) {}
  NextStep next(int lane, double now_s) override;
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override;

 private:
  const std::int64_t batch_;
  std::int64_t issued_ = 0;  // samples
};

/// Warm-up: each lane answers queries of all `sizes`, one after the other.
class WarmUpScheduler final : public QueryScheduler {
 public:
  WarmUpScheduler(SampleDraw& draw, std::vector<std::int64_t> sizes, int lanes)
      : draw_(draw), sizes_(std::move(sizes)), next_(static_cast<std::size_t>(lanes)) {}
  NextStep next(int lane, double now_s) override;
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override;

  /// Seconds that lane 0's last query took; absent before its first.
  std::optional<double> last_s() const { return last_s_; }

 private:
  SampleDraw& draw_;
  const std::vector<std::int64_t> sizes_;
  std::vector<std::size_t> next_;  // by lane: index in sizes_
  std::optional<double> last_s_;
};

}  // namespace evener::bench
