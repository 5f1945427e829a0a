#include <algorithm>
#include <cmath>
#include <openvino/opsets/opset14.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/openvino/graphs.h"
#include "network/quantization.h"

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;
using namespace network;
using Value = ov::Output<ov::Node>;

/// Height and width as any of OpenVINO's lists.
template <class Sizes>
Sizes sizes_of(const Extent2d& extent) {
  using Size = typename Sizes::value_type;
  return {static_cast<Size>(extent.height), static_cast<Size>(extent.width)};
}

/// Windows that reach beyond an image count as in PyTorch (network.h says which).
ov::op::RoundingType rounding_of(bool ceil_mode) {
  return ceil_mode ? ov::op::RoundingType::CEIL_TORCH : ov::op::RoundingType::FLOOR;
}

Value integers(const std::vector<std::int64_t>& values) {
  return op::Constant::create(ov::element::i64, {values.size()}, values);
}

/// A constant of values per channel, in the shape that broadcasts with (N, C, H, W), or (N, F).
Value per_channel(const std::vector<float>& values, std::size_t rank) {
  ov::Shape shape(rank, 1);
  shape[1] = values.size();
  return op::Constant::create(ov::element::f32, shape, values);
}

/// Adds the nodes of one layer after the other.
class Lowering {
 public:
  Lowering(const Network& network, std::shared_ptr<const TensorMap> state, std::int64_t batch, bool any_size)
      : network_(network), state_(std::move(state)), batch_(batch), any_size_(any_size) {}

  std::shared_ptr<ov::Model> model() {
    for (const Layer& layer : network_.layers()) {
      layer_ = &layer;
      const Value value = std::visit([&](const auto& kind) { return node(kind); }, layer.op);
      if (!values_.empty() && value.get_node_shared_ptr()->get_friendly_name() != layer.name &&
          layer.inputs.size() > 0 && value != in()) {
        value.get_node_shared_ptr()->set_friendly_name(layer.name);
      }
      values_.push_back(value);
    }
    ov::ResultVector results;
    for (const Output& output : network_.outputs()) {
      // Two outputs may be the same layer, whose tensor has both names then.
      Value value = values_[static_cast<std::size_t>(output.layer)];
      value.add_names({output.name});
      results.push_back(std::make_shared<op::Result>(value));
    }
    return std::make_shared<ov::Model>(results, inputs_, network_.model());
  }

 private:
  Value in(std::size_t index = 0) const { return values_[static_cast<std::size_t>(layer_->inputs.at(index))]; }

  const Shape& in_shape() const { return network_.layers()[static_cast<std::size_t>(layer_->inputs.front())].shape; }

  void require_known_size() const {
    if (any_size_) throw Error("layer '" + layer_->name + "' has to know the size of the images");
  }

  const HostTensor& tensor(const char* name) const {
    const std::string full = layer_->name + "." + name;
    const auto found = state_->find(full);
    if (found == state_->end()) throw Error("the weights have no tensor '" + full + "'");
    return found->second;
  }

  std::vector<float> floats(const char* name) const {
    const HostTensor values = tensor(name).to_floats();
    return {values.floats(), values.floats() + element_count(values.shape)};
  }

  [[noreturn]] void fail_size(std::size_t values, const ov::Shape& shape) const {
    throw Error("the weights of '" + layer_->name + "' have " + std::to_string(values) + " values, not " +
                std::to_string(ov::shape_size(shape)));
  }

  /// A layer's weight. With `bits`, it is stored as whole numbers, multiplied by a scale for each output channel: the
  /// form for which OpenVINO uses int8 kernels. `channels`: the number of leading extents that make up the output
  /// channels.
  Value weight(const ov::Shape& shape, int bits, std::size_t channels) const {
    if (bits == 0) return weight(shape);
    const HostTensor levels = quantized_weights(tensor("weight").to_floats(), tensor("weight_scale"), bits);
    if (ov::shape_size(shape) != levels.bytes.size()) fail_size(levels.bytes.size(), shape);
    ov::Shape of_scales(shape.size(), 1);
    std::copy_n(shape.begin(), channels, of_scales.begin());
    const auto stored = std::make_shared<op::Constant>(ov::element::i8, shape, levels.bytes.data());
    const Value whole = std::make_shared<op::Convert>(stored, ov::element::f32);
    std::vector<float> scales = floats("weight_scale");
    for (float& scale : scales) scale = std::max(scale, kLeastScale);  // training may have moved a scale below it
    return std::make_shared<op::Multiply>(whole, op::Constant::create(ov::element::f32, of_scales, scales));
  }

  Value weight(const ov::Shape& shape) const {
    const HostTensor& values = tensor("weight");
    const auto count = static_cast<std::size_t>(element_count(values.shape));
    if (ov::shape_size(shape) != count) fail_size(count, shape);
    if (values.dtype != DType::kF32) return op::Constant::create(ov::element::f32, shape, floats("weight"));
    return std::make_shared<op::Constant>(ov::element::f32, shape, values.bytes.data(),
                                          std::const_pointer_cast<TensorMap>(state_));
  }

  /// Adds a bias. Where OpenVINO fuses product and sum it only keeps the product's name, hence kProductSuffix.
  Value with_bias(Value value, bool bias, std::size_t rank) const {
    if (!bias) return value;
    value.get_node()->set_friendly_name(layer_->name + kProductSuffix);
    return std::make_shared<op::Add>(value, per_channel(floats("bias"), rank));
  }

  /// The first input is images; further ones are values from a stage before.
  Value node(const Input&) {
    ov::PartialShape shape{batch_};
    for (const std::int64_t extent : layer_->shape) shape.push_back(extent);
    if (any_size_) shape = {-1, layer_->shape.front(), -1, -1};
    const std::string name = inputs_.empty() ? "images" : layer_->name;
    inputs_.push_back(std::make_shared<op::Parameter>(ov::element::f32, shape));
    inputs_.back()->set_friendly_name(name);
    inputs_.back()->output(0).set_names({name});
    return inputs_.back();
  }

  Value node(const Linear& linear) const {
    const auto out = static_cast<std::size_t>(linear.out_features);
    const auto features = static_cast<std::size_t>(in_shape().front());
    const Value product =
        std::make_shared<op::MatMul>(in(), weight({out, features}, linear.weight_bits, 1), false, true);
    return with_bias(product, linear.bias, 2);
  }

  Value node(const Conv2d& conv) const {
    const auto groups = static_cast<std::size_t>(conv.groups);
    const auto out = static_cast<std::size_t>(conv.out_channels);
    const auto in_channels = static_cast<std::size_t>(in_shape().front()) / groups;
    const auto height = static_cast<std::size_t>(conv.kernel.height),
               width = static_cast<std::size_t>(conv.kernel.width);
    const ov::Strides no_dilation{1, 1};
    const auto pads = sizes_of<ov::CoordinateDiff>(conv.padding);
    Value sum;
    if (groups == 1) {
      sum = std::make_shared<op::Convolution>(in(), weight({out, in_channels, height, width}, conv.weight_bits, 1),
                                              sizes_of<ov::Strides>(conv.stride), pads, pads, no_dilation);
    } else {
      sum = std::make_shared<op::GroupConvolution>(
          in(), weight({groups, out / groups, in_channels, height, width}, conv.weight_bits, 2),
          sizes_of<ov::Strides>(conv.stride), pads, pads, no_dilation);
    }
    return with_bias(sum, conv.bias, 4);
  }

  Value node(const BatchNorm& norm) const {
    const std::vector<float> gamma = floats("weight"), beta = floats("bias");
    const std::vector<float> mean = floats("running_mean"), variance = floats("running_var");
    std::vector<float> scale(gamma.size()), shift(gamma.size());
    for (std::size_t c = 0; c < gamma.size(); ++c) {
      const double factor = gamma[c] / std::sqrt(static_cast<double>(variance[c]) + norm.epsilon);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(beta[c] - mean[c] * factor);
    }
    const std::size_t rank = in_shape().size() + 1;
    const Value scaled = std::make_shared<op::Multiply>(in(), per_channel(scale, rank));
    return std::make_shared<op::Add>(scaled, per_channel(shift, rank));
  }

  Value node(const Activation& activation) const {
    switch (activation.kind) {
      case ActivationKind::kRelu:
        return std::make_shared<op::Relu>(in());
      case ActivationKind::kRelu6:
        return std::make_shared<op::Clamp>(in(), 0, 6);
      case ActivationKind::kSigmoid:
        return std::make_shared<op::Sigmoid>(in());
      case ActivationKind::kTanh:
        return std::make_shared<op::Tanh>(in());
      case ActivationKind::kSilu:
        return std::make_shared<op::Swish>(in());
      case ActivationKind::kHardSwish:
        return std::make_shared<op::HSwish>(in());
      case ActivationKind::kHardSigmoid:
        return std::make_shared<ov::op::v5::HSigmoid>(in());
    }
    throw Error("layer '" + layer_->name + "' has an activation that the openvino engine doesn't know");
  }

  Value node(const PRelu&) const {
    return std::make_shared<op::PRelu>(in(), weight({static_cast<std::size_t>(in_shape().front())}));
  }

  Value node(const MaxPool& pool) const {
    const auto pads = sizes_of<ov::Shape>(pool.padding);
    return std::make_shared<op::MaxPool>(in(), sizes_of<ov::Strides>(pool.stride), ov::Strides{1, 1}, pads, pads,
                                         sizes_of<ov::Shape>(pool.kernel), rounding_of(pool.ceil_mode))
        ->output(0);
  }

  Value node(const AveragePool& pool) const {
    const auto pads = sizes_of<ov::Shape>(pool.padding);
    return std::make_shared<op::AvgPool>(in(), sizes_of<ov::Strides>(pool.stride), pads, pads,
                                         sizes_of<ov::Shape>(pool.kernel), !pool.count_include_pad,
                                         rounding_of(pool.ceil_mode));
  }

  Value node(const GlobalAveragePool&) const {
    return std::make_shared<op::ReduceMean>(in(), integers({2, 3}), /*keep_dims=*/true);
  }

  Value node(const Add&) const {
    Value sum = in();
    for (std::size_t i = 1; i < layer_->inputs.size(); ++i) sum = std::make_shared<op::Add>(sum, in(i));
    return sum;
  }

  Value node(const Multiply&) const { return std::make_shared<op::Multiply>(in(0), in(1)); }

  Value node(const Scale& scale) const {
    const auto factor = static_cast<float>(scale.factor);
    return std::make_shared<op::Multiply>(in(), op::Constant::create(ov::element::f32, {}, {factor}));
  }

  Value node(const FakeQuantize& quantize) const {
    const Levels levels = activation_levels(quantize.is_signed);
    const float scale = std::max(floats("scale").front(), kLeastScale);
    const Value least = op::Constant::create(ov::element::f32, {}, {levels.least * scale});
    const Value most = op::Constant::create(ov::element::f32, {}, {levels.most * scale});
    const auto count = static_cast<std::size_t>(levels.most - levels.least) + 1;
    return std::make_shared<op::FakeQuantize>(in(), least, most, least, most, count);
  }

  Value node(const Concat&) const {
    ov::OutputVector parts;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) parts.push_back(in(i));
    return std::make_shared<op::Concat>(parts, 1);
  }

  Value node(const Flatten&) const {
    require_known_size();
    return std::make_shared<op::Reshape>(in(), integers({batch_, element_count(layer_->shape)}), false);
  }

  Value node(const Rows& rows) const {
    require_known_size();
    const Value pixels = std::make_shared<op::Transpose>(in(), integers({0, 2, 3, 1}));
    return std::make_shared<op::Reshape>(pixels, integers({batch_, layer_->shape[0], rows.values}), false);
  }

  // Dropout does nothing in inference.
  Value node(const Dropout&) const { return in(); }
  Value node(const StochasticDepth&) const { return in(); }

  Value node(const SubsamplePad& pad) const {
    require_known_size();
    const Shape& from = in_shape();
    const Value rows = std::make_shared<op::Slice>(in(), integers({0, 0}), integers({from[1], from[2]}),
                                                   integers({pad.stride, pad.stride}), integers({2, 3}));
    const std::int64_t added = pad.out_channels - from.front(), before = added / 2;
    return std::make_shared<op::Pad>(rows, integers({0, before, 0, 0}), integers({0, added - before, 0, 0}),
                                     op::Constant::create(ov::element::f32, {}, {0.0F}), ov::op::PadMode::CONSTANT);
  }

  Value node(const Pad& pad) const {
    return std::make_shared<op::Pad>(in(), integers({0, 0, pad.before.height, pad.before.width}),
                                     integers({0, 0, pad.after.height, pad.after.width}),
                                     op::Constant::create(ov::element::f32, {}, {0.0F}), ov::op::PadMode::CONSTANT);
  }

  const Network& network_;
  const std::shared_ptr<const TensorMap> state_;
  const std::int64_t batch_;
  const bool any_size_;
  const Layer* layer_ = nullptr;  // that is being lowered
  std::vector<Value> values_;     // of each layer so far
  ov::ParameterVector inputs_;
};

}  // namespace

std::shared_ptr<ov::Model> lower(const network::Network& network, std::shared_ptr<const TensorMap> state,
                                 std::int64_t batch, bool any_size) {
  return Lowering(network, std::move(state), batch, any_size).model();
}

}  // namespace evener::engine::openvino_engine
