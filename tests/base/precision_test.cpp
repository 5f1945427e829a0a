#include "base/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace evener {
namespace {

TEST(Precision, NamesAreReadBack) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  }
  try {
    parse_precision("bf61");
    ADD_FAILURE() << "an unknown name was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'bf16'"));
  }
}

TEST(Precision, HasBits) {
  EXPECT_EQ(activation_bits(Precision::kFp32), 32);
  EXPECT_EQ(activation_bits(Precision::kTf32), 32);
  EXPECT_EQ(activation_bits(Precision::kBf16), 16);
  EXPECT_EQ(activation_bits(Precision::kFp16), 16);
}

TEST(Precision, CpusComputeBf16InPlaceOfFp16AndSaySo) {
  EXPECT_EQ(computed_precision(Precision::kFp16, DeviceKind::kCpu), Precision::kBf16);
  EXPECT_EQ(computed_precision(Precision::kTf32, DeviceKind::kCpu), Precision::kFp32);
  EXPECT_EQ(computed_precision(Precision::kFp16, DeviceKind::kCuda), Precision::kFp16);
  EXPECT_EQ(precision_fallback(Precision::kFp16, DeviceKind::kCpu),
            "fp16 was computed as bf16: the CPU has no fast fp16 products");
  EXPECT_EQ(precision_fallback(Precision::kBf16, DeviceKind::kCpu), "");
  EXPECT_EQ(precision_fallback(Precision::kTf32, DeviceKind::kCuda), "");
}

TEST(Precision, ACpuSaysWhetherItMultipliesBf16Fast) {
  EXPECT_TRUE(has_fast_bf16({"avx2", "avx512_bf16"}));
  EXPECT_TRUE(has_fast_bf16({"amx_bf16"}));
  EXPECT_FALSE(has_fast_bf16({"avx2", "avx512f"}));
}

}  // namespace
}  // namespace evener
