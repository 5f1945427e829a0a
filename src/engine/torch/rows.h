// Channels-last tensors as rows of channels, the rows divided over LibTorch's threads, and extents as LibTorch takes
// them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/kernels/kernels.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// T: float or kernels::BFloat16.
template <class T>
const kernels::Kernels<T>& kernels_of();
template <>
inline const kernels::Kernels<float>& kernels_of() {
  return kernels::float_kernels();
}
template <>
inline const kernels::Kernels<kernels::BFloat16>& kernels_of() {
  return kernels::bfloat16_kernels();
}

/// A view of a channels-last tensor (N, C, H, W) as N * H * W rows of C values, or of (N, C) as N rows.
template <class T>
struct Rows {
  using Scalar = std::conditional_t<std::is_same_v<T, float>, float, at::BFloat16>;
  T* data;
  std::int64_t rows, channels;

  explicit Rows(const at::Tensor& tensor)
      : data(reinterpret_cast<T*>(tensor.data_ptr<Scalar>())),
        rows(tensor.numel() / tensor.size(1)),
        channels(tensor.size(1)) {}
};

/// Calls body(Rows) for a tensor in float32 or bfloat16.
template <class Body>
auto with_rows(const at::Tensor& tensor, const Body& body) {
  return tensor.scalar_type() == at::kFloat ? body(Rows<float>(tensor)) : body(Rows<kernels::BFloat16>(tensor));
}

/// Whether our kernels can read `tensor`.
inline bool has_rows(const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  return tensor.dim() == 4 && tensor.device().is_cpu() && (type == at::kFloat || type == at::kBFloat16) &&
         tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
}

/// `tensor` in the type of `like`, with its channels together in memory.
inline at::Tensor as_rows(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.to(like.scalar_type())
      .contiguous(tensor.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

/// The number of parts that rows are divided into: one per thread, or a single one where there is too little work to be
/// worth waking other threads.
inline std::int64_t row_parts(std::int64_t rows, std::int64_t channels) {
  constexpr std::int64_t kLeastValues = 32768;
  return std::clamp<std::int64_t>(rows * channels / kLeastValues, 1,
                                  std::min<std::int64_t>(at::get_num_threads(), rows));
}

/// Calls body(part, begin, end) for each part, in parallel.
template <class Body>
void for_row_parts(std::int64_t rows, std::int64_t parts, const Body& body) {
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) body(part, rows * part / parts, rows * (part + 1) / parts);
  });
}

/// Height and width.
inline std::array<std::int64_t, 2> sides(const network::Extent2d& extent) {
  return {extent.height, extent.width};
}

}  // namespace evener::engine::torch_engine
