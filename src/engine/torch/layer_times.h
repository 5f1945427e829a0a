// The time of each layer of one forward pass, and of the backward pass after it. The device is waited for at each end.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <set>
#include <vector>

#include "engine/layer_times.h"
#include "engine/torch/streams.h"
#include "network/network.h"
#include "network/steps.h"

namespace evener::engine::torch_engine {

using network::Step;

/// Told of each step of a forward pass with its output; null = the steps begin, with their input.
using StepWatch = std::function<void(const Step* step, const at::Tensor& output)>;

/// Outlives the backward pass that it watches.
class LayerClock {
 public:
  /// The forward pass begins.
  LayerClock(const network::Network& network, const Streams& streams);
  LayerClock(const LayerClock&) = delete;
  LayerClock& operator=(const LayerClock&) = delete;

  /// To be given to Graph::forward_outputs.
  StepWatch watch();
  /// The forward pass has ended: what came after the last step was the loss.
  void end_forward();
  /// Autograd goes back through the layers in the order opposite to that in which they were computed, and says when it
  /// has each one's gradient: from then until the next one's it computes what lies before this layer's output.
  void end_backward();
  std::vector<LayerTime> times() const { return times_; }

 private:
  double now() const;
  /// Seconds since the last call.
  double lap();
  void take(const Step* step, const at::Tensor& output);
  std::vector<std::string> names_of(const Step& step) const;
  void gradient_came(std::size_t index);

  const network::Network& network_;
  const Streams& streams_;
  std::vector<LayerTime> times_;
  std::set<const void*> watched_;  // nodes of the gradients whose arrival is told
  std::size_t current_ = 0;        // whose backward is under way
  double last_s_ = 0;
};

}  // namespace evener::engine::torch_engine
