// The product of two square matrices on one device: made, checked and timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/precision.h"
#include "engine/engine.h"
#include "placement/plan.h"

namespace evener::matmul {

struct MatmulOptions {
  placement::PlanStage stage;
  std::string engine = "auto";
  Precision precision = Precision::kFp32;
  std::int64_t size = 10000;
  int repeats = 10;    // least number of timed products
  double seconds = 1;  // and least time of them all
  std::uint64_t seed = 1;
};

/// How far a product is from the true one, in the row where the difference is largest in proportion to what rounding
/// allows.
struct ProductCheck {
  std::int64_t row = 0;
  double difference = 0, allowed = 0;

  bool passed() const { return difference <= allowed; }
};

/// Freivalds' test: whether c x = a (b x) for a vector x of random signs, row by row, in O(size^2). Matrices are
/// row-major (size, size), with values of `a` and `b` uniform in [-1, 1) and taken as they are (exact in bfloat16 where
/// that was computed in). A row may differ by what rounding makes of it: each value of c is rounded once at the end
/// (`rounded_to_bf16`, else float32), and its sum in float32 has drifted by the roundings of the partial sums, a random
/// walk, of which the order that rounds most is assumed (one term after the other). Of such errors with random signs a
/// row adds up more than eight times their root sum of squares once in 10^13 times (Hoeffding).
/// A single wrong value shows when it is off by more than twice what is allowed for its row.
ProductCheck check_product(std::span<const float> a, std::span<const float> b, std::span<const float> c,
                           std::int64_t size, bool rounded_to_bf16, std::uint64_t seed);

struct MatmulResult {
  ProductCheck check;                   // the worst of the first and the last product
  std::int64_t products = 0;            // timed; one more before them is not
  std::int64_t products_in_sample = 1;  // a sample is the mean of so many: as many as take a hundredth of a second
  std::vector<double> product_s;        // samples of the product alone, in their order
  std::optional<double> h2d_s, d2h_s;   // medians, where the device has memory of its own
};

/// Keeps `found`, the check of a product that passed, in `result` where it is the first one, or comes closer to what
/// rounding allows than the check there.
void keep_worse(const ProductCheck& found, MatmulResult& result);

class MatmulJob {
 public:
  /// Throws UsageError where the engine can't compute such a product, and Error where the matrices don't fit into the
  /// memory that is available.
  explicit MatmulJob(const MatmulOptions& options);
  ~MatmulJob();

  const std::string& engine() const { return engine_name_; }
  std::string method() const { return product_->method(); }
  /// Floating-point operations of a product; multiply and add count as two.
  double flops() const;
  /// Host memory of the matrices and of what the engine copies of them.
  std::uint64_t memory_bytes() const;

  /// `on_product` is called before the first product and its check, which aren't timed, with 0, and after each timed
  /// one with their number and seconds so far. Throws Error naming the row where a product is wrong, and Interrupted
  /// between two products.
  MatmulResult run(const std::function<void(std::int64_t done, double seconds)>& on_product);

 private:
  engine::MatrixOptions matrix_options() const;
  void choose_engine();
  void require_memory() const;
  engine::MatrixTimes multiply();
  void check(MatmulResult& result) const;

  const MatmulOptions options_;
  std::string engine_name_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::MatrixProduct> product_;
  std::vector<float> a_, b_, c_;
};

}  // namespace evener::matmul
