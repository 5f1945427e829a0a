// Draws the samples that queries ask for, reproducibly from seeds. Inside bench/ and its tests only.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace evener::bench
