#include "engine/native_mlp/device/matrix_product.h"

#include "base/clock.h"
#include "base/phase.h"
#include "engine/native_mlp/cpu/layers.h"
#include "engine/native_mlp/device/kernels.h"
#include "engine/native_mlp/device/open.h"

namespace evener::engine::native_mlp {
namespace {

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

}  // namespace

std::unique_ptr<MatrixProduct> make_device_matrix_product(const MatrixOptions& options) {
  return std::make_unique<DeviceMatrixProduct>(options);
}

}  // namespace evener::engine::native_mlp
