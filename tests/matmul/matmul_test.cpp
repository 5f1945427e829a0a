// Freivalds' test and the products that it checks.
#include "matmul/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/module.h"
#include "base/random.h"
#include "base/stop.h"

namespace evener::matmul {
namespace {

using testing::HasSubstr;

struct Matrices {
  std::int64_t size;
  std::vector<float> a, b, c;
};

/// c in float32, summed one after the other.
Matrices multiplied(std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  Matrices matrices{size, {}, {}, std::vector<float>(n * n)};
  Random random(3, Purpose::kSynthetic);
  for (auto* values : {&matrices.a, &matrices.b}) {
    for (std::size_t i = 0; i < n * n; ++i) values->push_back(static_cast<float>(random.uniform(-1, 1)));
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        matrices.c[row * n + i] += matrices.a[row * n + k] * matrices.b[k * n + i];
      }
    }
  }
  return matrices;
}

ProductCheck checked(const Matrices& matrices, bool rounded = false, std::uint64_t seed = 1) {
  return check_product(matrices.a, matrices.b, matrices.c, matrices.size, rounded, seed);
}

TEST(ProductCheck, TakesWhatRoundingMakesOfAProduct) {
  for (const std::int64_t size : {1, 2, 3, 7, 64, 257}) {
    const Matrices matrices = multiplied(size);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const ProductCheck found = checked(matrices, false, seed);
      EXPECT_TRUE(found.passed()) << size << ": " << found.difference << " of " << found.allowed;
      EXPECT_GT(found.allowed, 0);
    }
  }
}

// A tolerance that nothing exceeds would check nothing: one value of 66,049 that is off by a hundredth shows.
TEST(ProductCheck, FindsASingleWrongValue) {
  Matrices matrices = multiplied(257);
  const float right = matrices.c[100 * 257 + 3];
  matrices.c[100 * 257 + 3] += 0.01F;
  const ProductCheck found = checked(matrices);
  EXPECT_FALSE(found.passed());
  EXPECT_EQ(found.row, 100);
  EXPECT_NEAR(found.difference, 0.01, 0.001);
  matrices.c[100 * 257 + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(checked(matrices).passed()) << "a value that was never written";
  matrices.c[100 * 257 + 3] = right;
  EXPECT_TRUE(checked(matrices).passed());
}

TEST(ProductCheck, AllowsMoreWhereTheProductWasRoundedToBfloat16) {
  Matrices matrices = multiplied(128);
  for (float& value : matrices.c) {
    int exponent = 0;
    const float mantissa = std::frexp(value, &exponent);  // 8 bits of it
    value = std::ldexp(std::nearbyint(mantissa * 256) / 256, exponent);
  }
  EXPECT_TRUE(checked(matrices, true).passed());
  EXPECT_FALSE(checked(matrices, false).passed()) << "in float32 that would be wrong";
}

class Matmul : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  }

  static MatmulOptions options(std::int64_t size) {
    MatmulOptions options;
    options.stage.threads = 2;
    options.engine = "native";
    options.size = size;
    options.repeats = 3;
    options.seconds = 0;
    return options;
  }
};

TEST_F(Matmul, TimesSamplesOfProductsAfterOneThatDoesNotCount) {
  MatmulJob job(options(70));
  std::int64_t last = 0;
  bool saw_first = false;
  const MatmulResult result = job.run([&](std::int64_t done, double seconds) {
    EXPECT_EQ(seconds > 0, done > 0) << "0 products: the one that doesn't count begins";
    saw_first = saw_first || done == 0;
    last = done;
  });
  EXPECT_TRUE(saw_first);
  EXPECT_EQ(result.product_s.size(), 3U);
  EXPECT_EQ(result.products, 3 * result.products_in_sample);
  EXPECT_EQ(last, result.products);
  EXPECT_FALSE(result.h2d_s) << "the processor computes where the matrices lie";
  EXPECT_LE(result.check.difference, result.check.allowed);
  EXPECT_EQ(job.flops(), 2.0 * 70 * 70 * 70);
}

TEST_F(Matmul, RefusesMatricesThatDoNotFitAndSaysWhichWould) {
  try {
    const MatmulJob job(options(1'000'000));
    FAIL() << "a machine with 12 TB of memory";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("12 TB"), HasSubstr("N = ")));
  }
}

TEST_F(Matmul, StopsBetweenProducts) {
  MatmulOptions many = options(30);
  many.seconds = 1e6;
  MatmulJob job(many);
  EXPECT_THROW(job.run([](std::int64_t done, double) {
    if (done > 2) request_stop();
  }),
               Interrupted);
  clear_stop_request();
}

TEST_F(Matmul, SaysWhichEngineCanNot) {
  MatmulOptions elsewhere = options(30);
  elsewhere.stage.device = {DeviceKind::kNpu, 0};
  EXPECT_THROW(MatmulJob{elsewhere}, UsageError);
}

}  // namespace
}  // namespace evener::matmul
