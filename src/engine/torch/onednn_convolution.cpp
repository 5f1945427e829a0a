#include "engine/torch/onednn_convolution.h"

namespace evener::engine::torch_engine {
namespace {

using Reorder = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                           at::OptionalIntArrayRef);
using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, at::IntArrayRef,
                             at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, OneDnnScalars,
                             std::optional<std::string_view>);

constexpr std::array<std::int64_t, 2> kNoGaps = {1, 1};

}  // namespace

at::Tensor onednn_weight(const at::Tensor& weight, at::IntArrayRef images, const OneDnnShape& shape) {
  static const auto reorder = onednn_operator<Reorder>("mkldnn::_reorder_convolution_weight");
  return reorder.call(weight, shape.padding, shape.stride, kNoGaps, shape.groups, images);
}

at::Tensor onednn_convolution(const at::Tensor& x, const at::Tensor& weight, const OneDnnShape& shape,
                              const std::optional<at::Tensor>& bias, std::string_view activation,
                              const OneDnnScalars& limits) {
  static const auto convolve = onednn_operator<Pointwise>("mkldnn::_convolution_pointwise");
  return convolve.call(x, weight, bias, shape.padding, shape.stride, kNoGaps, shape.groups, activation, limits, "");
}

}  // namespace evener::engine::torch_engine
