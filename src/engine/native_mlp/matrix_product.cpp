#include <algorithm>
#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/phase.h"
#include "base/simd_level.h"
#include "engine/engine.h"
#include "engine/kernels/block_products.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/cpu/team.h"
#include "engine/native_mlp/device/accelerator.h"
#include "engine/native_mlp/device/kernels.h"
#include "engine/native_mlp/parts.h"

namespace evener::engine::native_mlp {
namespace {

using kernels::AlignedVector;
using kernels::BlockProducts;

/// By the kernel of a perceptron's layer.
class DeviceMatrixProduct : public MatrixProduct {
 public:
  explicit DeviceMatrixProduct(const MatrixOptions& options)
      : size_(options.size),
        bytes_(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_) * sizeof(float)),
        accelerator_(open_accelerator(options.device)),
        tile_(tile_shape_for(accelerator_->facts())) {
    build_device_kernels(*accelerator_, tile_);
    kernel_ = accelerator_->kernel("forward");
    for (auto* matrix : {&a_, &b_, &c_}) *matrix = accelerator_->allocate(bytes_);
  }

  MatrixTimes multiply(std::span<const float> a, std::span<const float> b, std::span<float> c) override {
    MatrixTimes times;
    times.h2d_s = seconds_of(Phase::kH2D, [&] {
      accelerator_->copy_in(*a_, 0, a.data(), bytes_);
      accelerator_->copy_in(*b_, 0, b.data(), bytes_);
    });
    times.product_s = seconds_of(Phase::kForward, [&] {
      const auto size = static_cast<std::int32_t>(size_);
      const auto identity = static_cast<std::int32_t>(Function::kIdentity);
      const Argument arguments[] = {a_.get(), b_.get(), 0,    /*bias_at=*/-1,     identity, size,
                                    size,     size,     size, /*parts=*/c_.get(), c_.get()};
      accelerator_->launch(*kernel_, tiles_of(tile_, size_, size_), arguments);
    });
    times.d2h_s = seconds_of(Phase::kD2H, [&] { accelerator_->copy_out(c.data(), *c_, 0, bytes_); });
    return times;
  }

  bool rounds_product() const override { return false; }
  std::string method() const override { return "our own kernels"; }

 private:
  /// Seconds of `work`, until the device has finished it.
  template <class Work>
  double seconds_of(Phase phase, const Work& work) {
    const PhaseMark mark(phase);
    const Stopwatch clock;
    work();
    accelerator_->finish();
    return clock.seconds();
  }

  const std::int64_t size_;
  const std::size_t bytes_;
  const std::unique_ptr<Accelerator> accelerator_;
  const TileShape tile_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<DeviceMemory> a_, b_, c_;
};

// The blocks of a thread: kColumns x kSummed values of the right factor are packed (1 MB in float32, to fit into a
// core's second-level cache), and then multiplied with kRows rows of the left one at a time.
constexpr std::int64_t kColumns = 480, kSummed = 512, kRows = 96;
/// The least number of rows that a packed block is used for, so that packing is a small part of the work.
constexpr std::int64_t kRowsOfPiece = 10 * kRows;

struct Extent {
  std::int64_t begin, count;
};

Extent part(std::int64_t index, std::int64_t of, std::int64_t all) {
  return {index * of, std::min(of, all - index * of)};
}

std::int64_t parts(std::int64_t all, std::int64_t of) {
  return (all + of - 1) / of;
}

class CpuMatrixProduct : public MatrixProduct {
 public:
  explicit CpuMatrixProduct(const MatrixOptions& options) : options_(options), team_(options.threads, options.cpus) {}

  MatrixTimes multiply(std::span<const float> a, std::span<const float> b, std::span<float> c) override {
    const std::int64_t columns = parts(options_.size, kColumns), rows = parts(options_.size, kRowsOfPiece);
    std::atomic<std::int64_t> next{0};
    const PhaseMark mark(Phase::kForward);
    const Stopwatch clock;
    team_.run([&](int) {
      for (std::int64_t piece = next++; piece < rows * columns; piece = next++) {
        compute(a, b, c, part(piece / columns, kRowsOfPiece, options_.size),
                part(piece % columns, kColumns, options_.size));
      }
    });
    return {.product_s = clock.seconds(), .h2d_s = {}, .d2h_s = {}};
  }

  bool rounds_product() const override { return false; }
  std::string method() const override {
    return options_.precision == Precision::kBf16 ? "our own kernels (AMX)"
                                                  : std::string("our own kernels (") + simd_level_name() + ")";
  }

 private:
  void compute(std::span<const float> a, std::span<const float> b, std::span<float> c, Extent rows,
               Extent columns) const {
    std::vector<float> packed, left;
    AlignedVector<float> products;
    for (std::int64_t k = 0; k < parts(options_.size, kSummed); ++k) {
      const Extent summed = part(k, kSummed, options_.size);
      turn(b, summed, columns, packed);
      const BlockProducts block(packed, summed.count, options_.precision);
      for (std::int64_t r = 0; r < parts(rows.count, kRows); ++r) {
        const Extent some = part(r, kRows, rows.count);
        take_rows(a, {rows.begin + some.begin, some.count}, summed, left);
        block.multiply(left, columns.count, products);
        for (std::int64_t row = 0; row < some.count; ++row) {
          const float* from = products.data() + row * block.stride();
          float* to = c.data() + (rows.begin + some.begin + row) * options_.size + columns.begin;
          for (std::int64_t i = 0; i < columns.count; ++i) to[i] = k == 0 ? from[i] : to[i] + from[i];
        }
      }
    }
  }

  /// Transposes a part of the right factor into `to` (columns, summed).
  void turn(std::span<const float> b, Extent summed, Extent columns, std::vector<float>& to) const {
    constexpr std::int64_t kAtOnce = 16;  // a cache line of each row
    to.resize(static_cast<std::size_t>(columns.count * summed.count));
    for (std::int64_t first = 0; first < columns.count; first += kAtOnce) {
      const std::int64_t end = std::min(first + kAtOnce, columns.count);
      for (std::int64_t k = 0; k < summed.count; ++k) {
        const float* row = b.data() + (summed.begin + k) * options_.size + columns.begin;
        for (std::int64_t i = first; i < end; ++i) to[static_cast<std::size_t>(i * summed.count + k)] = row[i];
      }
    }
  }

  void take_rows(std::span<const float> a, Extent rows, Extent summed, std::vector<float>& to) const {
    to.resize(static_cast<std::size_t>(rows.count * summed.count));
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const float* from = a.data() + (rows.begin + row) * options_.size + summed.begin;
      std::copy_n(from, summed.count, to.data() + row * summed.count);
    }
  }

  const MatrixOptions options_;
  Team team_;
};

}  // namespace

std::string matrix_refusal(const MatrixOptions& options) {
  if (options.device.kind != DeviceKind::kCpu) {
    if (options.precision == Precision::kFp32) return accelerator_refusal(options.device);
    return "on " + device_text(options.device) + " the native engine computes in fp32, not in " +
           precision_name(options.precision) + "; use --precision fp32";
  }
  if (options.precision == Precision::kFp32) return "";
  if (options.precision == Precision::kBf16 && has_bfloat16_tiles()) return "";
  return std::string("the native engine multiplies matrices in ") + precision_name(options.precision) +
         " only where the processor has products of bfloat16 tiles (AMX), which this one has not; use --engine torch "
         "or --precision fp32";
}

std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options) {
  if (options.device.kind != DeviceKind::kCpu) return std::make_unique<DeviceMatrixProduct>(options);
  return std::make_unique<CpuMatrixProduct>(options);
}

}  // namespace evener::engine::native_mlp
