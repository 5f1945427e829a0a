// Which samples queries ask for, keyed by their seeds. Inside bench/ and its tests only.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/scenario.h"
#include "bench/system.h"

namespace evener::bench {

/// `count` of the samples 0..samples-1, each once, in random order; all of them where there are no more.
std::vector<std::int64_t> draw_sample_set(std::int64_t samples, std::int64_t count, std::uint64_t seed);

class SampleDraw {
 public:
  SampleDraw(std::vector<std::int64_t> set, const ScenarioOptions& options);

  /// The samples of a query: any of the set, each time anew.
  Query query(std::int64_t number, std::int64_t samples) const;
  /// The samples at places `first` and following of an endless row in which the whole set comes again and again, each
  /// time in another order.
  Query of_row(std::int64_t first, std::int64_t samples);

 private:
  void mark_logged(Query& query, std::int64_t first) const;

  std::vector<std::int64_t> set_;
  ScenarioSeeds seeds_;
  double logged_share_;
  std::vector<std::uint32_t> order_;  // of the set, in its present round
  std::int64_t round_ = -1;
};

}  // namespace evener::bench
