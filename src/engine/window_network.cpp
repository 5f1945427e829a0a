#include "engine/window_network.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/kernels/kernels.h"

namespace evener::engine {
namespace {

using network::Conv2d;
using network::Flatten;
using network::Layer;
using network::Linear;
using network::MaxPool;
using network::PRelu;

template <class T>
const T* as(const Layer& layer) {
  return std::get_if<T>(&layer.op);
}

std::size_t index_of(int layer) {
  return static_cast<std::size_t>(layer);
}

std::ptrdiff_t consumers_of(const network::Network& network, int layer) {
  std::ptrdiff_t count = 0;
  for (const Layer& other : network.layers()) count += std::ranges::count(other.inputs, layer);
  return count + std::ranges::count(network.outputs(), layer, &network::Output::layer);
}

std::string layer_refusal(const network::Network& network, const Layer& layer) {
  if (as<network::Input>(layer) != nullptr) {
    return layer.shape.size() == 3 ? "" : "takes no image";
  }
  if (const auto* conv = as<Conv2d>(layer)) {
    const bool good = conv->kernel.is_square() && conv->stride == 1 && conv->padding == 0 && conv->groups == 1;
    return good ? "" : "is a convolution with padding, strides, groups or windows that are not square";
  }
  if (const auto* pool = as<MaxPool>(layer)) {
    const bool good = pool->kernel.is_square() && pool->stride == 2 && pool->padding == 0 && pool->ceil_mode;
    return good ? "" : "is a max-pool with padding, another stride than 2, or whole windows only";
  }
  const Layer& before = network.layers()[index_of(layer.inputs.front())];
  if (as<Flatten>(layer) != nullptr) {
    const bool good = before.shape.size() == 3 && before.shape[1] == before.shape[2];
    return good ? "" : "flattens images that are not square";
  }
  if (as<Linear>(layer) != nullptr) return "";
  const bool follows_sums = as<PRelu>(layer) != nullptr &&
                            (as<Conv2d>(before) != nullptr || as<Linear>(before) != nullptr) &&
                            consumers_of(network, layer.inputs.front()) == 1;
  return follows_sums ? "" : std::string("is a ") + network::op_name(layer.op);
}

/// The side of a linear layer's window, which is that of the image flattened before it.
std::int64_t window_of(const network::Network& network, const Layer& linear) {
  const Layer& before = network.layers()[index_of(linear.inputs.front())];
  return as<Flatten>(before) == nullptr ? 1 : network.layers()[index_of(before.inputs.front())].shape[1];
}

const HostTensor& tensor_of(const TensorMap& state, const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto found = state.find(name);
  if (found == state.end()) throw Error("the weights have no " + name);
  if (found->second.shape != shape) throw Error(name + " of the weights has another shape than the network's");
  return found->second;
}

std::vector<float> values_of(const TensorMap& state, const std::string& name, const std::vector<std::int64_t>& shape) {
  const HostTensor values = tensor_of(state, name, shape).to_floats();
  return {values.floats(), values.floats() + element_count(shape)};
}

/// Reorders weights (out, in, kernel, kernel) for kernels::ConvolveRow.
std::vector<float> in_blocks(const std::vector<float>& weight, std::int64_t out, std::int64_t each) {
  const std::int64_t block = kernels::filter_block(out);
  std::vector<float> blocks;
  blocks.reserve(weight.size());
  for (std::int64_t first = 0; first < out; first += block) {
    for (std::int64_t i = 0; i < each; ++i) {
      for (std::int64_t b = 0; b < block; ++b)
        blocks.push_back(weight[static_cast<std::size_t>((first + b) * each + i)]);
    }
  }
  return blocks;
}

}  // namespace

/// The images, or the result of a layer, of which only the last rows are kept.
struct WindowNetwork::Stage {
  int from = -1;  // stage; -1: the images themselves
  bool is_pool = false;
  std::int64_t channels = 0, kernel = 1;
  std::vector<float> weight, bias, slope = {};  // of a convolution
  std::vector<float> four_weight = {};          // see kernels::ConvolveFour; empty: no four rows are computed together
  std::vector<int> readers = {};                // stages
  int output = -1;                              // index of the output that it is; -1: none
  std::int64_t kept = 1;                        // rows: those that a reader still needs, and those made together

  // For the images' size:
  std::int64_t height = 0, width = 0, stride = 0, done = 0;  // done: rows
  std::vector<float> rows = {};

  float* row(std::int64_t y) { return rows.data() + (y % kept) * channels * stride; }
  const float* row(std::int64_t y) const { return rows.data() + (y % kept) * channels * stride; }
  /// The most rows that are made together, and those of them that come next.
  std::int64_t most_together() const { return four_weight.empty() ? 1 : kernels::kFourRows; }
  std::int64_t next_together() const { return height - done < most_together() ? 1 : most_together(); }
};

std::string WindowNetwork::refusal(const network::Network& network) {
  for (const Layer& layer : network.layers()) {
    const std::string reason = layer_refusal(network, layer);
    if (!reason.empty()) return "layer '" + layer.name + "' of " + network.model() + " " + reason;
  }
  return "";
}

WindowNetwork::WindowNetwork(const network::Network& network, const TensorMap& state) {
  if (const std::string reason = refusal(network); !reason.empty()) throw Error(reason);
  std::vector<int> stage_of;  // of each layer
  for (const Layer& layer : network.layers()) {
    const int from = layer.inputs.empty() ? -1 : stage_of[index_of(layer.inputs.front())];
    if (as<PRelu>(layer) != nullptr) {
      Stage& convolution = stages_[index_of(from)];
      convolution.slope = values_of(state, layer.name + ".weight", {convolution.channels});
      stage_of.push_back(from);
      continue;
    }
    if (as<Flatten>(layer) != nullptr) {
      stage_of.push_back(from);
      continue;
    }
    Stage stage;
    stage.from = from;
    stage.channels = layer.shape.front();
    // Weights and bias of a convolution; a linear layer's are the same in memory.
    const auto take_weights = [&](bool bias, const std::vector<std::int64_t>& shape) {
      const std::int64_t each = stages_[index_of(from)].channels * stage.kernel * stage.kernel;
      stage.weight = in_blocks(values_of(state, layer.name + ".weight", shape), stage.channels, each);
      stage.bias = bias ? values_of(state, layer.name + ".bias", {stage.channels})
                        : std::vector<float>(static_cast<std::size_t>(stage.channels));
    };
    if (const auto* pool = as<MaxPool>(layer)) {
      stage.is_pool = true;
      stage.kernel = pool->kernel.height;
    } else if (const auto* conv = as<Conv2d>(layer)) {
      stage.kernel = conv->kernel.height;
      const std::int64_t in = stages_[index_of(from)].channels;
      take_weights(conv->bias, {stage.channels, in, stage.kernel, stage.kernel});
      if (stage.kernel == 3) {
        stage.four_weight.resize(2 * stage.weight.size());
        kernels::row_kernels().transform_weights(stage.weight.data(), stage.channels, in,
                                                 kernels::filter_block(stage.channels), stage.four_weight.data());
      }
    } else if (const auto* linear = as<Linear>(layer)) {
      stage.kernel = window_of(network, layer);
      only_size_ = network.input_shape();
      take_weights(linear->bias, {stage.channels, stages_[index_of(from)].channels * stage.kernel * stage.kernel});
    }
    const int number = static_cast<int>(stages_.size());
    if (from >= 0) {
      stages_[index_of(from)].readers.push_back(number);
      Stage& read = stages_[index_of(from)];
      // A reader leaves all but one of the rows that it takes at once; then the next ones are made.
      read.kept = std::max(read.kept, stage.kernel + stage.most_together() - 1 + read.most_together() - 1);
    }
    stages_.push_back(std::move(stage));
    stage_of.push_back(number);
  }
  for (const network::Output& output : network.outputs()) {
    Stage& stage = stages_[index_of(stage_of[index_of(output.layer)])];
    stage.output = static_cast<int>(outputs_.size());
    outputs_.push_back({output.name, stage.channels, 0, 0, {}});
  }
}

WindowNetwork::~WindowNetwork() = default;

void WindowNetwork::set_size(const WindowImages& images) {
  if (only_size_ && (images.height != (*only_size_)[1] || images.width != (*only_size_)[2])) {
    throw Error("a network for images of " + std::to_string((*only_size_)[1]) + "x" + std::to_string((*only_size_)[2]) +
                " pixels was given some of " + std::to_string(images.height) + "x" + std::to_string(images.width));
  }
  images_ = images.count;
  for (Stage& stage : stages_) {
    const auto extent = [&](std::int64_t in) {
      const std::int64_t places = in - stage.kernel + 1;
      // Pools have ceil_mode: a window counts if it begins inside the image.
      if (stage.is_pool) return in == 0 || places < 0 ? std::int64_t{0} : places / 2 + 1;
      return std::max<std::int64_t>(places, 0);
    };
    stage.height = stage.from < 0 ? images.height : extent(stages_[index_of(stage.from)].height);
    stage.width = stage.from < 0 ? images.width : extent(stages_[index_of(stage.from)].width);
    if (stage.height == 0 || stage.width == 0) stage.height = stage.width = 0;
    stage.stride = (stage.width * images_ + 15) / 16 * 16 + kernels::kRowSlack;
    stage.done = 0;
    const auto values = static_cast<std::size_t>(stage.kept * stage.channels * stage.stride);
    // What lies there from earlier images is finite, as kernels want it beyond the last column.
    if (stage.rows.size() < values) stage.rows.resize(values);
    if (stage.output < 0) continue;
    WindowOutput& output = outputs_[index_of(stage.output)];
    output.rows = stage.height;
    output.columns = stage.width;
    output.values.resize(static_cast<std::size_t>(stage.channels * stage.height * stage.width * images_));
  }
  std::int64_t scratch = images.width * images_ + 16 + kernels::kRowSlack;
  for (const Stage& stage : stages_) {
    if (stage.four_weight.empty()) continue;
    scratch = std::max(scratch, kernels::four_rows_scratch(stages_[index_of(stage.from)].channels, images_));
  }
  scratch_.resize(static_cast<std::size_t>(scratch));
}

bool WindowNetwork::can_go_on(const Stage& stage) const {
  const Stage& from = stages_[index_of(stage.from)];
  const std::int64_t end = stage.is_pool ? std::min(2 * stage.done + stage.kernel, from.height)
                                         : stage.done + stage.kernel + stage.next_together() - 1;
  return stage.done < stage.height && from.done >= end;
}

void WindowNetwork::make_rows(Stage& stage) {
  const Stage& from = stages_[index_of(stage.from)];
  const std::int64_t together = stage.next_together();
  const std::int64_t first = stage.is_pool ? 2 * stage.done : stage.done;
  std::vector<const float*> rows;
  for (std::int64_t y = first; y < std::min(first + stage.kernel + together - 1, from.height); ++y) {
    rows.push_back(from.row(y));
  }
  float* const out = stage.row(stage.done);
  if (stage.is_pool) {
    kernels::row_kernels().max_pool({rows.data(), static_cast<std::int64_t>(rows.size()), stage.channels, from.stride,
                                     from.width, stage.kernel, scratch_.data(), out, stage.stride, stage.width,
                                     images_});
  } else {
    kernels::ConvolveRow row = {rows.data(),
                                from.channels,
                                from.stride,
                                stage.kernel,
                                stage.weight.data(),
                                stage.bias.data(),
                                stage.slope.empty() ? nullptr : stage.slope.data(),
                                stage.channels,
                                kernels::filter_block(stage.channels),
                                out,
                                stage.stride,
                                stage.width,
                                images_};
    if (together == 1) {
      kernels::row_kernels().convolve(row);
    } else {
      row.weight = stage.four_weight.data();
      kernels::ConvolveFour four = {row, {}, scratch_.data()};
      for (std::int64_t y = 0; y < together; ++y) four.out[y] = stage.row(stage.done + y);
      kernels::row_kernels().convolve_four(four);
    }
  }
  if (stage.output >= 0) {
    WindowOutput& output = outputs_[index_of(stage.output)];
    const std::int64_t columns = stage.width * images_;
    for (std::int64_t y = stage.done; y < stage.done + together; ++y) {
      for (std::int64_t c = 0; c < stage.channels; ++c) {
        std::copy_n(stage.row(y) + c * stage.stride, columns, output.values.data() + (c * stage.height + y) * columns);
      }
    }
  }
  stage.done += together;
}

/// Makes the rows of later stages that a new row of `stage` allows.
void WindowNetwork::hand_on(int stage) {
  for (const int reader : stages_[index_of(stage)].readers) {
    while (can_go_on(stages_[index_of(reader)])) {
      make_rows(stages_[index_of(reader)]);
      hand_on(reader);
    }
  }
}

const std::vector<WindowOutput>& WindowNetwork::run(const WindowImages& images, const ReadRow& read) {
  set_size(images);
  Stage& image = stages_.front();
  std::vector<float*> planes(static_cast<std::size_t>(image.channels));
  for (std::int64_t y = 0; y < images.height; ++y) {
    for (std::size_t c = 0; c < planes.size(); ++c)
      planes[c] = image.row(y) + static_cast<std::int64_t>(c) * image.stride;
    read(y, planes);
    ++image.done;
    hand_on(0);
  }
  return outputs_;
}

}  // namespace evener::engine
