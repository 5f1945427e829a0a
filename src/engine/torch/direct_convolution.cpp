#include "engine/torch/direct_convolution.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/simd_level.h"
#include "engine/torch/extents.h"
#include "engine/torch/onednn_convolution.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
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

/// One layer's call; what autograd needs for its backward pass.
struct Call : torch::CustomClassHolder {
  Call(const network::Conv2d& conv, StepWeightsPtr weights, LaterParametersPtr parameters)
      : op(conv), kept(std::move(weights)), later(std::move(parameters)) {}
  const network::Conv2d op;
  const StepWeightsPtr kept;
  const LaterParametersPtr later;
};
using CallPtr = c10::intrusive_ptr<Call>;

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

at::Tensor convolve(const Call& call, const at::Tensor& x, const at::Tensor& weight) {
  const network::Conv2d& op = call.op;
  const at::Tensor values = weight.detach();
  // In float32 reordering weights for a forward pass takes less than a tenth of it: not worth the memory.
  if (!call.kept || x.scalar_type() == at::kFloat) {
    return at::conv2d(x, values.to(x.scalar_type()), {}, sides(op.stride), sides(op.padding), 1, op.groups);
  }
  const OneDnnShape shape{sides(op.stride), sides(op.padding), op.groups};
  return onednn_convolution(x,
                            call.kept->get(values, Order::kForward,
                                           [&] { return onednn_weight(values.to(x.scalar_type()), x.sizes(), shape); }),
                            shape);
}

/// Gradients of the input and of the weight by LibTorch.
std::array<at::Tensor, 2> gradients_of(const network::Conv2d& op, const at::Tensor& x, const at::Tensor& dy,
                                       const at::Tensor& weight, const std::array<bool, 2>& which) {
  auto [dx, dweight, dbias] =
      at::convolution_backward(dy, x, weight.detach().to(x.scalar_type()), at::OptionalIntArrayRef(), sides(op.stride),
                               sides(op.padding), sides(network::Extent2d(1)), /*transposed=*/false,
                               sides(network::Extent2d(0)), op.groups, {which[0], which[1], false});
  return {dx, dweight};
}

at::Tensor input_gradient(const Call& call, const at::Tensor& x, const at::Tensor& dy, const at::Tensor& weight) {
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

at::Tensor weight_gradient(const network::Conv2d& op, const at::Tensor& x, const at::Tensor& dy,
                           const at::Tensor& weight) {
  if (!product_pays(pixels_of(dy), op.out_channels)) {
    return gradients_of(op, x, dy, weight, {false, true})[1].to(at::kFloat, false, false,
                                                                at::MemoryFormat::ChannelsLast);
  }
  const at::Tensor of_outputs = dy.permute({0, 2, 3, 1}).reshape({pixels_of(dy), op.out_channels});
  const at::Tensor product = of_outputs.t().mm(windows(x, op, dy)).to(at::kFloat);
  return product.view({op.out_channels, op.kernel.height, op.kernel.width, x.size(1)}).permute({0, 3, 1, 2});
}

class DirectConvolution : public torch::autograd::Function<DirectConvolution> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& /*anchor*/, const CallPtr& call) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["call"] = at::IValue::make_capsule(call);
    return convolve(*call, x, weight);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const auto call = c10::static_intrusive_pointer_cast<Call>(ctx->saved_data["call"].toCapsule());
    const at::Tensor dy = as_rows(grads[0], x);
    if (call->later) {
      call->later->leave([op = call->op, x = x.detach(), dy, weight] {
        return std::vector<at::Tensor>{weight_gradient(op, x, dy, weight)};
      });
    }
    variable_list gradients(4);
    if (ctx->needs_input_grad(0)) gradients[0] = input_gradient(*call, x, dy, weight);
    if (ctx->needs_input_grad(1)) gradients[1] = weight_gradient(call->op, x, dy, weight);
    return gradients;
  }
};

}  // namespace

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
  const at::Tensor values = weight.detach();
  return DirectConvolution::apply(x, later ? values : weight, later ? LaterParameters::anchor() : values,
                                  c10::make_intrusive<Call>(op, is_kept(op) ? kept : StepWeightsPtr(), later));
}

}  // namespace evener::engine::torch_engine
