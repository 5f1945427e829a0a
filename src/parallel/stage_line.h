// Inference with a network whose layers are divided over devices. The threads of each stage compute its layers and hand
// the results to the next stage, so several calls are under way at once, each at another stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"

namespace evener::parallel {

class StageLine {
 public:
  struct Stage {
    std::vector<std::unique_ptr<engine::Runner>> runners;  // alike; each has a thread of its own
    std::vector<std::string> sent;  // outputs that the next stage reads, in its order; empty for the last stage
  };

  /// What a stage's runners did since construction.
  struct Work {
    std::size_t runners = 0;
    std::int64_t calls = 0;
    double busy_s = 0;  // summed over the runners
  };

  explicit StageLine(std::vector<Stage> stages);
  /// Waits for calls that are under way.
  ~StageLine();
  StageLine(const StageLine&) = delete;
  StageLine& operator=(const StageLine&) = delete;

  /// By stage.
  std::vector<Work> work() const;

  /// Makes `count` runners of the whole network, which share ownership of the line. Each has one call under way at a
  /// time, so `count` bounds the calls that wait before a slow stage.
  static std::vector<std::unique_ptr<engine::Runner>> lanes(const std::shared_ptr<StageLine>& line, int count);

 private:
  struct Call;
  class Station;
  class Lane;

  void drive(std::size_t stage, engine::Runner& runner);
  void pass(std::size_t stage, engine::Runner& runner, Call& call);

  std::vector<std::unique_ptr<Station>> stations_;
};

}  // namespace evener::parallel
