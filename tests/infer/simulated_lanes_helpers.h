// A system whose answers take as long as a test says, and lanes on which that time passes at once: what a scenario
// measures can then be compared with what is known, and a run of ten minutes takes a moment.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "infer/scenarios/lanes.h"

namespace evener::test {

class SimulatedSystem final : public inference::System {
 public:
  /// Seconds that a lane takes for a query.
  using Service = std::function<double(int lane, const inference::Query& query)>;
  explicit SimulatedSystem(Service service) : service_(std::move(service)) {}

  void load(std::span<const std::int64_t> samples) override { loaded.assign(samples.begin(), samples.end()); }
  inference::LatencyParts answer(int lane, const inference::Query& query) override;
  double took_s() const { return took_s_; }

  std::vector<std::int64_t> loaded;
  std::vector<inference::Query> answered;

 private:
  Service service_;
  double took_s_ = 0;
};

class SimulatedLanes final : public inference::Lanes {
 public:
  SimulatedLanes(SimulatedSystem& system, int lanes) : system_(system), lanes_(lanes) {}
  int count() const override { return lanes_; }
  void run(inference::QueryScheduler& scheduler) override;

 private:
  SimulatedSystem& system_;
  int lanes_;
};

/// A source of exponentially distributed times of this mean, the same ones in each program.
std::function<double()> exponential_times(double mean_s, std::uint64_t seed = 1);

}  // namespace evener::test
