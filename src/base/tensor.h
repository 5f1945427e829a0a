// Host tensors: plain memory with a type and a shape. The currency between engines, files and tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace evener {

enum class DType : std::uint8_t { kU8, kI32, kI64, kBF16, kF16, kF32, kF64, kI8 };

std::size_t size_bytes(DType dtype);

/// Product of the extents; 1 for a scalar (empty shape). Extents must not be negative.
std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// A dense row-major array in host memory.
struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // element_count(shape) * size_bytes(dtype)

  static HostTensor of_floats(std::vector<std::int64_t> shape, const std::vector<float>& values);
  static HostTensor scalar_i64(std::int64_t value);

  /// float16, bfloat16 and float64 as float32 (rounded to nearest); float32 as it is. Throws Error for other types.
  HostTensor to_floats() const;

  float* floats() { return reinterpret_cast<float*>(bytes.data()); }
  const float* floats() const { return reinterpret_cast<const float*>(bytes.data()); }

  bool operator==(const HostTensor&) const = default;
};

/// Tensors by name, e.g. "layer1.0.conv1.weight".
using TensorMap = std::map<std::string, HostTensor>;

/// "64x3x7x7"; "scalar" for an empty shape.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace evener
