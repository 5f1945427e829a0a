#include "network/step_memory.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/tensor.h"
#include "network/steps.h"

namespace evener::network {
namespace {

constexpr std::int64_t kValueBytes = 4;
constexpr std::int64_t kIndexBytes = 8;

template <class Op>
const Op* as(const Layer& layer) {
  return std::get_if<Op>(&layer.op);
}

/// Whether a layer's result is a view of its input.
bool is_view(const Layer& layer, const Shape& input) {
  if (as<Flatten>(layer) != nullptr) return input.size() < 3 || input[0] == 1 || input[1] * input[2] == 1;
  if (const auto* dropout = as<Dropout>(layer)) return dropout->probability == 0;
  return as<Input>(layer) != nullptr || as<Rows>(layer) != nullptr;
}

bool draws_mask(const Layer& layer) {
  const auto* dropout = as<Dropout>(layer);
  return dropout != nullptr && dropout->probability > 0;
}

/// Whether an activation saves its result for the backward pass; otherwise it saves its input.
bool keeps_result(ActivationKind kind) {
  return kind == ActivationKind::kRelu || kind == ActivationKind::kSigmoid || kind == ActivationKind::kTanh;
}

bool may_overwrite(ActivationKind kind) {
  return keeps_result(kind) || kind == ActivationKind::kRelu6;
}

/// Simulates the forward and backward pass of engine::torch_engine::Graph, and notes the memory in use after each
/// allocation.
class Walk {
 public:
  Walk(const Network& network, const StepOptions& options)
      : layers_(network.layers()),
        options_(options),
        steps_(plan_steps(network, Join::kBatchNorm)),
        needed_(options.is_first ? needs_gradient(network) : std::vector<bool>(layers_.size(), true)),
        weights_(layers_.size()),
        held_(layers_.size()),
        gradient_(layers_.size(), kNone),
        kept_(steps_.size()),
        network_(network) {
    for (const Parameter& parameter : network.parameters()) {
      if (parameter.trained) weights_[at(parameter.layer)] += element_count(parameter.shape);
    }
    if (!options.adds_up) return;
    for (const std::int64_t values : weights_) take({values * kValueBytes, 0});
  }

  std::vector<Bytes> moments() {
    const Bytes before = now_;
    for (std::size_t s = 0; s < steps_.size(); ++s) forward(s);
    kept_of_all_ = now_;
    kept_of_all_ -= before;
    compute_loss();
    for (std::size_t s = steps_.size(); s-- > 0;) backward(s);
    return std::move(moments_);
  }
  /// Between the two passes. After moments().
  const Bytes& kept() const { return kept_of_all_; }

 private:
  static constexpr int kNone = -1;
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::int64_t value_bytes() const { return options_.bits / 8; }

  /// Allocates a block of memory, which may have several owners.
  int take(const Bytes& size) {
    blocks_.push_back({size, 1});
    now_ += size;
    moments_.push_back(now_);
    return static_cast<int>(blocks_.size()) - 1;
  }
  void hold(int block) { ++blocks_[at(block)].holders; }
  void leave(int block) {
    if (block == kNone) return;
    Block& left = blocks_[at(block)];
    if (--left.holders == 0) now_ -= left.size;
  }
  Bytes values_of(int layer) const { return {0, element_count(layers_[at(layer)].shape) * value_bytes()}; }

  /// Memory that exists only while a layer computes.
  void pass(const Bytes& size) { leave(take(size)); }

  void keep(std::size_t step, int block) {
    hold(block);
    kept_[step].push_back(block);
  }

  void keep_for_backward(std::size_t s) {
    const Step& step = steps_[s];
    const Layer& layer = layers_[at(step.layer)];
    const int in = held_[at(step.inputs.front())], out = held_[at(step.output)];
    if (step.depthwise >= 0) {
      keep(s, in);
    } else if (as<Conv2d>(layer) != nullptr || as<Linear>(layer) != nullptr) {
      keep(s, in);
      if (options_.bits < 32) kept_[s].push_back(take({weights_[at(step.layer)] * value_bytes(), 0}));
    } else if (as<BatchNorm>(layer) != nullptr) {
      keep(s, in);
      if (step.inputs.size() > 1 && step.activation >= 0) keep(s, out);
    } else if (const auto* activation = as<Activation>(layer)) {
      keep(s, in == out || keeps_result(activation->kind) ? out : in);
    } else if (as<MaxPool>(layer) != nullptr) {
      keep(s, in);
      kept_[s].push_back(take({0, element_count(layer.shape) * kIndexBytes}));
    } else if (as<AveragePool>(layer) != nullptr || as<PRelu>(layer) != nullptr || as<FakeQuantize>(layer) != nullptr) {
      keep(s, in);
    } else if (as<Multiply>(layer) != nullptr) {
      for (const int input : step.inputs) keep(s, held_[at(input)]);
    }
  }

  int result_of(const Step& step) {
    const Layer& layer = layers_[at(step.layer)];
    const int in = held_[at(step.inputs.front())];
    const auto* activation = as<Activation>(layer);
    const bool in_place =
        step.overwrites && (as<Add>(layer) != nullptr || (activation != nullptr && may_overwrite(activation->kind)));
    if (!in_place && !is_view(layer, layers_[at(step.inputs.front())].shape)) return take(values_of(step.output));
    hold(in);
    return in;
  }

  void forward(std::size_t s) {
    const Step& step = steps_[s];
    if (step.inputs.empty()) {
      if (!options_.is_first) {
        held_[at(step.output)] = take(options_.copies_inputs ? values_of(step.output) : Bytes{});
        return;
      }
      // Pixels are converted to floats first.
      const Bytes floats{0, element_count(layers_[at(step.output)].shape) * kValueBytes};
      const int wide = take(floats);
      held_[at(step.output)] = wide;
      if (options_.bits == 32) return;
      held_[at(step.output)] = take(values_of(step.output));
      return leave(wide);
    }
    const Layer& layer = layers_[at(step.layer)];
    if (draws_mask(layer)) {
      // Masks are really drawn before the first layer; allocating them here gives the same peak.
      kept_[s].push_back(take({0, element_count(layer.shape) * kValueBytes}));
    }
    const int filtered = step.depthwise >= 0 ? take(values_of(step.depthwise)) : kNone;
    held_[at(step.output)] = result_of(step);
    if (as<Conv2d>(layer) != nullptr) pass({scratch_bytes(step.layer), 0});
    if (needed_[at(step.output)]) {
      keep_for_backward(s);
      if (filtered != kNone) keep(s, filtered);
    }
    leave(filtered);
    for (const int dead : step.dead) leave(held_[at(dead)]);
  }

  /// The loss: scores, their logarithms and gradients are floats.
  void compute_loss() {
    std::vector<int> found;
    for (const Output& output : network_.outputs()) {
      if (!options_.is_last) break;
      const Bytes floats{0, 3 * element_count(layers_[at(output.layer)].shape) * kValueBytes};
      found.push_back(take(floats));
    }
    for (const int block : found) leave(block);
    for (const Output& output : network_.outputs()) {
      leave(held_[at(output.layer)]);
      if (gradient_[at(output.layer)] == kNone) gradient_[at(output.layer)] = take(values_of(output.layer));
    }
  }

  /// Adds `block`, the gradient that a reader has computed, to that of the layer's result, and releases the block.
  void give(int layer, int block) {
    int& sum = gradient_[at(layer)];
    if (sum == kNone) {
      sum = block;
      return;
    }
    if (blocks_[at(sum)].holders > 1) {
      const int added = take(values_of(layer));
      leave(sum);
      sum = added;
    }
    leave(block);
  }

  void backward(std::size_t s) {
    const Step& step = steps_[s];
    const int dy = gradient_[at(step.output)];
    if (!step.inputs.empty() && dy != kNone && needed_[at(step.output)]) {
      const Layer& layer = layers_[at(step.layer)];
      const std::vector<int> given = gradients_of(step, dy);
      if (as<Conv2d>(layer) != nullptr) pass({scratch_bytes(step.layer), 0});
      take_weight_gradient(step.layer);
      for (int i = step.layer + 1; step.depthwise >= 0 && i <= step.output; ++i) take_weight_gradient(i);
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] != kNone) give(step.inputs[i], given[i]);
      }
    }
    leave(dy);
    for (const int block : kept_[s]) leave(block);
  }

  /// Allocates the gradients of a step's inputs.
  std::vector<int> gradients_of(const Step& step, int dy) {
    const Layer& layer = layers_[at(step.layer)];
    const bool joined = step.inputs.size() > 1 && as<BatchNorm>(layer) != nullptr;
    const bool passes_on = as<Add>(layer) != nullptr || is_view(layer, layers_[at(step.inputs.front())].shape);
    std::vector<int> given(step.inputs.size(), kNone);
    // The products whose sums over the pixels of a channel are the factor's gradient.
    if (as<Multiply>(layer) != nullptr) pass(values_of(step.output));
    for (std::size_t i = step.inputs.size(); i-- > 0;) {  // the gradient of a sum's other term comes first
      const int input = step.inputs[i];
      const bool as_it_is = passes_on || (joined && i > 0 && step.activation < 0);
      if (!needed_[at(input)]) continue;
      if (as_it_is) hold(dy);
      given[i] = as_it_is ? dy : take(values_of(input));
    }
    return given;
  }

  void take_weight_gradient(int layer) {
    const std::int64_t values = weights_[at(layer)];
    if (values == 0) return;
    if (options_.bits < 32) pass({values * value_bytes(), 0});
    const int found = take({values * kValueBytes, 0});
    if (options_.adds_up) leave(found);
  }

  /// Scratch of a convolution: reordered weights, and each thread's sums of their gradients.
  std::int64_t scratch_bytes(int layer) const {
    return options_.has_scratch ? (1 + options_.threads) * weights_[at(layer)] * kValueBytes : 0;
  }

  struct Block {
    Bytes size;
    int holders = 0;
  };

  const std::vector<Layer>& layers_;
  const StepOptions options_;
  const std::vector<Step> steps_;
  const std::vector<bool> needed_;
  std::vector<std::int64_t> weights_;   // number of trained values in each layer
  std::vector<int> held_;               // the block of each layer's result
  std::vector<int> gradient_;           // the block of that result's gradient
  std::vector<std::vector<int>> kept_;  // blocks kept by each step for its backward pass
  std::vector<Block> blocks_;
  Bytes now_, kept_of_all_;
  std::vector<Bytes> moments_;
  const Network& network_;
};

/// Drops the moments that another one equals or exceeds in both parts: they never are the peak.
std::vector<Bytes> largest_of(std::vector<Bytes> moments) {
  std::ranges::sort(moments, [](const Bytes& a, const Bytes& b) {
    return std::pair(a.per_sample, a.fixed) > std::pair(b.per_sample, b.fixed);
  });
  std::vector<Bytes> kept;
  for (const Bytes& moment : moments) {
    if (kept.empty() || moment.fixed > kept.back().fixed) kept.push_back(moment);
  }
  return kept;
}

}  // namespace

std::vector<bool> needs_gradient(const Network& network) {
  std::vector<bool> needed(network.layers().size());
  for (const Parameter& parameter : network.parameters()) {
    if (parameter.trained) needed[static_cast<std::size_t>(parameter.layer)] = true;
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    for (const int input : network.layers()[i].inputs) needed[i] = needed[i] || needed[static_cast<std::size_t>(input)];
  }
  return needed;
}

Bytes& Bytes::operator+=(const Bytes& other) {
  fixed += other.fixed;
  per_sample += other.per_sample;
  return *this;
}

Bytes& Bytes::operator-=(const Bytes& other) {
  fixed -= other.fixed;
  per_sample -= other.per_sample;
  return *this;
}

StepMemory::StepMemory(const Network& network, const StepOptions& options) {
  Walk walk(network, options);
  moments_ = largest_of(walk.moments());
  kept_ = walk.kept();
}

std::int64_t StepMemory::peak_bytes(std::int64_t samples) const {
  std::int64_t most = 0;
  for (const Bytes& moment : moments_) most = std::max(most, moment.of(samples));
  return most;
}

}  // namespace evener::network
