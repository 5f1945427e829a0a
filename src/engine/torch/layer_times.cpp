#include <algorithm>

#include "base/clock.h"
#include "engine/torch/device.h"
#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {

LayerClock::LayerClock(const network::Network& network, const Streams& streams) : network_(network), streams_(streams) {
  lap(0, false);
}

void LayerClock::lap(std::size_t index, bool is_backward) {
  Lap& lap = laps_.emplace_back(Lap{Moment(streams_, /*timed=*/true), 0, index, is_backward});
  lap.moment.record(streams_.compute());
  lap.host_s = now_s();
}

std::vector<LayerTime> LayerClock::times() {
  laps_.back().moment.wait();
  for (std::size_t i = 1; i < laps_.size(); ++i) {
    const Lap &lap = laps_[i], &before = laps_[i - 1];
    const double seconds =
        streams_.asynchronous() ? lap.moment.seconds_since(before.moment) : lap.host_s - before.host_s;
    LayerTime& time = times_[lap.index];
    if (lap.is_backward) {
      time.backward_s = time.backward_s.value_or(0) + seconds;
    } else {
      time.forward_s += seconds;
    }
  }
  laps_.erase(laps_.begin(), laps_.end() - 1);
  return times_;
}

StepWatch LayerClock::watch() {
  return [this](const Step* step, const at::Tensor& output) { take(step, output); };
}

void LayerClock::take(const Step* step, const at::Tensor& output) {
  LayerTime time{.layers = {}, .what = "input"};
  if (step != nullptr) {
    time.layers = names_of(*step);
    const int layer = step->depthwise >= 0 ? step->depthwise : step->layer;
    time.what = network::op_name(network_.layers()[static_cast<std::size_t>(layer)].op);
  }
  times_.push_back(std::move(time));
  lap(times_.size() - 1, false);
  // A layer that returns its input has no gradient node of its own.
  if (!output.requires_grad() || !watched_.insert(output.grad_fn().get()).second) return;
  times_.back().backward_s = 0;
  output.register_hook([this, index = times_.size() - 1](const at::Tensor&) { gradient_came(index); });
}

/// Names of the step's layers, from the first to the last, each of which reads the one before.
std::vector<std::string> LayerClock::names_of(const Step& step) const {
  std::vector<std::string> names;
  for (int index = step.output; index != step.layer;) {
    const network::Layer& layer = network_.layers()[static_cast<std::size_t>(index)];
    names.push_back(layer.name);
    const bool reads_first = std::ranges::find(layer.inputs, step.layer) != layer.inputs.end();
    index = reads_first ? step.layer : layer.inputs.front();
  }
  names.push_back(network_.layers()[static_cast<std::size_t>(step.layer)].name);
  std::ranges::reverse(names);
  return names;
}

void LayerClock::end_forward() {
  times_.push_back({.layers = {}, .what = "loss", .backward_s = 0});
  current_ = times_.size() - 1;
  lap(current_, false);
}

void LayerClock::gradient_came(std::size_t index) {
  lap(current_, true);
  current_ = index;
}

void LayerClock::end_backward() {
  lap(current_, true);
}

std::vector<LayerTime> TorchTrainer::time_layers(const data::Batch& batch) {
  clear_gradients();
  const WorkingIn compute(streams_.compute());
  return with_trainer_errors(graph_.network(), options_, batch.count, [&] {
    LayerClock clock(graph_.network(), streams_);
    step_watch_ = clock.watch();
    try {
      if (ahead_) {
        Feed::Slot& slot = feed_->put(batch, /*training=*/true, /*learning_rate=*/0, /*weight=*/1);
        const CriterionResult found = forward(slot.batch, /*training=*/true);
        clock.end_forward();
        backward(found.loss, slot.batch.numbers[1]);
        feed_->release(slot);
      } else {
        Pass pass = forward_on_host(batch, /*training=*/true);
        pass.outputs.clear();
        clock.end_forward();
        backward(pass.found.loss, at::scalar_tensor(1, at::kFloat));
      }
    } catch (...) {
      step_watch_ = {};
      throw;
    }
    step_watch_ = {};
    clock.end_backward();
    clear_gradients();
    return clock.times();
  });
}

}  // namespace evener::engine::torch_engine
