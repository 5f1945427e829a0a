// What a scenario measures: anything that answers queries about samples. The scenario knows samples by their numbers
// alone, and the system knows nothing of scenarios.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace evener::bench {

/// Samples to answer together.
struct Query {
  std::vector<std::int64_t> samples;
  std::vector<std::size_t> logged;  // places in `samples` whose answers are to be kept, so that they can be checked
};

/// What the time of an answer went into, as far as the system knows; one part follows the other.
struct LatencyParts {
  std::optional<double> queue_s;       // waiting inside the system; waiting for a lane is measured for it
  std::optional<double> preprocess_s;  // making inputs of what a sample is kept as
  std::optional<double> copy_s;        // to the device and back
  std::optional<double> compute_s;
  std::optional<double> postprocess_s;  // making answers of outputs
};

class System {
 public:
  virtual ~System() = default;

  /// Queries will ask for these samples and no others: the time to bring them to memory, which is not measured.
  virtual void load(std::span<const std::int64_t> /*samples*/) {}
  /// Called in the thread of each lane, before its first query: the time to pin it, and to open what it computes on.
  virtual void begin_lane(int /*lane*/) {}
  /// Answers, and returns when all answers are there. Lanes answer at the same time, each one query after the other.
  /// What it throws ends the scenario, and is thrown by run_scenario().
  virtual LatencyParts answer(int lane, const Query& query) = 0;
};

}  // namespace evener::bench
