// The time of each layer of one forward pass, and of the backward pass after it, by the device's own clock.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
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
  /// Waits for the device.
  std::vector<LayerTime> times();

 private:
  /// A border between layers: the end of what one of times_ took, in the forward or in the backward pass.
  struct Lap {
    Moment moment;
    double host_s = 0;  // of a device that has done everything when a call returns
    std::size_t index = 0;
    bool is_backward = false;
  };
  void lap(std::size_t index, bool is_backward);
  void take(const Step* step, const at::Tensor& output);
  std::vector<std::string> names_of(const Step& step) const;
  void gradient_came(std::size_t index);

  const network::Network& network_;
  const Streams& streams_;
  std::vector<LayerTime> times_;
  std::set<const void*> watched_;  // nodes of the gradients whose arrival is told
  std::size_t current_ = 0;        // whose backward is under way
  std::vector<Lap> laps_;          // the first one: the beginning
};

}  // namespace evener::engine::torch_engine
