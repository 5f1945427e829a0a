#include "bench/sample_draw.h"

#include <algorithm>

#include "base/random.h"

namespace evener::bench {
namespace {

/// A random stream for each purpose, so that equal seeds for two purposes don't give related choices.
Random stream(std::uint64_t seed, const char* what, std::int64_t number) {
  return Random(seed, Purpose::kOrder, hash_text(what), static_cast<std::uint64_t>(number));
}

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

}  // namespace evener::bench
