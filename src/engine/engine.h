// An engine makes a Network compute: it trains networks, runs them, or both. Engines are modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/error.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "engine/model_file.h"
#include "engine/runner.h"
#include "engine/trainer.h"
#include "engine/trainer_options.h"
#include "network/network.h"

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

/// Products of two square matrices on one device: they show the highest rate at which the device can do the operation
/// that networks mostly consist of. Not thread-safe: one thread drives it.
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

/// The device has too little memory for what was asked of it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// An engine's interface. What an engine doesn't override is refused, so that it need only have trainers, or runners.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  /// Why the engine can't train this ("" = it can): a layer, a criterion, a precision or a device that it does not
  /// support.
  virtual std::string trainer_refusal(const network::Network& network, const TrainerOptions& options) const;
  /// Bytes of TrainerOptions::shared for `replicas` replicas; 0: replicas of this engine don't share arrays but
  /// exchange gradients.
  virtual std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas) const;
  /// Throws Error with the refusal, and OutOfMemory.
  virtual std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options);

  /// Why the engine can't run this ("" = it can).
  virtual std::string runner_refusal(const network::Network& network, const RunnerOptions& options) const;
  /// Makes a runner with the parameters and buffers in `state` (see Trainer::state). Throws Error with the refusal, or
  /// naming a tensor that is missing or of another shape, and OutOfMemory.
  std::unique_ptr<Runner> make_runner(const network::Network& network, const TensorMap& state,
                                      const RunnerOptions& options) {
    return std::move(make_runners(network, state, options, 1).front());
  }
  /// Makes `count` runners that compute side by side on the same device, each driven by a thread of its own: together
  /// they reach the most images per second. Keeps the weights only once for all of them.
  virtual std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                            const RunnerOptions& options, int count);

  /// Opens a file in which another program keeps a network. Throws Error naming the file and what is wrong with it,
  /// such as an operator that is not known. Reading a foreign file may crash the process, which is why
  /// infer/model/inference_model.cpp tries it in a child process first.
  virtual std::unique_ptr<ModelFile> open_model_file(const std::filesystem::path& path);

  /// Why the engine can't multiply matrices with these options ("" = it can).
  virtual std::string matrix_refusal(const MatrixOptions& options) const;
  /// Throws Error with the refusal, and OutOfMemory.
  virtual std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);
};

/// Why no runner of any engine has these numbers of images, calls and threads; "" = they are possible.
std::string call_refusal(const RunnerOptions& options);

/// The default engine for running networks on a kind of device: OpenVINO on CPUs, or LibTorch if OpenVINO can't be
/// used; LibTorch on GPUs.
std::string usual_runner_engine(DeviceKind kind);

/// Makes all threads of this process share one heap; to be called before the first thread is started, where replicas
/// are threads. Otherwise glibc would give each thread a heap of its own, made of pieces of 64 MB, and would map larger
/// blocks anew at every step.
void share_one_heap();

/// Opens the engine's module. Throws Error with one of the three refusals.
std::unique_ptr<Engine> open_engine(const std::string& name);

}  // namespace evener::engine
