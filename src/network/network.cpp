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
    "input",       "linear", "conv2d",  "batch_norm", "activation",   "max_pool",
    "global_pool", "add",    "flatten", "dropout",    "subsample_pad"};

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
}

int Network::add(std::string name, Op op, std::vector<int> inputs) {
  const int index = static_cast<int>(layers_.size());
  if (inputs.empty()) inputs.push_back(index - 1);
  const bool taken = std::ranges::any_of(layers_, [&](const Layer& layer) { return layer.name == name; });
  if (name.empty() || taken) {
    throw Error(fmt::format("{}: layer {} needs a name of its own, '{}' is {}", model_, index, name,
                            taken ? "taken" : "empty"));
  }
  std::vector<Shape> shapes;
  for (const int input : inputs) {
    if (input < 0 || input >= index) {
      throw Error(fmt::format("{}: layer '{}' is fed by layer {}, but only layers 0 to {} come before it", model_, name,
                              input, index - 1));
    }
    shapes.push_back(layers_[static_cast<std::size_t>(input)].shape);
  }
  Layer layer{std::move(name), std::move(op), std::move(inputs), {}};
  layer.shape = infer_shape(model_, layer, shapes);
  std::ranges::move(layer_parameters(layer, index, shapes.front()), std::back_inserter(parameters_));
  layers_.push_back(std::move(layer));
  return index;
}

void Network::freeze(const std::vector<std::string>& names) {
  for (Parameter& parameter : parameters_) {
    if (std::ranges::find(names, parameter.name) != names.end()) parameter.trained = false;
  }
}

}  // namespace evener::network
