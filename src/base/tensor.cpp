#include "base/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace evener {

std::size_t size_bytes(DType dtype) {
  switch (dtype) {
    case DType::kU8:
    case DType::kI8:
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

namespace {

float from_half(std::uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa != 0 ? std::nanf("") : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <class T, class Convert>
std::vector<std::byte> converted(const std::vector<std::byte>& bytes, Convert convert) {
  std::vector<std::byte> result(bytes.size() / sizeof(T) * sizeof(float));
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    const float number = convert(value);
    std::memcpy(result.data() + i * sizeof number, &number, sizeof number);
  }
  return result;
}

}  // namespace

HostTensor HostTensor::to_floats() const {
  switch (dtype) {
    case DType::kF32:
      return *this;
    case DType::kF16:
      return {DType::kF32, shape, converted<std::uint16_t>(bytes, from_half)};
    case DType::kBF16:
      return {DType::kF32, shape, converted<std::uint16_t>(bytes, from_bfloat)};
    case DType::kF64:
      return {DType::kF32, shape, converted<double>(bytes, [](double value) { return static_cast<float>(value); })};
    default:
      throw Error("a tensor of whole numbers was given where real ones are needed");
  }
}

}  // namespace evener
