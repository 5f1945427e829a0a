// Calls on a trained network whose layers are divided over devices. Threads of each stage compute its stretch of the
// layers and hand on what the next one reads, while calls before and after it are at other stages.
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
    std::vector<std::unique_ptr<engine::Runner>> runners;  // alike; a thread drives each
    std::vector<std::string> sent;  // the outputs that the next stage takes, in its order; of the last stage none
  };

  /// What the runners of a stage did.
  struct Work {
    std::size_t runners = 0;
    std::int64_t calls = 0;
    double busy_s = 0;  // of all runners together
  };

  explicit StageLine(std::vector<Stage> stages);
  /// Lets calls that are under way come to their end.
  ~StageLine();
  StageLine(const StageLine&) = delete;
  StageLine& operator=(const StageLine&) = delete;

  /// Since construction, by stage.
  std::vector<Work> work() const;

  /// As many runners of the whole network, which keep the line: each has one call under way at a time, so that there
  /// are never more of them in the line, and what waits before a slow stage is bounded.
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
