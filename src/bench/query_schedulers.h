// The schedulers of the scenarios. Inside bench/ and its tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "bench/query_scheduler.h"
#include "bench/run_log.h"
#include "bench/sample_draw.h"

namespace evener::bench {

/// How long a run goes on: until both minimums are reached, or one of the maximums.
struct Extent {
  double min_s = 0;
  std::optional<double> max_s = {};
  std::int64_t min_queries = 1, max_queries = 1;  // offline: samples, and batches
};

/// Told how far a run has come, by one lane after another, a few times a second.
using Progress = std::function<void(double seconds, std::int64_t queries)>;

/// What schedulers that keep a log of their queries have in common.
class LoggingScheduler : public QueryScheduler {
 public:
  LoggingScheduler(SampleDraw& draw, const Extent& extent, Progress progress)
      : draw_(draw), extent_(extent), progress_(std::move(progress)) {}
  RunLog& log() { return log_; }

 protected:
  /// Whether nothing new is to be asked at `now_s`, after `count` queries (offline: samples), for which the log will
  /// have `logged` entries.
  bool is_over(double now_s, std::int64_t count, std::int64_t logged);
  void add(const AnsweredQuery& query);

  SampleDraw& draw_;
  const Extent extent_;
  RunLog log_;

 private:
  Progress progress_;
  double told_s_ = 0;
};

/// Single-stream and multi-stream: a query as soon as the one before is answered. Its samples are divided evenly over
/// the lanes, into parts of `largest_batch` at most.
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
  std::vector<IssuedQuery> unissued_;  // of the present query, the last one first
  std::int64_t in_hand_ = 0;           // parts that lanes are answering
  double asked_s_ = 0;
  AnsweredQuery answer_;  // of its parts the slowest so far
};

/// Server: queries of one sample arrive at random, `rate` per second on average, however many wait already. A lane that
/// is free takes those that wait, `largest_batch` at most.
class ServerScheduler final : public LoggingScheduler {
 public:
  /// `allowed_late`: the run ends when more queries took longer than `limit_s`.
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
  std::size_t taken_ = 0;          // of them, by lanes
  bool closed_ = false;            // no more arrive
};

/// Offline: all samples at once, issued in batches to whoever is free.
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

/// Each lane answers queries of these sizes, one after the other.
class WarmUpScheduler final : public QueryScheduler {
 public:
  WarmUpScheduler(SampleDraw& draw, std::vector<std::int64_t> sizes, int lanes)
      : draw_(draw), sizes_(std::move(sizes)), next_(static_cast<std::size_t>(lanes)) {}
  NextStep next(int lane, double now_s) override;
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override;

  /// How long the last query of the first lane took; absent without one.
  std::optional<double> last_s() const { return last_s_; }

 private:
  SampleDraw& draw_;
  const std::vector<std::int64_t> sizes_;
  std::vector<std::size_t> next_;  // of each lane, in sizes_
  std::optional<double> last_s_;
};

}  // namespace evener::bench
