// Training steps that the host doesn't wait for: their results stay on the device and are fetched several at a time.
// Where the device can record work, a step is recorded after some ordinary ones, and replayed as a whole from then on.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/native_mlp/device/accelerator.h"
#include "engine/native_mlp/device/feed.h"
#include "engine/native_mlp/device/mlp.h"

namespace evener::engine::native_mlp {

class DeviceSteps {
 public:
  /// `average`: each step updates the average of the weights. `replay`: as TrainerOptions::step_graph.
  DeviceSteps(Accelerator& accelerator, DeviceFeed& feed, DeviceMlp& mlp, bool average, bool replay);

  /// Enqueues a step on the device, and reports those earlier steps whose results have arrived.
  StepReport run(const data::Batch& batch, Header header);
  /// Waits for the steps that were not reported yet, and reports them.
  StepReport settle();
  /// To be called when weights were loaded: steps go on, even if an earlier loss was not finite.
  void restart();
  /// Drops the recorded step, which refers to device memory that was reallocated.
  void forget();

  /// The median times of a step's phases over the timed steps, in seconds.
  std::map<std::string, double> phases_s() const;
  /// A sentence about how steps were run; "" before the first.
  std::string note() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// Consecutive results on their way to the host.
  struct Fetch {
    std::size_t first = 0, count = 0;
    std::unique_ptr<Moment> landed;
  };
  void launch(const DeviceBatch& batch, std::vector<std::unique_ptr<Moment>>* moments);
  void launch_timed(const DeviceBatch& batch, std::unique_ptr<Moment> before_copy);
  void replay(const DeviceBatch& batch);
  void fetch();
  StepReport report_until(std::size_t left);

  Accelerator& accelerator_;
  DeviceFeed& feed_;
  DeviceMlp& mlp_;
  const bool average_;
  bool replay_;
  std::unique_ptr<HostMemory> results_;  // DeviceResult [DeviceMlp::kStepResults]
  std::vector<std::int64_t> counts_;     // samples of the step in each place
  std::size_t next_ = 0, unread_ = 0;    // place of the next step; steps not fetched yet, before it
  Clock::time_point fetched_at_;
  std::deque<Fetch> fetches_;
  std::unique_ptr<Recording> recording_;
  std::int64_t recorded_count_ = 0, same_count_ = 0, last_count_ = 0, steps_ = 0, replayed_ = 0;
  bool recorded_mixed_ = false;
  int recorded_moves_ = 0;
  std::map<std::string, std::vector<double>> times_s_;
};

}  // namespace evener::engine::native_mlp
