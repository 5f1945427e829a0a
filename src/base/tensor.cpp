#include "base/tensor.h"

#include <cstring>
#include <limits>

#include "base/error.h"

namespace evener {

std::size_t size_bytes(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return 1;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kI32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kF64:
      return 8;
  }
  throw Error("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  // A zero extent makes the product zero, however large the others are; so it is looked for first.
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error("shape " + shape_text(shape) + " has a negative extent");
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw Error("shape " + shape_text(shape) + " has more than " +
                  std::to_string(std::numeric_limits<std::int64_t>::max()) + " elements");
    }
  }
  return count;
}

HostTensor HostTensor::of_floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  const std::int64_t count = element_count(shape);
  if (count != static_cast<std::int64_t>(values.size())) {
    throw Error("shape " + shape_text(shape) + " has " + std::to_string(count) + " elements, but " +
                std::to_string(values.size()) + " values were given");
  }
  HostTensor tensor{DType::kF32, std::move(shape), std::vector<std::byte>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

HostTensor HostTensor::scalar_i64(std::int64_t value) {
  HostTensor tensor{DType::kI64, {}, std::vector<std::byte>(sizeof value)};
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return tensor;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

}  // namespace evener
