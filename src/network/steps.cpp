#include "network/steps.h"

#include <algorithm>
#include <numeric>
#include <variant>

namespace evener::network {
namespace {

using Layers = std::vector<Layer>;

template <class Op>
bool is(const Layers& layers, int index) {
  return index >= 0 && std::holds_alternative<Op>(layers[static_cast<std::size_t>(index)].op);
}

constexpr int kCaller = -1;  // reads the network's outputs

/// The layers that read each layer's result, and kCaller where it is an output of the network.
std::vector<std::vector<int>> readers_of(const Network& network) {
  const Layers& layers = network.layers();
  std::vector<std::vector<int>> readers(layers.size());
  for (const auto& output : network.outputs()) readers[static_cast<std::size_t>(output.layer)].push_back(kCaller);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const int input : layers[i].inputs) readers[static_cast<std::size_t>(input)].push_back(static_cast<int>(i));
  }
  return readers;
}

bool is_relu(const Layers& layers, int index) {
  if (!is<Activation>(layers, index)) return false;
  const auto kind = std::get<Activation>(layers[static_cast<std::size_t>(index)].op).kind;
  return kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6;
}

class StepCompiler {
 public:
  StepCompiler(const Network& network, Join join)
      : layers_(network.layers()), readers_(readers_of(network)), places_(layers_.size()), join_(join) {
    std::iota(places_.begin(), places_.end(), 0);
  }

  std::vector<Step> plan() {
    // Replicas exchange the sums of their batch normalisations one layer after another, so the layers' order must be
    // the same on replicas that join steps and on those that don't.
    if (join_ == Join::kNothing) take_steps(Join::kBatchNorm);
    take_steps(join_);
    std::stable_sort(steps_.begin(), steps_.end(), [&](const Step& a, const Step& b) {
      return places_[static_cast<std::size_t>(a.layer)] < places_[static_cast<std::size_t>(b.layer)];
    });
    plan_memory();
    return std::move(steps_);
  }

 private:
  void take_steps(Join join) {
    steps_.clear();
    taken_.assign(layers_.size(), false);
    for (int i = 0; i < static_cast<int>(layers_.size()); ++i) {
      if (!taken_[static_cast<std::size_t>(i)]) steps_.push_back(step_from(i, join));
    }
  }

  Step step_from(int index, Join join) {
    Step step;
    step.layer = step.output = index;
    step.inputs = layers_[static_cast<std::size_t>(index)].inputs;
    if (join == Join::kBatchNorm && joins_depthwise(step)) return step;
    const bool convolution = join == Join::kConvolutionToo && is<Conv2d>(layers_, index);
    if (!convolution && (join == Join::kNothing || !is<BatchNorm>(layers_, index))) return step;
    if (const int sum = only_reader(step.output); is<Add>(layers_, sum) && fits(step.output, sum)) {
      const auto& terms = layers_[static_cast<std::size_t>(sum)].inputs;
      step.inputs.push_back(terms[0] == index ? terms[1] : terms[0]);
      places_[static_cast<std::size_t>(index)] = sum;
      take(step, sum);
    }
    if (const int activation = only_reader(step.output);
        convolution ? is<Activation>(layers_, activation) : is_relu(layers_, activation)) {
      step.activation = activation;
      take(step, activation);
    }
    return step;
  }

  /// Extends a step that begins at a depthwise convolution or at the batch normalisation before it, as far as the
  /// layers have no other reader and follow one another, so that other batch normalisations keep their places.
  bool joins_depthwise(Step& step) {
    const auto next = [&](int index) { return only_reader(index) == index + 1 ? index + 1 : -1; };
    int convolution = step.layer;
    if (is<BatchNorm>(layers_, convolution)) {
      convolution = next(convolution);
      if (is_relu(layers_, convolution)) convolution = next(convolution);
    }
    if (!is<Conv2d>(layers_, convolution)) return false;
    const Layer& layer = layers_[static_cast<std::size_t>(convolution)];
    const Shape& input = layers_[static_cast<std::size_t>(layer.inputs.front())].shape;
    const int norm = next(convolution);
    if (!is_depthwise(std::get<Conv2d>(layer.op), input.front()) || !is<BatchNorm>(layers_, norm) ||
        is<Add>(layers_, only_reader(norm))) {
      return false;
    }
    step.depthwise = convolution;
    for (int i = step.layer + 1; i <= norm; ++i) take(step, i);
    if (is_relu(layers_, next(norm))) {
      step.activation = next(norm);
      take(step, step.activation);
    }
    return true;
  }

  int only_reader(int index) const {
    if (index < 0) return -1;
    const auto& readers = readers_[static_cast<std::size_t>(index)];
    return readers.size() == 1 ? readers.front() : -1;
  }

  /// Whether `term` may be joined with `sum`: a sum of two terms, which isn't joined with its other term yet.
  bool fits(int term, int sum) const {
    const auto& terms = layers_[static_cast<std::size_t>(sum)].inputs;
    return terms.size() == 2 && terms[0] != terms[1] && !taken_[static_cast<std::size_t>(sum)] && term != sum;
  }

  void take(Step& step, int layer) {
    step.output = layer;
    taken_[static_cast<std::size_t>(layer)] = true;
  }

  bool is_given_out(int layer) const {
    const auto& readers = readers_[static_cast<std::size_t>(layer)];
    return std::ranges::find(readers, kCaller) != readers.end();
  }

  /// Finds which results may be overwritten (they have one reader, and their layer's backward pass doesn't need them),
  /// and after which step each can be freed. Outputs of the network are neither overwritten nor freed.
  void plan_memory() {
    std::vector<int> reads(layers_.size(), 0), last_reader(layers_.size(), -1);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const int input : steps_[i].inputs) {
        ++reads[static_cast<std::size_t>(input)];
        last_reader[static_cast<std::size_t>(input)] = static_cast<int>(i);
      }
    }
    std::vector<bool> output_unneeded(layers_.size(), false);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Step& step = steps_[i];
      for (const int input : step.inputs) {
        const bool last = last_reader[static_cast<std::size_t>(input)] == static_cast<int>(i) && !is_given_out(input);
        if (last && std::find(step.dead.begin(), step.dead.end(), input) == step.dead.end()) step.dead.push_back(input);
      }
      const bool single = step.layer == step.output;
      output_unneeded[static_cast<std::size_t>(step.output)] =
          single && !is_given_out(step.output) &&
          is_one_of<BatchNorm, Conv2d, Linear, Add>(layers_[static_cast<std::size_t>(step.layer)].op);
      if (step.inputs.empty()) continue;
      const auto first = static_cast<std::size_t>(step.inputs.front());
      step.overwrites = single && reads[first] == 1 && output_unneeded[first];
    }
  }

  const Layers& layers_;
  const std::vector<std::vector<int>> readers_;
  std::vector<bool> taken_;  // whether each layer is joined with one before it
  std::vector<int> places_;  // the layer before which each layer is computed; a sum's other term exists by then
  const Join join_;
  std::vector<Step> steps_;
};

}  // namespace

bool is_depthwise(const Conv2d& op, std::int64_t in_channels) {
  const bool same_along_both = op.kernel.is_square() && op.stride.is_square() && op.padding.is_square();
  const std::int64_t taps = op.kernel.height;
  return op.groups > 1 && op.groups == in_channels && op.out_channels == op.groups && !op.bias && same_along_both &&
         (taps == 3 || taps == 5 || taps == 7) && op.padding.height < taps;
}

std::vector<Step> plan_steps(const Network& network, Join join) {
  return StepCompiler(network, join).plan();
}

}  // namespace evener::network
