// The schedulers of the scenarios. Inside bench/ and its tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/stop.h"
#include "infer/scenarios/lanes.h"
#include "infer/scenarios/run_log.h"
#include "infer/scenarios/scenario.h"
#include "infer/scenarios/system.h"

namespace evener::inference {

/// A random stream for each purpose, so that equal seeds for two purposes don't give related choices.
inline Random random_stream(std::uint64_t seed, const char* what, std::int64_t number) {
  return Random(seed, Purpose::kOrder, hash_text(what), static_cast<std::uint64_t>(number));
}

/// Draws `count` of the samples 0..samples-1 without replacement; all of them in random order if there are no more.
inline std::vector<std::int64_t> draw_sample_set(std::int64_t samples, std::int64_t count, std::uint64_t seed) {
  const std::vector<std::uint32_t> order =
      permutation(static_cast<std::uint32_t>(samples), random_stream(seed, "sample set", 0));
  const auto taken = static_cast<std::ptrdiff_t>(std::min(samples, count));
  return {order.begin(), order.begin() + taken};
}

class SampleDraw {
 public:
  SampleDraw(std::vector<std::int64_t> set, const ScenarioOptions& options)
      : set_(std::move(set)), seeds_(options.seeds), logged_share_(options.accuracy_log_share) {}

  /// The samples of query `number`, drawn from the set with replacement.
  Query query(std::int64_t number, std::int64_t samples) const {
    Random random = random_stream(seeds_.sample_index, "sample index", number);
    Query query;
    for (std::int64_t n = 0; n < samples; ++n) query.samples.push_back(set_[random.below(set_.size())]);
    mark_logged(query, number * samples);
    return query;
  }
  /// For offline: `samples` samples from place `first` on of an endless sequence that repeats the whole set, each time
  /// in another order.
  Query of_row(std::int64_t first, std::int64_t samples) {
    Query query;
    for (std::int64_t place = first; place < first + samples; ++place) {
      const auto size = static_cast<std::int64_t>(set_.size());
      if (place / size != round_) {
        round_ = place / size;
        order_ = permutation(static_cast<std::uint32_t>(size), random_stream(seeds_.sample_index, "round", round_));
      }
      query.samples.push_back(set_[order_[static_cast<std::size_t>(place % size)]]);
    }
    mark_logged(query, first);
    return query;
  }

 private:
  void mark_logged(Query& query, std::int64_t first) const {
    if (logged_share_ <= 0) return;
    for (std::size_t n = 0; n < query.samples.size(); ++n) {
      Random random = random_stream(seeds_.accuracy_log, "accuracy log", first + static_cast<std::int64_t>(n));
      if (random.uniform() < logged_share_) query.logged.push_back(n);
    }
  }

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
      : draw_(draw), extent_(extent), progress_(std::move(progress)) {
    log_.begin_s = now_s();
  }
  RunLog& log() { return log_; }

 protected:
  /// Whether no new query may be issued at `now_s`, after `count` queries (offline: samples), for which the log will
  /// have `logged` entries. Sets the log's `complete` and `full`.
  bool is_over(double now_s, std::int64_t count, std::int64_t logged) {
    log_.complete = now_s >= extent_.min_s && count >= extent_.min_queries;
    log_.full = !log_.complete && logged >= extent_.max_queries;
    return log_.complete || log_.full || (extent_.max_s && now_s >= *extent_.max_s);
  }
  void add(const AnsweredQuery& query) {
    const double end_s = query.scheduled_s + query.latency_s;
    log_.queries.push_back(query);
    log_.samples += query.samples;
    log_.seconds = std::max(log_.seconds, end_s);
    if (!progress_ || end_s - told_s_ < kBetweenProgress_s) return;
    told_s_ = end_s;
    progress_(end_s, static_cast<std::int64_t>(log_.queries.size()));
  }

  SampleDraw& draw_;
  const Extent extent_;
  RunLog log_;

 private:
  static constexpr double kBetweenProgress_s = 0.25;

  Progress progress_;
  double told_s_ = 0;
};

/// Single-stream and multi-stream: the next query is issued as soon as the last one is answered. The samples of a query
/// are divided evenly over the lanes, into parts of at most `largest_batch`.
class StreamScheduler final : public LoggingScheduler {
 public:
  StreamScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t samples, int lanes,
                  std::int64_t largest_batch)
      : LoggingScheduler(draw, extent, std::move(progress)),
        samples_(samples),
        samples_each_(std::min(largest_batch, (samples + lanes - 1) / lanes)) {}

  NextStep next(int /*lane*/, double now_s) override {
    if (unissued_.empty()) {
      if (in_hand_ > 0) return {.kind = NextStep::Kind::kWait};
      if (is_over(now_s, asked_, asked_)) return {};
      if (stop_requested()) {
        log_.stopped = true;
        return {};
      }
      ask(now_s);
    }
    NextStep step{.kind = NextStep::Kind::kAnswer, .issued = std::move(unissued_.back())};
    unissued_.pop_back();
    ++in_hand_;
    return step;
  }
  void done(int lane, const IssuedQuery& /*issued*/, const Answered& answered) override {
    --in_hand_;
    const double latency_s = answered.end_s - asked_s_;
    if (latency_s >= answer_.latency_s) {
      answer_.latency_s = latency_s;
      answer_.parts_s = parts_of(answered.begin_s - asked_s_, answered.parts);
      answer_.lane = lane;
    }
    if (unissued_.empty() && in_hand_ == 0) add(answer_);
  }

 private:
  void ask(double now_s) {
    const Query query = draw_.query(asked_, samples_);
    for (std::int64_t first = 0; first < samples_; first += samples_each_) {
      const std::int64_t end = std::min(first + samples_each_, samples_);
      IssuedQuery issued{{{query.samples.begin() + first, query.samples.begin() + end}, {}}, asked_};
      for (const std::size_t place : query.logged) {
        if (place >= static_cast<std::size_t>(first) && place < static_cast<std::size_t>(end)) {
          issued.query.logged.push_back(place - static_cast<std::size_t>(first));
        }
      }
      unissued_.push_back(std::move(issued));
    }
    std::ranges::reverse(unissued_);
    ++asked_;
    asked_s_ = now_s;
    answer_ = {.scheduled_s = now_s, .samples = static_cast<std::int32_t>(samples_)};
  }

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
                  double limit_s, std::optional<std::int64_t> allowed_late, std::uint64_t schedule_seed)
      : LoggingScheduler(draw, extent, std::move(progress)),
        largest_batch_(largest_batch),
        rate_(rate),
        limit_s_(limit_s),
        allowed_late_(allowed_late),
        schedule_(schedule_seed, Purpose::kOrder, hash_text("schedule")) {}

  NextStep next(int /*lane*/, double now_s) override {
    let_arrive(now_s);
    const bool waiting = taken_ < arrived_s_.size();
    if (log_.hopeless || (closed_ && !waiting)) return {};
    if (stop_requested()) {
      log_.stopped = true;
      return {};
    }
    if (!waiting) return {.kind = NextStep::Kind::kWait, .until_s = next_arrival_s_};
    NextStep step{.kind = NextStep::Kind::kAnswer,
                  .issued = {.query = {}, .number = static_cast<std::int64_t>(taken_)}};
    const std::size_t end = std::min(arrived_s_.size(), taken_ + static_cast<std::size_t>(largest_batch_));
    for (; taken_ < end; ++taken_) {
      const Query one = draw_.query(static_cast<std::int64_t>(taken_), 1);
      Query& together = step.issued.query;
      if (!one.logged.empty()) together.logged.push_back(together.samples.size());
      together.samples.push_back(one.samples.front());
    }
    return step;
  }
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override {
    for (std::size_t n = 0; n < issued.query.samples.size(); ++n) {
      const double arrived_s = arrived_s_[static_cast<std::size_t>(issued.number) + n];
      AnsweredQuery query{
          .scheduled_s = arrived_s, .latency_s = answered.end_s - arrived_s, .samples = 1, .lane = lane};
      query.parts_s = parts_of(answered.begin_s - arrived_s, answered.parts);
      if (query.latency_s > limit_s_) ++log_.late;
      add(query);
    }
    if (allowed_late_ && log_.late > *allowed_late_) log_.hopeless = true;
  }

  /// Queries that arrived, per second; absent with fewer than two.
  std::optional<double> arrival_rate() const {
    if (arrived_s_.size() < 2) return std::nullopt;
    return static_cast<double>(arrived_s_.size() - 1) / arrived_s_.back();
  }

 private:
  void let_arrive(double now_s) {
    while (!closed_ && next_arrival_s_ <= now_s) {
      const auto arrived = static_cast<std::int64_t>(arrived_s_.size());
      if (is_over(next_arrival_s_, arrived, arrived)) {
        closed_ = true;
        return;
      }
      arrived_s_.push_back(next_arrival_s_);
      // Poisson arrivals: the times between them are exponential.
      next_arrival_s_ += -std::log1p(-schedule_.uniform()) / rate_;
    }
  }

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
  NextStep next(int /*lane*/, double now_s) override {
    if (is_over(now_s, issued_, issued_ / batch_)) return {};
    if (stop_requested()) {
      log_.stopped = true;
      return {};
    }
    NextStep step{.kind = NextStep::Kind::kAnswer, .issued = {draw_.of_row(issued_, batch_), issued_}};
    issued_ += batch_;
    return step;
  }
  void done(int lane, const IssuedQuery& issued, const Answered& answered) override {
    AnsweredQuery batch{.scheduled_s = answered.begin_s, .latency_s = answered.end_s - answered.begin_s, .lane = lane};
    batch.samples = static_cast<std::int32_t>(issued.query.samples.size());
    batch.parts_s = parts_of(0, answered.parts);
    add(batch);
  }

 private:
  const std::int64_t batch_;
  std::int64_t issued_ = 0;  // samples
};

/// Warm-up: each lane answers queries of all `sizes`, one after the other.
class WarmUpScheduler final : public QueryScheduler {
 public:
  WarmUpScheduler(SampleDraw& draw, std::vector<std::int64_t> sizes, int lanes)
      : draw_(draw), sizes_(std::move(sizes)), next_(static_cast<std::size_t>(lanes)) {}
  NextStep next(int lane, double /*now_s*/) override {
    std::size_t& next = next_[static_cast<std::size_t>(lane)];
    if (next == sizes_.size() || stop_requested()) return {};
    const auto number = static_cast<std::int64_t>(next);
    Query query = draw_.query(number, sizes_[next++]);
    query.logged.clear();
    return {.kind = NextStep::Kind::kAnswer, .issued = {std::move(query), number}};
  }
  void done(int /*lane*/, const IssuedQuery& /*issued*/, const Answered& /*answered*/) override {}

 private:
  SampleDraw& draw_;
  const std::vector<std::int64_t> sizes_;
  std::vector<std::size_t> next_;  // by lane: index in sizes_
};

}  // namespace evener::inference
