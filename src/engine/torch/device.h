// The devices that the torch engine computes on: their settings, memory and threads, and LibTorch's exceptions about
// them.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/precision.h"
#include "engine/engine.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// LibTorch's name of a device that device_refusal() doesn't refuse.
at::Device torch_device(Device device);

/// Why this build can't compute on `device` ("" = it can). For CUDA it opens LibTorch's CUDA libraries, which every
/// process that will use a GPU must do before anything asks LibTorch for devices. It doesn't initialise the driver, so
/// that a process may call it and fork.
std::string device_refusal(Device device);

/// Settings of the whole process: float32 products use TF32 if `precision` is kTf32; if `search`, cuDNN tries all of
/// its algorithms at the first call of a shape; if `deterministic`, the same calls give the same bits. A search takes
/// up to a second for each convolution and thread: it pays in training, which uses one shape thousands of times, but
/// not for a single inference.
void set_up_cuda(Precision precision, bool search, bool deterministic = false);

/// Throws Error where LibTorch doesn't find the GPU. Initialises the driver: child processes forked afterwards can't
/// use it.
void require_cuda(Device device);

/// The module torch_cuda. Throws Error where it can't be used.
CudaParts& cuda_parts();

/// The most memory of `device` that this process held; absent for CPUs.
std::optional<std::uint64_t> peak_memory_bytes(at::Device device);
/// Resets peak_memory_bytes(), after giving memory that is cached but unused back to the device.
void begin_peak_of_memory(at::Device device);
/// Gives cached memory that no tensor uses back to the device.
void release_memory(at::Device device);

/// The message for a batch of `images` images that did not fit on the options' device; 0: something else than a batch
/// did not fit.
std::string out_of_memory_text(const network::Network& network, const TrainerOptions& options, std::int64_t images,
                               const std::string& reason);

/// The first line of the reason: LibTorch's own texts contain a C++ backtrace.
inline std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

inline bool is_out_of_memory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
}

/// Calls `body` and returns its result. LibTorch's exceptions become OutOfMemory, with a message about a batch of
/// `images` images, or Error.
template <class Body>
auto with_trainer_errors(const network::Network& network, const TrainerOptions& options, std::int64_t images,
                         const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw Error("LibTorch: " + first_line(error));
    throw OutOfMemory(out_of_memory_text(network, options, images, first_line(error)));
  }
}

/// Pins this thread to `cpus` (empty: leaves its affinity) and makes it compute with `threads` threads. Must be called
/// before its first parallel region: OpenMP's threads inherit the affinity of the thread that starts them.
void use_threads(int threads, const std::vector<int>& cpus);

/// Sets the number of threads of a thread that may have computed before, without changing its affinity.
void ensure_threads(int threads);

/// Pins this thread to `cpus`, unless an earlier call has done so. LibTorch's threads for the backward passes of GPUs
/// need it: they are started by the thread that does the first backward pass of the process, and inherit its affinity.
void keep_on(const std::vector<int>& cpus);

/// Registers a trainer whose backward passes wait for other replicas, as those with synchronised batch-norm do.
/// LibTorch does all backward passes of a GPU in one thread of the process: a pass that waits there for another replica
/// on the same GPU would wait for ever, since that replica's pass needs the same thread.
class WaitingTrainer {
 public:
  /// Throws Error where this process has such a trainer for `device` already.
  explicit WaitingTrainer(Device device);
  ~WaitingTrainer();
  WaitingTrainer(const WaitingTrainer&) = delete;
  WaitingTrainer& operator=(const WaitingTrainer&) = delete;

 private:
  Device device_;
};

}  // namespace evener::engine::torch_engine
