#include "engine/torch/layer_times.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/torch/trainer.h"
#include "engine/torch/trainer_errors.h"

namespace evener::engine::torch_engine {

LayerClock::LayerClock(const network::Network& network, const Streams& streams)
    : network_(network), streams_(streams), last_s_(now()) {}

double LayerClock::now() const {
  Moment done(streams_);
  done.record(streams_.compute());
  done.wait();
  return now_s();
}

double LayerClock::lap() {
  const double before_s = last_s_;
  last_s_ = now();
  return last_s_ - before_s;
}

StepWatch LayerClock::watch() {
  return [this](const Step* step, const at::Tensor& output) { take(step, output); };
}

void LayerClock::take(const Step* step, const at::Tensor& output) {
  LayerTime time{.layers = {}, .what = "input"};
  if (step != nullptr) {
    time.layers = names_of(*step);
    time.what = network::op_name(network_.layers()[static_cast<std::size_t>(step->layer)].op);
  }
  time.forward_s = lap();
  times_.push_back(std::move(time));
  // A layer that hands on what it was given has no gradient of its own.
  if (!output.requires_grad() || !watched_.insert(output.grad_fn().get()).second) return;
  times_.back().backward_s = 0;
  output.register_hook([this, index = times_.size() - 1](const at::Tensor&) { gradient_came(index); });
}

/// The layers from the step's first to its last one, of which each reads the one before it.
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
  times_.push_back({.layers = {}, .what = "loss", .forward_s = lap(), .backward_s = 0});
  current_ = times_.size() - 1;
}

void LayerClock::gradient_came(std::size_t index) {
  *times_[current_].backward_s += lap();
  current_ = index;
}

void LayerClock::end_backward() {
  *times_[current_].backward_s += lap();
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
