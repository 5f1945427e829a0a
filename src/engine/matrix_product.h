// Products of two square matrices on one device: what a device can do at most with what all networks consist of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/precision.h"

namespace evener::engine {

struct MatrixOptions {
  Device device;
  std::vector<int> cpus = {};  // CPUs that compute; empty = not pinned
  int threads = 1;
  Precision precision = Precision::kFp32;  // kFp32 or kBf16
  std::int64_t size = 1;                   // rows and columns of each matrix
};

/// Seconds of one product. What is absent doesn't exist on this device, which computes where the matrices lie.
struct MatrixTimes {
  double product_s = 0;
  std::optional<double> h2d_s, d2h_s;  // of both factors to the device, and of the product back
};

/// Not thread-safe: one thread drives it.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  /// c = a b, all row-major (size, size) in host memory. In bf16 the factors are rounded to bfloat16, which no time
  /// counts; whether the product is too says rounds_product(). Throws Error, and OutOfMemory.
  virtual MatrixTimes multiply(std::span<const float> a, std::span<const float> b, std::span<float> c) = 0;
  /// Whether each value of the product was rounded to bfloat16 at the end.
  virtual bool rounds_product() const = 0;
  /// What computes: "LibTorch's at::mm".
  virtual std::string method() const = 0;
};

/// Host memory that the engine takes beside the three matrices in float32, in which it is given them.
std::uint64_t copied_matrix_bytes(const MatrixOptions& options);

}  // namespace evener::engine
