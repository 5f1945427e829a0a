#include "base/tensor.h"

#include <gtest/gtest.h>

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
