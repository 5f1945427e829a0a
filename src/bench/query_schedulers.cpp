#include "bench/query_schedulers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/stop.h"

namespace evener::bench {
namespace {

/// A random stream for each purpose, so that equal seeds for two purposes don't give related choices.
Random stream(std::uint64_t seed, const char* what, std::int64_t number) {
  return Random(seed, Purpose::kOrder, hash_text(what), static_cast<std::uint64_t>(number));
}

constexpr double kBetweenProgress_s = 0.25;

}  // namespace

std::vector<std::int64_t> draw_sample_set(std::int64_t samples, std::int64_t count, std::uint64_t seed) {
  const std::vector<std::uint32_t> order =
      permutation(static_cast<std::uint32_t>(samples), stream(seed, "sample set", 0));
  const auto taken = static_cast<std::ptrdiff_t>(std::min(samples, count));
  return {order.begin(), order.begin() + taken};
}

SampleDraw::SampleDraw(std::vector<std::int64_t> set, const ScenarioOptions& options)
    : set_(std::move(set)), seeds_(options.seeds), logged_share_(options.accuracy_log_share) {}

Query SampleDraw::query(std::int64_t number, std::int64_t samples) const {
  Random random = stream(seeds_.sample_index, "sample index", number);
  Query query;
  for (std::int64_t n = 0; n < samples; ++n) query.samples.push_back(set_[random.below(set_.size())]);
  mark_logged(query, number * samples);
  return query;
}

Query SampleDraw::of_row(std::int64_t first, std::int64_t samples) {
  Query query;
  for (std::int64_t place = first; place < first + samples; ++place) {
    const auto size = static_cast<std::int64_t>(set_.size());
    if (place / size != round_) {
      round_ = place / size;
      order_ = permutation(static_cast<std::uint32_t>(size), stream(seeds_.sample_index, "round", round_));
    }
    query.samples.push_back(set_[order_[static_cast<std::size_t>(place % size)]]);
  }
  mark_logged(query, first);
  return query;
}

void SampleDraw::mark_logged(Query& query, std::int64_t first) const {
  if (logged_share_ <= 0) return;
  for (std::size_t n = 0; n < query.samples.size(); ++n) {
    Random random = stream(seeds_.accuracy_log, "accuracy log", first + static_cast<std::int64_t>(n));
    if (random.uniform() < logged_share_) query.logged.push_back(n);
  }
}

bool LoggingScheduler::is_over(double now_s, std::int64_t count, std::int64_t logged) {
  log_.complete = now_s >= extent_.min_s && count >= extent_.min_queries;
  log_.full = !log_.complete && logged >= extent_.max_queries;
  return log_.complete || log_.full || (extent_.max_s && now_s >= *extent_.max_s);
}

void LoggingScheduler::add(const AnsweredQuery& query) {
  const double end_s = query.scheduled_s + query.latency_s;
  log_.queries.push_back(query);
  log_.samples += query.samples;
  log_.seconds = std::max(log_.seconds, end_s);
  if (!progress_ || end_s - told_s_ < kBetweenProgress_s) return;
  told_s_ = end_s;
  progress_(end_s, static_cast<std::int64_t>(log_.queries.size()));
}

StreamScheduler::StreamScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t samples,
                                 int lanes, std::int64_t largest_batch)
    : LoggingScheduler(draw, extent, std::move(progress)),
      samples_(samples),
      samples_each_(std::min(largest_batch, (samples + lanes - 1) / lanes)) {}

void StreamScheduler::ask(double now_s) {
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

NextStep StreamScheduler::next(int /*lane*/, double now_s) {
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

void StreamScheduler::done(int lane, const IssuedQuery& /*issued*/, const Answered& answered) {
  --in_hand_;
  const double latency_s = answered.end_s - asked_s_;
  if (latency_s >= answer_.latency_s) {
    answer_.latency_s = latency_s;
    answer_.parts_s = parts_of(answered.begin_s - asked_s_, answered.parts);
    answer_.lane = lane;
  }
  if (unissued_.empty() && in_hand_ == 0) add(answer_);
}

ServerScheduler::ServerScheduler(SampleDraw& draw, const Extent& extent, Progress progress, std::int64_t largest_batch,
                                 double rate, double limit_s, std::optional<std::int64_t> allowed_late,
                                 std::uint64_t schedule_seed)
    : LoggingScheduler(draw, extent, std::move(progress)),
      largest_batch_(largest_batch),
      rate_(rate),
      limit_s_(limit_s),
      allowed_late_(allowed_late),
      schedule_(schedule_seed, Purpose::kOrder, hash_text("schedule")) {}

void ServerScheduler::let_arrive(double now_s) {
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

NextStep ServerScheduler::next(int /*lane*/, double now_s) {
  let_arrive(now_s);
  const bool waiting = taken_ < arrived_s_.size();
  if (log_.hopeless || (closed_ && !waiting)) return {};
  if (stop_requested()) {
    log_.stopped = true;
    return {};
  }
  if (!waiting) return {.kind = NextStep::Kind::kWait, .until_s = next_arrival_s_};
  NextStep step{.kind = NextStep::Kind::kAnswer, .issued = {.query = {}, .number = static_cast<std::int64_t>(taken_)}};
  const std::size_t end = std::min(arrived_s_.size(), taken_ + static_cast<std::size_t>(largest_batch_));
  for (; taken_ < end; ++taken_) {
    const Query one = draw_.query(static_cast<std::int64_t>(taken_), 1);
    Query& together = step.issued.query;
    if (!one.logged.empty()) together.logged.push_back(together.samples.size());
    together.samples.push_back(one.samples.front());
  }
  return step;
}

void ServerScheduler::done(int lane, const IssuedQuery& issued, const Answered& answered) {
  for (std::size_t n = 0; n < issued.query.samples.size(); ++n) {
    const double arrived_s = arrived_s_[static_cast<std::size_t>(issued.number) + n];
    AnsweredQuery query{.scheduled_s = arrived_s, .latency_s = answered.end_s - arrived_s, .samples = 1, .lane = lane};
    query.parts_s = parts_of(answered.begin_s - arrived_s, answered.parts);
    if (query.latency_s > limit_s_) ++log_.late;
    add(query);
  }
  if (allowed_late_ && log_.late > *allowed_late_) log_.hopeless = true;
}

std::optional<double> ServerScheduler::arrival_rate() const {
  if (arrived_s_.size() < 2) return std::nullopt;
  return static_cast<double>(arrived_s_.size() - 1) / arrived_s_.back();
}

NextStep OfflineScheduler::next(int /*lane*/, double now_s) {
  if (is_over(now_s, issued_, issued_ / batch_)) return {};
  if (stop_requested()) {
    log_.stopped = true;
    return {};
  }
  NextStep step{.kind = NextStep::Kind::kAnswer, .issued = {draw_.of_row(issued_, batch_), issued_}};
  issued_ += batch_;
  return step;
}

void OfflineScheduler::done(int lane, const IssuedQuery& issued, const Answered& answered) {
  AnsweredQuery batch{.scheduled_s = answered.begin_s, .latency_s = answered.end_s - answered.begin_s, .lane = lane};
  batch.samples = static_cast<std::int32_t>(issued.query.samples.size());
  batch.parts_s = parts_of(0, answered.parts);
  add(batch);
}

NextStep WarmUpScheduler::next(int lane, double /*now_s*/) {
  std::size_t& next = next_[static_cast<std::size_t>(lane)];
  if (next == sizes_.size() || stop_requested()) return {};
  const auto number = static_cast<std::int64_t>(next);
  Query query = draw_.query(number, sizes_[next++]);
  query.logged.clear();
  return {.kind = NextStep::Kind::kAnswer, .issued = {std::move(query), number}};
}

void WarmUpScheduler::done(int lane, const IssuedQuery& /*issued*/, const Answered& answered) {
  if (lane == 0) last_s_ = answered.end_s - answered.begin_s;
}

}  // namespace evener::bench
