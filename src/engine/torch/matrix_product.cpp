#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"
#include "engine/engine.h"
#include "engine/torch/device.h"
#include "engine/torch/parts.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {
namespace {

template <class Body>
auto with_matrix_errors(const MatrixOptions& options, const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw Error("LibTorch: " + first_line(error));
    throw OutOfMemory("out of memory on " + device_text(options.device) + " with matrices of " +
                      std::to_string(options.size) + " x " + std::to_string(options.size) + " (" + first_line(error) +
                      "); use a smaller N");
  }
}

class TorchMatrixProduct : public MatrixProduct {
 public:
  explicit TorchMatrixProduct(const MatrixOptions& options)
      : options_(options),
        streams_(torch_device(options.device)),
        type_(options.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat) {
    use_threads(options_.threads, {});
    if (streams_.asynchronous()) set_up_cuda(options_.precision, /*search=*/false);
    with_matrix_errors(options_, [&] {
      const WorkingIn working(streams_.compute());
      if (streams_.asynchronous()) {
        a_ = own_matrix();
        b_ = own_matrix();
      }
      if (streams_.asynchronous() || type_ != at::kFloat) c_ = own_matrix();
    });
  }

  MatrixTimes multiply(std::span<const float> a, std::span<const float> b, std::span<float> c) override {
    const PinnedTo computing(options_.cpus);
    ensure_threads(options_.threads);
    const c10::NoGradGuard no_grad;
    const WorkingIn working(streams_.compute());
    return with_matrix_errors(options_, [&] {
      // The const_casts are harmless: the first two are only read.
      const at::Tensor left = as_computed(view(const_cast<float*>(a.data())));
      const at::Tensor right = as_computed(view(const_cast<float*>(b.data())));
      at::Tensor product = view(c.data());
      return streams_.asynchronous() ? on_device(left, right, product) : on_host(left, right, product);
    });
  }

  bool rounds_product() const override { return type_ != at::kFloat; }
  std::string method() const override { return "LibTorch's at::mm"; }

 private:
  at::Tensor view(float* values) const {
    return at::from_blob(values, {options_.size, options_.size}, at::TensorOptions().dtype(at::kFloat));
  }
  at::Tensor as_computed(const at::Tensor& matrix) const { return matrix.to(type_); }
  at::Tensor own_matrix() const {
    return at::empty({options_.size, options_.size}, at::TensorOptions().dtype(type_).device(streams_.device()));
  }

  MatrixTimes on_host(const at::Tensor& left, const at::Tensor& right, at::Tensor& product) {
    at::Tensor& result = type_ == at::kFloat ? product : c_;
    MatrixTimes times;
    {
      const PhaseMark mark(Phase::kForward);
      const Stopwatch clock;
      at::mm_out(result, left, right);
      times.product_s = clock.seconds();
    }
    if (type_ != at::kFloat) product.copy_(result);
    return times;
  }

  MatrixTimes on_device(const at::Tensor& left, const at::Tensor& right, at::Tensor& product) {
    MatrixTimes times;
    times.h2d_s = seconds_of(Phase::kH2D, [&] {
      a_.copy_(left);
      b_.copy_(right);
    });
    times.product_s = seconds_of(Phase::kForward, [&] { at::mm_out(c_, a_, b_); });
    at::Tensor back;
    times.d2h_s = seconds_of(Phase::kD2H, [&] { back = c_.to(at::kCPU); });
    product.copy_(back);
    return times;
  }

  /// Seconds of `work` by the device's own clock; waits for the device.
  template <class Work>
  double seconds_of(Phase phase, const Work& work) {
    const PhaseMark mark(phase);
    Moment begin(streams_, /*timed=*/true), end(streams_, /*timed=*/true);
    begin.record(streams_.compute());
    work();
    end.record(streams_.compute());
    end.wait();
    return end.seconds_since(begin);
  }

  const MatrixOptions options_;
  Streams streams_;
  const at::ScalarType type_;
  at::Tensor a_, b_, c_;  // the matrices in device memory; on the CPU only the product in bfloat16 is used
};

}  // namespace

std::string matrix_refusal(const MatrixOptions& options) {
  if (options.precision != Precision::kFp32 && options.precision != Precision::kBf16) {
    return std::string("products of matrices are computed in fp32 or bf16, not in ") +
           precision_name(options.precision);
  }
  return device_refusal(options.device);
}

std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options) {
  return std::make_unique<TorchMatrixProduct>(options);
}

}  // namespace evener::engine::torch_engine
