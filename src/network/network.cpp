// The graph itself: keeps layers in topological order; shapes and parameters come from infer.cpp.
#include "network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/tensor.h"
#include "network/infer.h"

namespace evener::network {
namespace {

// In the order of the alternatives of Op.
constexpr std::array<const char*, std::variant_size_v<Op>> kOpNames = {
    "input",  "linear",           "conv2d",  "batch_norm",    "activation", "max_pool", "global_pool",
    "add",    "flatten",          "dropout", "subsample_pad", "prelu",      "avg_pool", "multiply",
    "concat", "stochastic_depth", "scale",   "fake_quantize", "rows",       "pad"};

constexpr std::int64_t kMaxInputExtent = 1 << 20;  // a million pixels a side

}  // namespace

const char* op_name(const Op& op) {
  if (const auto* activation = std::get_if<Activation>(&op)) {
    switch (activation->kind) {
      case ActivationKind::kRelu:
        return "relu";
      case ActivationKind::kRelu6:
        return "relu6";
      case ActivationKind::kSigmoid:
        return "sigmoid";
      case ActivationKind::kTanh:
        return "tanh";
      case ActivationKind::kSilu:
        return "silu";
      case ActivationKind::kHardSwish:
        return "hard_swish";
      case ActivationKind::kHardSigmoid:
        return "hard_sigmoid";
    }
  }
  return kOpNames[op.index()];
}

Network::Network(std::string model, Shape input) : model_(std::move(model)) {
  const bool fits = (input.size() == 1 || input.size() == 3) && std::ranges::all_of(input, [](std::int64_t extent) {
                      return extent >= 1 && extent <= kMaxInputExtent;
                    });
  if (!fits) {
    throw Error(
        fmt::format("{}: the input must be a vector (F) or an image (C, H, W) with extents from 1 to {}; it is {}",
                    model_, kMaxInputExtent, shape_text(input)));
  }
  layers_.push_back({"input", Input{}, {}, std::move(input)});
  outputs_.push_back({"output", 0});
}

void Network::require_new_name(const std::string& name) const {
  const bool taken = std::ranges::any_of(layers_, [&](const Layer& layer) { return layer.name == name; });
  if (!name.empty() && !taken) return;
  throw Error(fmt::format("{}: layer {} needs a name of its own, '{}' is {}", model_, layers_.size(), name,
                          taken ? "taken" : "empty"));
}

int Network::add_input(std::string name, Shape shape) {
  require_new_name(name);
  const int index = static_cast<int>(layers_.size());
  layers_.push_back({std::move(name), Input{}, {}, std::move(shape), index});
  return index;
}

std::vector<int> Network::inputs() const {
  std::vector<int> found;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (std::holds_alternative<Input>(layers_[i].op)) found.push_back(static_cast<int>(i));
  }
  return found;
}

int Network::add(std::string name, Op op, std::vector<int> inputs) {
  const int index = static_cast<int>(layers_.size());
  if (inputs.empty()) inputs.push_back(index - 1);
  require_new_name(name);
  std::vector<Shape> shapes;
  for (const int input : inputs) {
    if (input < 0 || input >= index) {
      throw Error(fmt::format("{}: layer '{}' is fed by layer {}, but only layers 0 to {} come before it", model_, name,
                              input, index - 1));
    }
    shapes.push_back(layers_[static_cast<std::size_t>(input)].shape);
  }
  Layer layer{std::move(name), std::move(op), std::move(inputs), {}, index};
  layer.shape = infer_shape(model_, layer, shapes);
  std::ranges::move(layer_parameters(layer, index, shapes.front()), std::back_inserter(parameters_));
  layers_.push_back(std::move(layer));
  if (!outputs_marked_) outputs_.front().layer = index;
  return index;
}

void Network::set_output(std::string name, int layer) {
  if (layer < 1 || layer >= static_cast<int>(layers_.size())) {
    throw Error(fmt::format("{}: output '{}' is to be layer {}, but the layers that are computed are 1 to {}", model_,
                            name, layer, layers_.size() - 1));
  }
  mark_output(std::move(name), layer);
}

void Network::hand_on(std::string name, int input) {
  const bool given = input >= 0 && input < static_cast<int>(layers_.size()) &&
                     std::holds_alternative<Input>(layers_[static_cast<std::size_t>(input)].op);
  if (!given) throw Error(fmt::format("{}: layer {} is to be handed on, but it is no input", model_, input));
  mark_output(std::move(name), input);
}

void Network::mark_output(std::string name, int layer) {
  const auto has_name = [&](const Output& output) { return output.name == name; };
  const bool taken = outputs_marked_ && std::ranges::any_of(outputs_, has_name);
  if (name.empty() || taken) {
    throw Error(
        fmt::format("{}: an output needs a name of its own, '{}' is {}", model_, name, taken ? "taken" : "empty"));
  }
  if (!outputs_marked_) outputs_.clear();
  outputs_marked_ = true;
  outputs_.push_back({std::move(name), layer});
}

void Network::mark_last_layer() {
  if (outputs_marked_) return;
  const Output last = outputs_.front();
  set_output(last.name, last.layer);
}

void Network::set_anchors(std::vector<Anchor> anchors) {
  for (const Output& output : outputs_) {
    const Shape& shape = output_shape(output);
    if (anchors.empty() || (shape.size() == 2 && shape[0] == static_cast<std::int64_t>(anchors.size()))) continue;
    throw Error(fmt::format("{}: {} anchors need outputs with as many rows, but '{}' is {}", model_, anchors.size(),
                            output.name, shape_text(shape)));
  }
  anchors_ = std::move(anchors);
}

std::vector<int> Network::readers() const {
  std::vector<int> count(layers_.size());
  for (const Layer& layer : layers_) {
    for (const int input : layer.inputs) ++count[static_cast<std::size_t>(input)];
  }
  for (const Output& output : outputs()) ++count[static_cast<std::size_t>(output.layer)];
  return count;
}

void Network::freeze(const std::vector<std::string>& names) {
  for (Parameter& parameter : parameters_) {
    if (std::ranges::find(names, parameter.name) != names.end()) parameter.trained = false;
  }
}

void Network::set_rates(const std::vector<std::string>& names, double rate) {
  for (Parameter& parameter : parameters_) {
    if (std::ranges::find(names, parameter.name) != names.end()) parameter.rate = rate;
  }
}

void Network::learn_as(const Network& other, const std::map<std::string, std::string>& renamed) {
  std::map<std::string, const Learning*> known;
  for (const Parameter& parameter : other.parameters()) known.emplace(parameter.name, &parameter);
  for (Parameter& parameter : parameters_) {
    const auto name = renamed.find(parameter.name);
    const auto found = known.find(name == renamed.end() ? parameter.name : name->second);
    if (found != known.end()) static_cast<Learning&>(parameter) = *found->second;
  }
}

void Network::freeze_statistics(const std::string& prefix) {
  for (Layer& layer : layers_) {
    if (auto* norm = std::get_if<BatchNorm>(&layer.op); norm != nullptr && layer.name.starts_with(prefix)) {
      norm->frozen = true;
    }
  }
}

std::int64_t detected_classes(const Network& detector) {
  const auto found = std::ranges::find(detector.outputs(), "scores", &Output::name);
  if (found == detector.outputs().end() || detector.anchors().empty()) {
    throw Error(detector.model() + " is no detector: it has no scores of boxes");
  }
  return detector.output_shape(*found).back() - 1;
}

std::string outputs_text(const Network& network) {
  const std::vector<Output>& outputs = network.outputs();
  if (outputs.size() == 1 && network.output_shape().size() == 1) {
    return fmt::format("{} outputs", network.output_shape().front());
  }
  std::string text;
  for (const Output& output : outputs) {
    text += (text.empty() ? "" : ", ") + output.name + " " + shape_text(network.output_shape(output));
  }
  return (outputs.size() == 1 ? "output " : "outputs ") + text;
}

}  // namespace evener::network
