#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace evener {
namespace {

TEST(ElementCount, MultipliesTheExtents) {
  EXPECT_EQ(element_count({64, 3, 7, 7}), 9408);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({5, 0}), 0);
}

TEST(ElementCount, RefusesNegativeExtentsAndOverflow) {
  EXPECT_THROW(element_count({2, -1}), Error);
  EXPECT_THROW(element_count({0, -1}), Error);
  EXPECT_THROW(element_count({1LL << 40, 1LL << 40}), Error);
  EXPECT_EQ(element_count({1LL << 40, 1LL << 40, 0}), 0);
}

TEST(HostTensor, HoldsFloatsAndScalars) {
  HostTensor tensor = HostTensor::of_floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.bytes.size(), 16U);
  EXPECT_EQ(tensor.floats()[3], 4.0F);
  const HostTensor scalar = HostTensor::scalar_i64(-7);
  EXPECT_EQ(scalar.dtype, DType::kI64);
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(scalar.bytes.data()), -7);
  EXPECT_THROW(HostTensor::of_floats({3}, {1, 2}), Error);
}

TEST(HostTensor, BecomesFloats) {
  const auto floats = [](DType dtype, const auto& values) {
    HostTensor tensor{dtype, {static_cast<std::int64_t>(values.size())}, {}};
    tensor.bytes.resize(values.size() * sizeof values[0]);
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    const HostTensor result = tensor.to_floats();
    EXPECT_EQ(result.dtype, DType::kF32);
    return std::vector<float>(result.floats(), result.floats() + values.size());
  };
  // One, -2, the largest, the smallest above zero, infinity.
  EXPECT_EQ(floats(DType::kF16, std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00}),
            (std::vector<float>{1, -2, 65504, 0x1p-24F, std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::isnan(floats(DType::kF16, std::vector<std::uint16_t>{0x7e00})[0]));
  EXPECT_EQ(floats(DType::kBF16, std::vector<std::uint16_t>{0x3f80, 0xc040}), (std::vector<float>{1, -3}));
  EXPECT_EQ(floats(DType::kF64, std::vector<double>{0.1, -2}), (std::vector<float>{0.1F, -2}));
  EXPECT_THROW(HostTensor::scalar_i64(1).to_floats(), Error);
}

TEST(SizeBytes, IsThatOfTheType) {
  EXPECT_EQ(size_bytes(DType::kU8), 1U);
  EXPECT_EQ(size_bytes(DType::kBF16), 2U);
  EXPECT_EQ(size_bytes(DType::kF32), 4U);
  EXPECT_EQ(size_bytes(DType::kI64), 8U);
}

TEST(ShapeText, JoinsWithX) {
  EXPECT_EQ(shape_text({64, 3, 7, 7}), "64x3x7x7");
  EXPECT_EQ(shape_text({}), "scalar");
}

}  // namespace
}  // namespace evener
