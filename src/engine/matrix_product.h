// Products of two square matrices on one device: they show the highest rate at which the device can do the operation
// that networks mostly consist of.
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

/// Seconds of one product. Times of copies are absent on devices that compute in host memory.
struct MatrixTimes {
  double product_s = 0;
  std::optional<double> h2d_s, d2h_s;  // copying both factors to the device, and the product back
};

/// Not thread-safe: one thread drives it.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  /// Computes c = a b, all row-major (size, size) in host memory. In bf16 the factors are rounded to bfloat16 first,
  /// which isn't timed; rounds_product() says whether the product is rounded too. Throws Error, and OutOfMemory.
  virtual MatrixTimes multiply(std::span<const float> a, std::span<const float> b, std::span<float> c) = 0;
  /// Whether each value of the product was rounded to bfloat16 at the end.
  virtual bool rounds_product() const = 0;
  /// What computes the product: "LibTorch's at::mm".
  virtual std::string method() const = 0;
};

/// Bytes of host memory that the engine needs in addition to the caller's three float32 matrices.
std::uint64_t copied_matrix_bytes(const MatrixOptions& options);

}  // namespace evener::engine
