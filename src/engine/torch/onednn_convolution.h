// oneDNN's convolutions with weights in an order of its own, by LibTorch's operators for them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace evener::engine::torch_engine {

/// What a convolution is made of, besides its tensors. Windows have no gaps (dilation).
struct OneDnnShape {
  std::array<std::int64_t, 2> stride, padding;  // of rows and columns
  std::int64_t groups = 1;
};

/// `weight` (O, C / groups, KH, KW) in the order that suits images of these sizes (N, C, H, W) best; other sizes may be
/// given to onednn_convolution, too. In bfloat16 this needs AVX-512.
at::Tensor onednn_weight(const at::Tensor& weight, at::IntArrayRef images, const OneDnnShape& shape);

/// Arguments of an activation.
using OneDnnScalars = c10::List<std::optional<at::Scalar>>;

/// `activation`(convolution of `x` + `bias`); `x` is channels-last, as is the result, `weight` by onednn_weight, and
/// `activation` has the name that these operators give it.
at::Tensor onednn_convolution(const at::Tensor& x, const at::Tensor& weight, const OneDnnShape& shape,
                              const std::optional<at::Tensor>& bias = std::nullopt,
                              std::string_view activation = "none", const OneDnnScalars& limits = OneDnnScalars());

/// Looks up one of these operators. They have no C++ functions; TorchInductor calls them by these names.
template <class Signature>
c10::TypedOperatorHandle<Signature> onednn_operator(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

}  // namespace evener::engine::torch_engine
