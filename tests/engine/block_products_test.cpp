// Products of rows with rows against plain loops, on every instruction set of this machine.
#include "engine/kernels/block_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/simd_level.h"
#include "engine/kernels/kernels.h"
#include "engine/kernels/levels.h"

namespace evener::engine::kernels {
namespace {

std::vector<const ProductKernels*> product_levels() {
  std::vector<const ProductKernels*> levels = {&baseline::level.products};
  if (simd_level() != SimdLevel::kBaseline) levels.push_back(&avx2::level.products);
  if (simd_level() == SimdLevel::kAvx512) levels.push_back(&avx512::level.products);
  return levels;
}

/// Rows of length 1.
std::vector<float> unit_rows(std::int64_t count, std::int64_t values, std::uint64_t seed) {
  Random random(seed, Purpose::kInit);
  std::vector<float> rows;
  for (std::int64_t row = 0; row < count; ++row) {
    double squares = 0;
    for (std::int64_t i = 0; i < values; ++i) {
      rows.push_back(static_cast<float>(random.normal()));
      squares += static_cast<double>(rows.back()) * rows.back();
    }
    for (auto value = rows.end() - values; value != rows.end(); ++value) {
      *value = static_cast<float>(*value / std::sqrt(squares));
    }
  }
  return rows;
}

double product(const std::vector<float>& a, std::int64_t row, const std::vector<float>& b, std::int64_t other,
               std::int64_t values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values; ++i) {
    sum += static_cast<double>(a[static_cast<std::size_t>(row * values + i)]) *
           b[static_cast<std::size_t>(other * values + i)];
  }
  return sum;
}

template <class T>
void expect_products(const PanelKernels<T>& kernels, double tolerance) {
  // No panel, no tile and no vector divides these.
  constexpr std::int64_t kRows = 101, kValues = 53;
  const std::int64_t panels = (kRows + kernels.columns - 1) / kernels.columns, stride = panels * kernels.columns;
  const std::int64_t room = (kValues + kernels.values - 1) / kernels.values * kernels.values;
  const std::vector<float> block = unit_rows(kRows, kValues, 1);
  std::vector<T> packed(static_cast<std::size_t>(stride * room)),
      scratch(static_cast<std::size_t>(kernels.rows * room));
  kernels.pack({block.data(), kRows, kValues}, packed.data());
  for (const std::int64_t count : {1, 16, 33, 64}) {
    const std::vector<float> others = unit_rows(count, kValues, 2);
    const std::int64_t rows = (count + kernels.rows - 1) / kernels.rows * kernels.rows;
    std::vector<float> out(static_cast<std::size_t>(rows * stride));
    kernels.multiply({others.data(), count, kValues}, packed.data(), panels, out.data(), stride, scratch.data());
    for (std::int64_t other = 0; other < count; ++other) {
      for (std::int64_t row = 0; row < kRows; ++row) {
        ASSERT_NEAR(out[static_cast<std::size_t>(other * stride + row)], product(block, row, others, other, kValues),
                    tolerance)
            << other << " " << row;
      }
    }
  }
}

TEST(ProductKernels, AreThoseOfAPlainLoopOnAllInstructionSets) {
  for (const ProductKernels* level : product_levels()) expect_products(level->fp32, 1e-6);
}

TEST(ProductKernels, TilesOfBfloat16StayWithinTheErrorThatIsPromised) {
  if (!has_bfloat16_tiles()) GTEST_SKIP() << "this processor has no tiles of bfloat16 (AMX)";
  expect_products(amx::tile_table, BlockProducts::largest_error(Precision::kBf16));
}

// The value of all of them lies in the middle between two that bfloat16 has, of which the smaller one is even: nothing
// is rounded by more.
TEST(ProductKernels, TheErrorOfBfloat16ThatIsPromisedIsThatOfTheWorstRows) {
  constexpr double kRounded = 1.0 / 64, kValue = kRounded * (1 + 1.0 / 256);
  constexpr int kValues = 4064;
  static_assert(kValues * kValue * kValue < 1 && (kValues + 1) * kValue * kValue > 1, "rows of a length of nearly 1");
  const double error = kValues * (kValue * kValue - kRounded * kRounded);
  EXPECT_LE(error, BlockProducts::largest_error(Precision::kBf16));
  EXPECT_GE(error, 0.95 * BlockProducts::largest_error(Precision::kBf16)) << "nor is more promised than is needed";
}

TEST(ProductKernels, OfTwoRowsIsThatOfAPlainLoop) {
  for (const std::int64_t values : {1, 5, 53, 200}) {
    const std::vector<float> a = unit_rows(1, values, 1), b = unit_rows(1, values, 2);
    for (const ProductKernels* level : product_levels()) {
      EXPECT_NEAR(level->product(a.data(), b.data(), values), product(a, 0, b, 0, values), 1e-6) << values;
    }
  }
}

TEST(ProductKernels, SquaredDistancesOfNearRowsKeepTheirDigits) {
  for (const std::int64_t values : {1, 5, 53, 200}) {
    const std::vector<float> a = unit_rows(1, values, 1);
    std::vector<float> b = a;
    for (const ProductKernels* level : product_levels()) {
      EXPECT_EQ(level->squared_distance(a.data(), b.data(), values), 0);
    }
    double expected = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] += i % 2 == 0 ? 1e-4F : -2e-4F;
      expected += std::pow(static_cast<double>(a[i]) - b[i], 2);
    }
    for (const ProductKernels* level : product_levels()) {
      EXPECT_NEAR(level->squared_distance(a.data(), b.data(), values) / expected, 1, 1e-5) << values;
    }
  }
}

TEST(ProductKernels, PlacesAreTheOnesNotBelowEitherBound) {
  const std::vector<float> values = unit_rows(1, 61, 3), least_of = unit_rows(1, 61, 4);
  for (const float least : {0.1F, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()}) {
    std::vector<std::int32_t> expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= least || values[i] >= least_of[i]) expected.push_back(static_cast<std::int32_t>(i));
    }
    for (const ProductKernels* level : product_levels()) {
      std::vector<std::int32_t> places(values.size());
      places.resize(
          static_cast<std::size_t>(level->places_not_below(values.data(), least_of.data(), least, 61, places.data())));
      EXPECT_EQ(places, expected) << least;
    }
  }
}

TEST(BlockProducts, ComputesNoMoreOfTheBlockThanIsAsked) {
  const std::vector<float> block = unit_rows(200, 8, 5), others = unit_rows(3, 8, 6);
  const BlockProducts products(block, 8, Precision::kFp32);
  EXPECT_GE(products.stride(), 200);
  AlignedVector<float> out(static_cast<std::size_t>(3 * products.stride()), 77);
  products.multiply(others, 2, out);
  for (std::int64_t other = 0; other < 3; ++other) {
    for (std::int64_t row = 0; row < 2; ++row) {
      EXPECT_NEAR(out[static_cast<std::size_t>(other * products.stride() + row)], product(block, row, others, other, 8),
                  1e-6);
    }
    EXPECT_EQ(out[static_cast<std::size_t>(other * products.stride() + 199)], 77);
  }
}

}  // namespace
}  // namespace evener::engine::kernels
