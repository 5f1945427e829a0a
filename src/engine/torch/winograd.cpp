#include "engine/torch/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/simd_level.h"
#include "engine/kernels/winograd.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::WinogradShape;

constexpr float kUnbounded = std::numeric_limits<float>::infinity();
constexpr std::int64_t kChannelBlock = 16;

/// What is multiplied for images of this type.
kernels::WinogradProducts products_of(at::ScalarType type) {
  return type == at::kBFloat16 && fast_bfloat16_products() ? kernels::WinogradProducts::kBFloat16
                                                           : kernels::WinogradProducts::kFloat32;
}

WinogradShape shape_of(const at::Tensor& x, std::int64_t out_channels, std::int64_t padding) {
  return {x.size(0), x.size(2), x.size(3), x.size(1), out_channels, padding, products_of(x.scalar_type())};
}

kernels::WeightSteps steps_of(const at::Tensor& weight) {
  return {weight.stride(0), weight.stride(1), weight.stride(2), weight.stride(3)};
}

/// Describes `weight` (O, C, 3, 3) for the kernels; it has to live as long as the result.
kernels::WinogradWeights weights_of(const at::Tensor& weight) {
  return {weight.const_data_ptr<float>(), steps_of(weight), weight.size(1), weight.size(0)};
}

at::Tensor floats(std::int64_t count) {
  return at::empty({count}, at::kFloat);
}

/// Calls body(kernels) with the kernels for images of `type`.
template <class Body>
void with_kernels(at::ScalarType type, const Body& body) {
  if (type == at::kFloat) return body(kernels::winograd_kernels());
  body(kernels::winograd_bfloat16_kernels(products_of(type)));
}

/// Transforms the weights for a forward pass on images of `type`.
at::Tensor transformed(const kernels::WinogradWeights& weights, at::ScalarType type) {
  const WinogradShape shape{
      .in_channels = weights.in_channels, .out_channels = weights.out_channels, .products = products_of(type)};
  const at::Tensor units = floats(shape.weight_units());
  float* const to = units.mutable_data_ptr<float>();
  with_kernels(type, [&](const auto& kernels) {
    at::parallel_for(0, shape.out_channels / kChannelBlock, 1,
                     [&](std::int64_t begin, std::int64_t end) { kernels.transform_weights(weights, to, begin, end); });
  });
  return units;
}

/// The division of work among threads: the number of parts of the tiles, times that of the panels of output channels.
struct ThreadParts {
  std::int64_t of_tiles, of_channels;
  std::int64_t tiles, panels, out_channels;

  ThreadParts(const WinogradShape& shape, std::int64_t tile_parts, std::int64_t channel_parts)
      : of_tiles(tile_parts),
        of_channels(channel_parts),
        tiles(shape.tiles()),
        panels(panels_of(shape)),
        out_channels(shape.out_channels) {}

  static std::int64_t panels_of(const WinogradShape& shape) {
    return (shape.out_channels + kernels::kWinogradPanel - 1) / kernels::kWinogradPanel;
  }
  std::int64_t count() const { return of_tiles * of_channels; }
  kernels::WinogradPart part(std::int64_t index) const {
    const std::int64_t of_tile = index / of_channels, of_channel = index % of_channels;
    return {tiles * of_tile / of_tiles, tiles * (of_tile + 1) / of_tiles, channel(of_channel), channel(of_channel + 1)};
  }

 private:
  std::int64_t channel(std::int64_t part) const {
    return std::min(panels * part / of_channels * kernels::kWinogradPanel, out_channels);
  }
};

/// The least number of tiles per thread: with fewer, reading all weights takes longer than the products.
constexpr std::int64_t kLeastTiles = 48;

/// Divides a forward pass: by tiles as long as there are enough, then by output channels, whose threads transform the
/// same inputs again.
ThreadParts forward_parts(const WinogradShape& shape) {
  constexpr std::int64_t kLeastProducts = 2 << 20;
  const std::int64_t products = shape.frequencies() * shape.tiles() * shape.in_channels * shape.out_channels;
  const std::int64_t most = std::clamp<std::int64_t>(products / kLeastProducts, 1, at::get_num_threads());
  const std::int64_t by_tiles = std::clamp<std::int64_t>(shape.tiles() / kLeastTiles, 1, most);
  const std::int64_t of_channels = std::min((most + by_tiles - 1) / by_tiles, ThreadParts::panels_of(shape));
  return {shape, std::clamp<std::int64_t>(most / of_channels, 1, shape.tiles()), of_channels};
}

/// Divides the gradient of the weights: by panels of output channels as long as there are enough, since each thread
/// then has fewer sums; beyond that by tiles, whose sums have to be added up at the end.
ThreadParts gradient_parts(const WinogradShape& shape) {
  const std::int64_t threads = at::get_num_threads();
  const std::int64_t of_channels = std::min(threads, ThreadParts::panels_of(shape));
  return {shape,
          std::clamp<std::int64_t>(shape.tiles() / kLeastTiles, 1, std::max<std::int64_t>(threads / of_channels, 1)),
          of_channels};
}

/// The values of a tensor of T, or null where it is undefined.
template <class T>
T* values_of(const at::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<T*>(tensor.data_ptr<typename Rows<T>::Scalar>()) : nullptr;
}

at::Tensor convolve(const WinogradShape& shape, const at::Tensor& x, const at::Tensor& transformed,
                    const WinogradRest& rest = {.bias = {}, .clamp = {-kUnbounded, kUnbounded}}) {
  const at::Tensor y = at::empty({shape.batch, shape.out_channels, shape.out_height(), shape.out_width()},
                                 x.options().memory_format(at::MemoryFormat::ChannelsLast));
  with_kernels(x.scalar_type(), [&]<class T>(const kernels::WinogradKernels<T>& kernels) {
    const kernels::WinogradForward<T> work{.shape = shape,
                                           .x = values_of<T>(x),
                                           .weights = values_of<float>(transformed),
                                           .y = values_of<T>(y),
                                           .bias = values_of<float>(rest.bias),
                                           .residual = values_of<T>(rest.residual),
                                           .clamp = rest.clamp};
    const ThreadParts parts = forward_parts(shape);
    at::parallel_for(0, parts.count(), 1, [&](std::int64_t first, std::int64_t last) {
      const at::Tensor scratch = floats(kernels::winograd_scratch_units(shape));
      for (std::int64_t part = first; part < last; ++part) {
        kernels.forward(work, scratch.mutable_data_ptr<float>(), parts.part(part));
      }
    });
  });
  return y;
}

at::Tensor weight_gradient(const WinogradShape& shape, const at::Tensor& x, const at::Tensor& dy,
                           const at::Tensor& weight) {
  const ThreadParts parts = gradient_parts(shape);
  // Zeros, since the gaps between values are never written, but are added up too.
  at::Tensor sums = at::zeros({parts.of_tiles, shape.sum_values()}, at::kFloat);
  with_kernels(x.scalar_type(), [&]<class T>(const kernels::WinogradKernels<T>& kernels) {
    at::parallel_for(0, parts.count(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t index = first; index < last; ++index) {
        const kernels::WinogradPart part = parts.part(index);
        float* const own = sums.mutable_data_ptr<float>() + index / parts.of_channels * shape.sum_values();
        const kernels::WinogradGradient<T> work{
            .shape = shape, .x = values_of<T>(x), .dy = values_of<T>(dy), .sums = own, .part = part};
        const at::Tensor scratch =
            floats(kernels::winograd_gradient_scratch_units(shape, part.last_channel - part.first_channel));
        kernels.sum_gradient(work, scratch.mutable_data_ptr<float>());
      }
    });
  });
  if (parts.of_tiles > 1) sums = sums.sum(0);
  at::Tensor gradient = at::empty_like(weight);
  float* const to = gradient.mutable_data_ptr<float>();
  with_kernels(x.scalar_type(), [&](const auto& kernels) {
    at::parallel_for(0, shape.out_channels / kChannelBlock, 1, [&](std::int64_t begin, std::int64_t end) {
      kernels.finish_gradient(shape, sums.const_data_ptr<float>(), to, steps_of(gradient), begin, end);
    });
  });
  return gradient;
}

/// What `make` gives, called once a step where weights are kept.
at::Tensor kept_or(const StepWeightsPtr& kept, const at::Tensor& weight, StepWeights::Order order,
                   const std::function<at::Tensor()>& make) {
  return kept ? kept->get(weight, order, make) : make();
}

struct Winograd {
  static WinogradShape shape_of(const network::Conv2d& op, const at::Tensor& x) {
    return torch_engine::shape_of(x, op.out_channels, op.padding.height);
  }

  static at::Tensor convolved(const ConvolutionCall& call, const at::Tensor& x, const at::Tensor& weight) {
    const auto make = [&] { return transformed(weights_of(weight), x.scalar_type()); };
    return convolve(shape_of(call.op, x), x, kept_or(call.kept, weight, StepWeights::Order::kWinogradForward, make));
  }

  static at::Tensor input_gradient(const ConvolutionCall& call, const at::Tensor& x, const at::Tensor& dy,
                                   const at::Tensor& weight) {
    const auto make = [&] { return transformed(weights_of(weight).turned(), dy.scalar_type()); };
    return convolve(shape_of(call.op, x).turned(), dy,
                    kept_or(call.kept, weight, StepWeights::Order::kWinogradBackward, make));
  }

  static at::Tensor weight_gradient(const network::Conv2d& op, const at::Tensor& x, const at::Tensor& dy,
                                    const at::Tensor& weight) {
    return torch_engine::weight_gradient(shape_of(op, x), x, dy, weight);
  }
};

}  // namespace

bool winograd_supported(const network::Conv2d& op, const network::Shape& input) {
  if (op.kernel != network::Extent2d(3) || op.stride != network::Extent2d(1)) return false;
  if (!op.padding.is_square() || op.groups != 1 || op.bias || input.size() != 3) return false;
  return kernels::winograd_supported({1, input[1], input[2], input[0], op.out_channels, op.padding.height});
}

bool winograd_pays_in(at::ScalarType type) {
  return type == at::kFloat || (type == at::kBFloat16 && !has_bfloat16_tiles());
}

bool takes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch, at::ScalarType type,
                    ConvolutionChoice choice, bool keeps_weights) {
  if (choice == ConvolutionChoice::kDirect || !winograd_supported(op, input)) return false;
  if (choice == ConvolutionChoice::kWinograd) return true;
  if (!winograd_pays_in(type)) return false;
  const WinogradShape shape{batch, input[1], input[2], input[0], op.out_channels, op.padding.height, products_of(type)};
  struct Bounds {
    std::int64_t fewest_channels, most_channels, fewest_tiles;
    double most_multiplications;  // of those of a direct convolution
  };
  const Bounds bounds =
      shape.products == kernels::WinogradProducts::kFloat32 ? Bounds{32, 256, 100, 0.4} : Bounds{64, 512, 400, 0.6};
  const auto [fewer, more] = std::minmax(input[0], op.out_channels);
  const auto multiplications = static_cast<double>(shape.frequencies() * shape.tiles());
  const auto direct = static_cast<double>(9 * batch * shape.out_height() * shape.out_width());
  const std::int64_t fewest_tiles = keeps_weights ? std::min(kLeastTiles, bounds.fewest_tiles) : bounds.fewest_tiles;
  return fewer >= bounds.fewest_channels && more <= bounds.most_channels && shape.tiles() >= fewest_tiles &&
         multiplications <= bounds.most_multiplications * direct;
}

at::Tensor winograd_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                                const StepWeightsPtr& kept, const LaterParametersPtr& later) {
  return OwnConvolution<Winograd>::of(x, weight, c10::make_intrusive<ConvolutionCall>(op, kept, later));
}

at::Tensor winograd_weights(const at::Tensor& weight, at::ScalarType type) {
  return transformed(weights_of(weight), type);
}

at::Tensor winograd_inference(const at::Tensor& x, const at::Tensor& transformed, std::int64_t out_channels,
                              std::int64_t padding, const WinogradRest& rest) {
  return convolve(shape_of(x, out_channels, padding), x, transformed, rest);
}

}  // namespace evener::engine::torch_engine
