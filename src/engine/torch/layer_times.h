// Measures the time of each layer in one forward pass and the backward pass after it, by the device's own clock.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "engine/runner.h"
#include "engine/torch/streams.h"
#include "network/network.h"
#include "network/steps.h"

namespace evener::engine::torch_engine {

using network::Step;

/// Called after each step of a forward pass with its output, and first with null and the input of the first step.
using StepWatch = std::function<void(const Step* step, const at::Tensor& output)>;

/// The clock of one forward and backward pass; must outlive the backward pass.
class LayerClock {
 public:
  /// The forward pass begins with the construction.
  LayerClock(const network::Network& network, const Streams& streams);
  LayerClock(const LayerClock&) = delete;
  LayerClock& operator=(const LayerClock&) = delete;

  /// The argument `watch` for Graph::forward_outputs.
  StepWatch watch();
  /// To be called when the forward pass has ended: the time since the last step is the loss's.
  void end_forward();
  /// To be called when the backward pass has ended. Autograd goes through the layers in reverse order, and hooks record
  /// when the gradient of each layer's output is ready: the time from then to the next layer's gradient is this
  /// layer's.
  void end_backward();
  /// Waits for the device and returns the times.
  std::vector<LayerTime> times();

 private:
  /// A border between layers: the end of entry `index` of times_, in the forward or the backward pass.
  struct Lap {
    Moment moment;
    double host_s = 0;  // for a device whose calls return when their work is done
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
  std::set<const void*> watched_;  // autograd nodes that have a hook
  std::size_t current_ = 0;        // whose backward is under way
  std::vector<Lap> laps_;          // the first one: the beginning
};

}  // namespace evener::engine::torch_engine
