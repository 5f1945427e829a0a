#include "engine/torch/convolution.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/simd_level.h"
#include "base/statistics.h"
#include "engine/torch/activations.h"
#include "engine/torch/rows.h"
#include "engine/torch/winograd.h"

namespace evener::engine::torch_engine {
namespace {

using network::ActivationKind;

/// What a convolution is made of, besides its tensors. Windows have no gaps (dilation).
struct OneDnnShape {
  std::array<std::int64_t, 2> stride, padding;  // of rows and columns
  std::int64_t groups = 1;
};

/// Arguments of an activation.
using OneDnnScalars = c10::List<std::optional<at::Scalar>>;

using Reorder = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                           at::OptionalIntArrayRef);
using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, at::IntArrayRef,
                             at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, OneDnnScalars,
                             std::optional<std::string_view>);
using PointwiseBinary = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const std::optional<at::Tensor>&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                                   std::int64_t, std::string_view, std::optional<at::Scalar>,
                                   std::optional<std::string_view>, OneDnnScalars, std::optional<std::string_view>);

constexpr std::array<std::int64_t, 2> kNoGaps = {1, 1};

/// Looks up one of oneDNN's operators. They have no C++ functions; TorchInductor calls them by these names.
template <class Signature>
c10::TypedOperatorHandle<Signature> onednn_operator(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

/// `weight` (O, C / groups, KH, KW) in the order that suits images of these sizes (N, C, H, W) best; other sizes may be
/// given to onednn_convolution, too. In bfloat16 this needs AVX-512.
at::Tensor onednn_weight(const at::Tensor& weight, at::IntArrayRef images, const OneDnnShape& shape) {
  static const auto reorder = onednn_operator<Reorder>("mkldnn::_reorder_convolution_weight");
  return reorder.call(weight, shape.padding, shape.stride, kNoGaps, shape.groups, images);
}

/// `activation`(convolution of `x` + `bias`); `x` is channels-last, as is the result, `weight` by onednn_weight, and
/// `activation` has the name that these operators give it.
at::Tensor onednn_convolution(const at::Tensor& x, const at::Tensor& weight, const OneDnnShape& shape,
                              const std::optional<at::Tensor>& bias = std::nullopt,
                              std::string_view activation = "none", const OneDnnScalars& limits = OneDnnScalars()) {
  static const auto convolve = onednn_operator<Pointwise>("mkldnn::_convolution_pointwise");
  return convolve.call(x, weight, bias, shape.padding, shape.stride, kNoGaps, shape.groups, activation, limits, "");
}

/// The name of an activation for these operators.
const char* onednn_name(std::optional<ActivationKind> kind) {
  static const std::map<ActivationKind, const char*> names = {{ActivationKind::kRelu, "relu"},
                                                              {ActivationKind::kRelu6, "hardtanh"},
                                                              {ActivationKind::kSigmoid, "sigmoid"},
                                                              {ActivationKind::kTanh, "tanh"},
                                                              {ActivationKind::kSilu, "swish"},
                                                              {ActivationKind::kHardSwish, "hardswish"},
                                                              {ActivationKind::kHardSigmoid, "hardsigmoid"}};
  return kind ? names.at(*kind) : "none";
}

OneDnnShape onednn_shape(const network::Conv2d& op) {
  return {sides(op.stride), sides(op.padding), op.groups};
}

/// The convolution without its bias, which our kernels add themselves.
network::Conv2d without_bias(network::Conv2d op) {
  op.bias = false;
  return op;
}

using Order = StepWeights::Order;

/// Whether the gradient of the weight is better computed as one product of matrices. oneDNN writes it in an order of
/// its own, and LibTorch then reorders it, which takes longer than the sums where there are few pixels for each weight.
bool product_pays(std::int64_t pixels, std::int64_t out_channels) {
  constexpr std::int64_t kMostPixels = 3;  // for each output channel
  return pixels <= kMostPixels * out_channels;
}

std::int64_t pixels_of(const at::Tensor& y) {
  return y.size(0) * y.size(2) * y.size(3);
}

/// The window of `x` that each pixel of the output is computed of: (pixels, KH * KW * C).
at::Tensor windows(const at::Tensor& x, const network::Conv2d& op, const at::Tensor& y) {
  const std::int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const std::int64_t rows = y.size(2), columns = y.size(3);
  const at::Tensor values = at::empty({pixels_of(y), op.kernel.height * op.kernel.width * channels}, x.options());
  const auto pixel_bytes = channels * x.element_size();
  const auto* const from = static_cast<const char*>(x.const_data_ptr());
  auto* const to = static_cast<char*>(values.mutable_data_ptr());
  at::parallel_for(0, x.size(0) * rows, 8, [&](std::int64_t begin, std::int64_t end) {
    char* next = to + begin * columns * op.kernel.height * op.kernel.width * pixel_bytes;
    const auto zeros = [&next, pixel_bytes](std::int64_t pixels) {
      std::memset(next, 0, static_cast<std::size_t>(pixels * pixel_bytes));
      next += pixels * pixel_bytes;
    };
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t image = row / rows, top = row % rows * op.stride.height - op.padding.height;
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t left = column * op.stride.width - op.padding.width;
        const std::int64_t first = std::clamp<std::int64_t>(-left, 0, op.kernel.width);
        const std::int64_t last = std::clamp<std::int64_t>(width - left, first, op.kernel.width);
        for (std::int64_t y_in = top; y_in < top + op.kernel.height; ++y_in) {
          if (y_in < 0 || y_in >= height) {
            zeros(op.kernel.width);
            continue;
          }
          zeros(first);
          const auto bytes = (last - first) * pixel_bytes;
          const std::int64_t pixel = (image * height + y_in) * width + left + first;
          if (bytes > 0) std::memcpy(next, from + pixel * pixel_bytes, static_cast<std::size_t>(bytes));
          next += bytes;
          zeros(op.kernel.width - last);
        }
      }
    }
  });
  return values;
}

/// Turns weights (O, C, KH, KW), channels-last, for the gradient of the input, which is a convolution with them: (C, O,
/// KH, KW), channels-last, the last row and column first.
template <class T>
at::Tensor turned(const at::Tensor& weight) {
  constexpr std::int64_t kBlock = 16;  // of channels, whose lines fit a first-level cache
  const std::int64_t out = weight.size(0), in = weight.size(1), taps = weight.size(2) * weight.size(3);
  const at::Tensor result = at::empty({in, out, weight.size(2), weight.size(3)},
                                      weight.options().memory_format(at::MemoryFormat::ChannelsLast));
  const T* const from = weight.const_data_ptr<T>();
  T* const to = result.mutable_data_ptr<T>();
  at::parallel_for(0, (in + kBlock - 1) / kBlock, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c0 = begin * kBlock; c0 < std::min(in, end * kBlock); c0 += kBlock) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t o0 = 0; o0 < out; o0 += kBlock) {
          for (std::int64_t c = c0; c < std::min(in, c0 + kBlock); ++c) {
            for (std::int64_t o = o0; o < std::min(out, o0 + kBlock); ++o) {
              to[(c * taps + taps - 1 - tap) * out + o] = from[(o * taps + tap) * in + c];
            }
          }
        }
      }
    }
  });
  return result;
}

at::Tensor turned_weight(const at::Tensor& weight) {
  return weight.scalar_type() == at::kFloat ? turned<float>(weight) : turned<at::BFloat16>(weight);
}

/// The shape of the convolution that computes the gradient of the input with turned weights.
OneDnnShape turned_shape(const network::Conv2d& op) {
  return {{1, 1}, {op.kernel.height - 1 - op.padding.height, op.kernel.width - 1 - op.padding.width}};
}

/// Whether weights are worth keeping in other orders. Those of single pixels are few.
bool is_kept(const network::Conv2d& op) {
  return op.kernel.area() > 1;
}

bool can_turn(const network::Conv2d& op) {
  return op.stride == network::Extent2d(1) && op.padding.height < op.kernel.height &&
         op.padding.width < op.kernel.width;
}

struct Direct {
  static at::Tensor convolved(const ConvolutionCall& call, const at::Tensor& x, const at::Tensor& weight) {
    const network::Conv2d& op = call.op;
    const at::Tensor values = weight.detach();
    // In float32 reordering weights for a forward pass takes less than a tenth of it: not worth the memory.
    if (!call.kept || x.scalar_type() == at::kFloat) {
      return at::conv2d(x, values.to(x.scalar_type()), {}, sides(op.stride), sides(op.padding), 1, op.groups);
    }
    const OneDnnShape shape{sides(op.stride), sides(op.padding), op.groups};
    return onednn_convolution(
        x,
        call.kept->get(values, Order::kForward,
                       [&] { return onednn_weight(values.to(x.scalar_type()), x.sizes(), shape); }),
        shape);
  }

  /// Gradients of the input and of the weight by LibTorch.
  static std::array<at::Tensor, 2> gradients_of(const network::Conv2d& op, const at::Tensor& x, const at::Tensor& dy,
                                                const at::Tensor& weight, const std::array<bool, 2>& which) {
    auto [dx, dweight, dbias] =
        at::convolution_backward(dy, x, weight.detach().to(x.scalar_type()), at::OptionalIntArrayRef(),
                                 sides(op.stride), sides(op.padding), sides(network::Extent2d(1)), /*transposed=*/false,
                                 sides(network::Extent2d(0)), op.groups, {which[0], which[1], false});
    return {dx, dweight};
  }

  static at::Tensor input_gradient(const ConvolutionCall& call, const at::Tensor& x, const at::Tensor& dy,
                                   const at::Tensor& weight) {
    const network::Conv2d& op = call.op;
    if (!call.kept || !can_turn(op)) return gradients_of(op, x, dy, weight, {true, false})[0];
    const OneDnnShape shape = turned_shape(op);
    const at::Tensor values = weight.detach();
    return onednn_convolution(
        dy,
        call.kept->get(values, Order::kBackward,
                       [&] { return onednn_weight(turned_weight(values.to(x.scalar_type())), dy.sizes(), shape); }),
        shape);
  }

  static at::Tensor weight_gradient(const network::Conv2d& op, const at::Tensor& x, const at::Tensor& dy,
                                    const at::Tensor& weight) {
    if (!product_pays(pixels_of(dy), op.out_channels)) {
      return gradients_of(op, x, dy, weight, {false, true})[1].to(at::kFloat, false, false,
                                                                  at::MemoryFormat::ChannelsLast);
    }
    const at::Tensor of_outputs = dy.permute({0, 2, 3, 1}).reshape({pixels_of(dy), op.out_channels});
    const at::Tensor product = of_outputs.t().mm(windows(x, op, dy)).to(at::kFloat);
    return product.view({op.out_channels, op.kernel.height, op.kernel.width, x.size(1)}).permute({0, 3, 1, 2});
  }
};

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
  if (method_ == Method::kWinograd) return "winograd";
  return method_ == Method::kOneDnn ? "direct" : "direct unfused";
}

at::Tensor PreparedConvolution::run(const at::Tensor& x, const at::Tensor& residual) const {
  const at::Tensor images = as_rows(x, x);
  const at::Tensor other = residual.defined() ? as_rows(residual, x) : residual;
  if (method_ == Method::kOneDnn) return run_onednn(images, other);
  if (method_ == Method::kLibTorch) return run_libtorch(images, other);
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

bool takes_direct(const network::Conv2d& op, const at::Tensor& x, bool keeps_weights) {
  if (op.bias || op.groups != 1 || op.weight_bits != 0 || x.size(0) == 0 || !has_rows(x)) return false;
  // Without AVX-512 oneDNN doesn't compute in bfloat16.
  if (x.scalar_type() != at::kFloat && simd_level() != SimdLevel::kAvx512) return false;
  if (keeps_weights && is_kept(op)) return true;
  const network::Extent2d& k = op.kernel;
  const std::int64_t rows = (x.size(2) + 2 * op.padding.height - k.height) / op.stride.height + 1;
  const std::int64_t columns = (x.size(3) + 2 * op.padding.width - k.width) / op.stride.width + 1;
  return product_pays(x.size(0) * rows * columns, op.out_channels);
}

at::Tensor direct_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                              const StepWeightsPtr& kept, const LaterParametersPtr& later) {
  return OwnConvolution<Direct>::of(
      x, weight, c10::make_intrusive<ConvolutionCall>(op, is_kept(op) ? kept : StepWeightsPtr(), later));
}

}  // namespace evener::engine::torch_engine
