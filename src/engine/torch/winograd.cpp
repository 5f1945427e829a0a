#include "engine/torch/winograd.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

#include "engine/kernels/winograd.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::WinogradShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kChannelBlock = 16;

WinogradShape shape_of(const at::Tensor& x, std::int64_t out_channels, std::int64_t padding) {
  return {x.size(0), x.size(2), x.size(3), x.size(1), out_channels, padding};
}

kernels::WeightSteps steps_of(const at::Tensor& weight) {
  return {weight.stride(0), weight.stride(1), weight.stride(2), weight.stride(3)};
}

at::Tensor floats(std::int64_t count) {
  return at::empty({count}, at::kFloat);
}

/// As the forward pass of images of `shape` takes them.
at::Tensor transformed(const WinogradShape& shape, const kernels::WinogradWeights& weights) {
  const at::Tensor values = floats(shape.weight_values());
  float* const to = values.mutable_data_ptr<float>();
  at::parallel_for(0, shape.out_channels / kChannelBlock, 1, [&](std::int64_t begin, std::int64_t end) {
    kernels::winograd_kernels().transform_weights(weights, to, begin, end);
  });
  return values;
}

at::Tensor convolve(const WinogradShape& shape, const at::Tensor& x, const kernels::WinogradWeights& weights) {
  const at::Tensor y = at::empty({shape.batch, shape.out_channels, shape.out_height(), shape.out_width()},
                                 x.options().memory_format(at::MemoryFormat::ChannelsLast));
  const at::Tensor values = transformed(shape, weights);
  const kernels::WinogradForward work{.shape = shape,
                                      .x = x.const_data_ptr<float>(),
                                      .weights = values.const_data_ptr<float>(),
                                      .y = y.mutable_data_ptr<float>(),
                                      .clamp = {-kInfinity, kInfinity}};
  const std::int64_t tiles = shape.tiles();
  for_row_parts(tiles, row_parts(tiles, shape.in_channels * 16),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  const at::Tensor scratch = floats(kernels::winograd_scratch_values(shape));
                  kernels::winograd_kernels().forward(work, scratch.mutable_data_ptr<float>(), begin, end);
                });
  return y;
}

/// How the gradient of the weights is divided over the threads: by output channels as far as there are panels of them,
/// since each then has less to sum, and beyond that by tiles, whose sums are added up at the end.
struct GradientParts {
  std::int64_t of_channels, of_tiles;

  explicit GradientParts(const WinogradShape& shape) {
    constexpr std::int64_t kLeastTiles = 48;
    const std::int64_t threads = at::get_num_threads();
    const std::int64_t panels = (shape.out_channels + kernels::kWinogradPanel - 1) / kernels::kWinogradPanel;
    of_channels = std::min(threads, panels);
    of_tiles =
        std::clamp<std::int64_t>(shape.tiles() / kLeastTiles, 1, std::max<std::int64_t>(threads / of_channels, 1));
  }
};

at::Tensor weight_gradient(const WinogradShape& shape, const at::Tensor& x, const at::Tensor& dy,
                           const at::Tensor& weight) {
  const GradientParts parts(shape);
  // Zeros also between the values, where nothing is written.
  at::Tensor sums = at::zeros({parts.of_tiles, shape.weight_values()}, at::kFloat);
  const std::int64_t panels = (shape.out_channels + kernels::kWinogradPanel - 1) / kernels::kWinogradPanel;
  const auto channel = [&](std::int64_t part) {
    return std::min(panels * part / parts.of_channels * kernels::kWinogradPanel, shape.out_channels);
  };
  at::parallel_for(0, parts.of_tiles * parts.of_channels, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t of_tiles = part / parts.of_channels, of_channels = part % parts.of_channels;
      const kernels::WinogradGradient work{.shape = shape,
                                           .x = x.const_data_ptr<float>(),
                                           .dy = dy.const_data_ptr<float>(),
                                           .sums = sums.mutable_data_ptr<float>() + of_tiles * shape.weight_values(),
                                           .first_tile = shape.tiles() * of_tiles / parts.of_tiles,
                                           .last_tile = shape.tiles() * (of_tiles + 1) / parts.of_tiles,
                                           .first_channel = channel(of_channels),
                                           .last_channel = channel(of_channels + 1)};
      const at::Tensor scratch = floats(kernels::winograd_gradient_scratch_values(work));
      kernels::winograd_kernels().sum_gradient(work, scratch.mutable_data_ptr<float>());
    }
  });
  if (parts.of_tiles > 1) sums = sums.sum(0);
  at::Tensor gradient = at::empty_like(weight);
  float* const to = gradient.mutable_data_ptr<float>();
  at::parallel_for(0, shape.out_channels / kChannelBlock, 1, [&](std::int64_t begin, std::int64_t end) {
    kernels::winograd_kernels().finish_gradient(shape, sums.const_data_ptr<float>(), to, steps_of(gradient), begin,
                                                end);
  });
  return gradient;
}

class WinogradFunction : public torch::autograd::Function<WinogradFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, std::int64_t padding) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["padding"] = padding;
    const WinogradShape shape = shape_of(x, weight.size(0), padding);
    return convolve(shape, x,
                    {weight.const_data_ptr<float>(), steps_of(weight), shape.in_channels, shape.out_channels});
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor dy = as_rows(grads[0], x);
    const WinogradShape shape = shape_of(x, weight.size(0), ctx->saved_data["padding"].toInt());
    const kernels::WinogradWeights weights{weight.const_data_ptr<float>(), steps_of(weight), shape.in_channels,
                                           shape.out_channels};
    variable_list gradients(3);
    if (ctx->needs_input_grad(0)) gradients[0] = convolve(shape.turned(), dy, weights.turned());
    if (ctx->needs_input_grad(1)) gradients[1] = weight_gradient(shape, x, dy, weight);
    return gradients;
  }
};

}  // namespace

bool winograd_supported(const network::Conv2d& op, const network::Shape& input) {
  if (op.kernel != network::Extent2d(3) || op.stride != network::Extent2d(1)) return false;
  if (!op.padding.is_square() || op.groups != 1 || op.bias || input.size() != 3) return false;
  return kernels::winograd_supported({1, input[1], input[2], input[0], op.out_channels, op.padding.height});
}

bool takes_winograd(const network::Conv2d& op, const network::Shape& input, ConvolutionChoice choice) {
  if (choice == ConvolutionChoice::kDirect || !winograd_supported(op, input)) return false;
  if (choice == ConvolutionChoice::kWinograd) return true;
  constexpr std::int64_t kFewest = 32, kMost = 256;
  const auto [fewer, more] = std::minmax(input[0], op.out_channels);
  const WinogradShape shape{1, input[1], input[2], input[0], op.out_channels, op.padding.height};
  const std::int64_t multiplications = 36 * shape.tiles(), direct = 9 * shape.out_height() * shape.out_width();
  return fewer >= kFewest && more <= kMost && multiplications * 5 <= direct * 3;
}

at::Tensor winograd_convolution(const at::Tensor& x, const at::Tensor& weight, std::int64_t padding) {
  return WinogradFunction::apply(x, weight, padding);
}

}  // namespace evener::engine::torch_engine
