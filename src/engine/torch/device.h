// The devices that the torch engine computes on, and their settings and memory.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/precision.h"
#include "engine/engine.h"
#include "engine/torch/step_graph.h"

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

}  // namespace evener::engine::torch_engine
