// The interface of what a scenario measures: anything that answers queries about samples. A scenario refers to samples
// by their numbers only, and a system knows nothing of scenarios.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace evener::inference {

/// Samples to be answered together.
struct Query {
  std::vector<std::int64_t> samples;
  std::vector<std::size_t> logged;  // indices in `samples` whose answers are to be kept, to check accuracy later
};

/// The consecutive parts of the time of an answer. Parts that the system doesn't know are absent.
struct LatencyParts {
  std::optional<double> queue_s;       // waiting inside the system; the wait for a lane is added by the scenario
  std::optional<double> preprocess_s;  // making inputs from stored samples
  std::optional<double> copy_s;        // to the device and back
  std::optional<double> compute_s;
  std::optional<double> postprocess_s;  // making answers from outputs
};

class System {
 public:
  virtual ~System() = default;

  /// Called before any query with all samples that queries will ask for. Loading them into memory here is not measured.
  virtual void load(std::span<const std::int64_t> /*samples*/) {}
  /// Called on each lane's thread before its first query, to pin the thread and open the device. Not measured.
  virtual void begin_lane(int /*lane*/) {}
  /// Answers the query and returns when all answers are there. Called concurrently by different lanes, but by each lane
  /// for one query at a time. An exception ends the scenario and is rethrown by run_scenario().
  virtual LatencyParts answer(int lane, const Query& query) = 0;
};

}  // namespace evener::inference
