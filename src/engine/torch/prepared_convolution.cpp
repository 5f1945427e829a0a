#include "engine/torch/prepared_convolution.h"

#include <array>
#include <string_view>

#include "base/clock.h"
#include "base/simd_level.h"
#include "base/statistics.h"
#include "engine/torch/activations.h"
#include "engine/torch/extents.h"
#include "engine/torch/onednn_convolution.h"
#include "engine/torch/rows.h"
#include "engine/torch/winograd.h"

namespace evener::engine::torch_engine {
namespace {

using network::ActivationKind;
using PointwiseBinary = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const std::optional<at::Tensor>&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                                   std::int64_t, std::string_view, std::optional<at::Scalar>,
                                   std::optional<std::string_view>, OneDnnScalars, std::optional<std::string_view>);

/// The name of an activation for these operators.
const char* onednn_name(std::optional<ActivationKind> kind) {
  if (!kind) return "none";
  switch (*kind) {
    case ActivationKind::kRelu:
      return "relu";
    case ActivationKind::kRelu6:
      return "hardtanh";
    case ActivationKind::kSigmoid:
      return "sigmoid";
    case ActivationKind::kTanh:
      return "tanh";
    case ActivationKind::kSilu:
      return "swish";
    case ActivationKind::kHardSwish:
      return "hardswish";
    case ActivationKind::kHardSigmoid:
      return "hardsigmoid";
  }
  return "none";
}

OneDnnShape onednn_shape(const network::Conv2d& op) {
  return {sides(op.stride), sides(op.padding), op.groups};
}

/// The convolution without its bias, which our kernels add themselves.
network::Conv2d without_bias(network::Conv2d op) {
  op.bias = false;
  return op;
}

}  // namespace

PreparedConvolution::PreparedConvolution(const network::Conv2d& op, const ConvolutionInput& input,
                                         const at::Tensor& weight, const at::Tensor& bias,
                                         std::optional<ActivationKind> activation, bool winograd)
    : op_(op), activation_(activation), bias_(bias) {
  if (winograd && winograd_supported(without_bias(op), input.shape)) {
    method_ = Method::kWinograd;
    weight_ = winograd_weights(weight, input.type);
    return;
  }
  weight_ = weight.to(input.type);
  if (bias.defined()) bias_ = bias.to(input.type);
  method_ = input.type == at::kFloat || simd_level() == SimdLevel::kAvx512 ? Method::kOneDnn : Method::kLibTorch;
  if (method_ == Method::kLibTorch) return;
  const std::array<std::int64_t, 4> images = {input.batch, input.shape[0], input.shape[1], input.shape[2]};
  weight_ = onednn_weight(weight_, images, onednn_shape(op));
}

const char* PreparedConvolution::method() const {
  switch (method_) {
    case Method::kWinograd:
      return "winograd";
    case Method::kOneDnn:
      return "direct";
    case Method::kLibTorch:
      break;
  }
  return "direct unfused";
}

at::Tensor PreparedConvolution::run(const at::Tensor& x, const at::Tensor& residual) const {
  const at::Tensor images = as_rows(x, x);
  const at::Tensor other = residual.defined() ? as_rows(residual, x) : residual;
  switch (method_) {
    case Method::kWinograd:
      break;
    case Method::kOneDnn:
      return run_onednn(images, other);
    case Method::kLibTorch:
      return run_libtorch(images, other);
  }
  const auto clamp = clamp_of(activation_);
  const at::Tensor y = winograd_inference(images, weight_, op_.out_channels, op_.padding.height,
                                          {bias_, other, clamp.value_or(*clamp_of(std::nullopt))});
  if (!clamp) activate_in_place(y, *activation_);
  return y;
}

at::Tensor PreparedConvolution::run_onednn(const at::Tensor& x, const at::Tensor& residual) const {
  static const auto with_sum = onednn_operator<PointwiseBinary>("mkldnn::_convolution_pointwise", "binary");
  const auto padding = sides(op_.padding), stride = sides(op_.stride), dilation = sides(1);
  const std::optional<at::Tensor> bias = bias_.defined() ? std::optional(bias_) : std::nullopt;
  const auto convolved = [&](std::optional<ActivationKind> activation) {
    OneDnnScalars limits;
    if (activation == ActivationKind::kRelu6) limits = OneDnnScalars({at::Scalar(0.0), at::Scalar(6.0)});
    return onednn_convolution(x, weight_, onednn_shape(op_), bias, onednn_name(activation), limits);
  };
  if (!residual.defined()) return convolved(activation_);
  // oneDNN can't fuse the sum for a single pixel: "could not create a memory".
  if (residual.size(2) * residual.size(3) == 1) {
    const at::Tensor y = convolved(std::nullopt).add_(residual);
    if (activation_) activate_in_place(y, *activation_);
    return y;
  }
  // After a sum oneDNN can only fuse ReLU.
  const bool joined = activation_ == ActivationKind::kRelu;
  const at::Tensor y =
      with_sum.call(x, residual, weight_, bias, padding, stride, dilation, op_.groups, "add", at::Scalar(1.0),
                    joined ? std::optional<std::string_view>("relu") : std::nullopt, OneDnnScalars(), std::nullopt);
  if (activation_ && !joined) activate_in_place(y, *activation_);
  return y;
}

at::Tensor PreparedConvolution::run_libtorch(const at::Tensor& x, const at::Tensor& residual) const {
  at::Tensor y = at::conv2d(x, weight_, bias_, sides(op_.stride), sides(op_.padding), 1, op_.groups);
  if (residual.defined()) y.add_(residual);
  if (activation_) activate_in_place(y, *activation_);
  return y;
}

bool ConvolutionTrials::winograd_wins(const network::Conv2d& op, const ConvolutionInput& input,
                                      const at::Tensor& weight) {
  constexpr double kClearly = 0.97, kEnough_s = 0.1;
  constexpr int kRounds = 5;
  constexpr std::int64_t kCacheBytes = 8 << 20;  // more than a second-level cache
  if (!winograd_pays_in(input.type) || !winograd_supported(without_bias(op), input.shape)) return false;
  const std::int64_t channels = input.shape[0], height = input.shape[1], width = input.shape[2];
  const auto known = known_.try_emplace({channels, height, width, op.out_channels, op.padding.height}, false);
  if (!known.second) return known.first->second;
  const at::Tensor x =
      at::zeros({input.batch, channels, height, width}, input.type).contiguous(at::MemoryFormat::ChannelsLast);
  const auto prepared = [&](bool winograd) {
    return PreparedConvolution(op, input, weight, {}, std::nullopt, winograd);
  };
  // Filling this evicts the weights from the caches, as other layers of a network do between two calls.
  const at::Tensor others = at::zeros({kCacheBytes / 4}, at::kFloat);
  const auto seconds_of = [&](const PreparedConvolution& convolution) {
    others.fill_(1);
    const Stopwatch call;
    convolution.run(x, {});
    return call.seconds();
  };
  const PreparedConvolution direct = prepared(false);
  const PreparedConvolution winograd = prepared(true);
  std::vector<double> ratios;
  const Stopwatch clock;
  for (int round = 0; round <= 1 || (round <= kRounds && clock.seconds() < kEnough_s); ++round) {
    const double ratio = seconds_of(winograd) / seconds_of(direct);
    if (round > 0) ratios.push_back(ratio);  // the first round allocates memory
  }
  return known.first->second = *median(ratios) < kClearly;
}

}  // namespace evener::engine::torch_engine
