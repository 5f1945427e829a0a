#include "engine/torch/depthwise.h"

#include <torch/csrc/autograd/custom_function.h>

#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::DepthwiseShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

DepthwiseShape shape_of(const at::Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const auto extent = [&](std::int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
  return {x.size(0), x.size(1), x.size(2), x.size(3), extent(x.size(2)), extent(x.size(3)), kernel, stride, padding};
}

/// Reorders weights: (C, 1, K, K) -> (K * K, C), so that channels are contiguous.
at::Tensor taps_of(const at::Tensor& weight) {
  return weight.detach().reshape({weight.size(0), -1}).t().contiguous();
}

template <class T>
at::Tensor forward_of(const DepthwiseShape& s, const at::Tensor& x, const at::Tensor& taps) {
  at::Tensor y = at::empty({s.batch, s.channels, s.out_height, s.out_width},
                           x.options().memory_format(at::MemoryFormat::ChannelsLast));
  const Rows<T> in(x), out(y);
  const float* weight = taps.const_data_ptr<float>();
  const std::int64_t rows = s.batch * s.out_height;
  for_row_parts(rows, row_parts(rows, s.out_width * s.channels),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  kernels_of<T>().depthwise_forward(s, in.data, weight, out.data, begin, end);
                });
  return y;
}

struct DepthwiseGradients {
  at::Tensor x, weight;
};

/// Computes both gradients in one walk over blocks of rows, so that rows read for the first gradient are still in the
/// cache for the second.
template <class T>
DepthwiseGradients gradients_of(const DepthwiseShape& s, const at::Tensor& x, const at::Tensor& dy,
                                const at::Tensor& taps) {
  constexpr std::int64_t kRowsTogether = 8;
  DepthwiseGradients gradients{at::empty_like(x), {}};
  const at::Tensor flipped = taps.flip(0);
  const Rows<T> in(x), out_gradient(dy), in_gradient(gradients.x);
  const std::int64_t rows = s.batch * s.out_height;
  const std::int64_t parts = row_parts(rows, s.out_width * s.channels);
  const at::Tensor sums = at::zeros({parts, s.kernel * s.kernel, s.channels}, at::kFloat);
  for_row_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    const at::Tensor some = at::empty_like(taps);
    at::Tensor total = sums[part];
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t image = row / s.out_height, oh = row % s.out_height;
      const std::int64_t last = std::min({row + kRowsTogether, end, (image + 1) * s.out_height});
      const std::int64_t last_oh = last - image * s.out_height;
      // The input rows that belong to these output rows; the image's last output rows take all that remain.
      const std::int64_t ih = std::min(oh * s.stride, s.height);
      const std::int64_t last_ih = last_oh == s.out_height ? s.height : std::min(last_oh * s.stride, s.height);
      kernels_of<T>().depthwise_input_gradient(s, out_gradient.data, taps.const_data_ptr<float>(),
                                               flipped.const_data_ptr<float>(), in_gradient.data, image * s.height + ih,
                                               image * s.height + last_ih);
      // Sums over some rows, then of those: a float32 sum over all pixels would lose digits.
      some.zero_();
      kernels_of<T>().depthwise_weight_gradient(s, in.data, out_gradient.data, some.mutable_data_ptr<float>(), row,
                                                last);
      total.add_(some);
      row = last;
    }
  });
  gradients.weight = sums.sum(0).t().reshape({s.channels, 1, s.kernel, s.kernel});
  return gradients;
}

class DepthwiseFunction : public torch::autograd::Function<DepthwiseFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, std::int64_t stride,
                            std::int64_t padding) {
    const at::Tensor taps = taps_of(weight);
    const DepthwiseShape shape = shape_of(x, weight.size(2), stride, padding);
    ctx->save_for_backward({x, taps});
    ctx->saved_data["kernel"] = weight.size(2);
    ctx->saved_data["stride"] = stride;
    ctx->saved_data["padding"] = padding;
    return x.scalar_type() == at::kFloat ? forward_of<float>(shape, x, taps)
                                         : forward_of<kernels::BFloat16>(shape, x, taps);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &taps = saved[1];
    const at::Tensor dy = as_rows(grads[0], x);
    const DepthwiseShape shape = shape_of(x, ctx->saved_data["kernel"].toInt(), ctx->saved_data["stride"].toInt(),
                                          ctx->saved_data["padding"].toInt());
    const DepthwiseGradients gradients = x.scalar_type() == at::kFloat
                                             ? gradients_of<float>(shape, x, dy, taps)
                                             : gradients_of<kernels::BFloat16>(shape, x, dy, taps);
    return {gradients.x, gradients.weight, {}, {}};
  }
};

}  // namespace

bool is_depthwise(const network::Conv2d& op, std::int64_t in_channels) {
  const bool same_along_both = op.kernel.is_square() && op.stride.is_square() && op.padding.is_square();
  return op.groups > 1 && op.groups == in_channels && op.out_channels == op.groups && !op.bias && same_along_both &&
         kernels::depthwise_supported(op.kernel.height, op.padding.height);
}

at::Tensor depthwise_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op) {
  return DepthwiseFunction::apply(x, weight, op.stride.height, op.padding.height);
}

}  // namespace evener::engine::torch_engine
