// The devices that the torch engine computes on, and what only some of them have.
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

/// Of one that device_refusal() doesn't refuse.
at::Device torch_device(Device device);

/// Why `device` can't be computed on by this build ("" = it can). For CUDA it opens LibTorch's CUDA libraries, which
/// has to happen before anything asks LibTorch for devices, in every process that will use one; it doesn't ask the
/// driver, so that a process may do it and fork.
std::string device_refusal(Device device);

/// For the whole process: makes products of float32 use TF32 where `precision` says so, and lets cuDNN try all of its
/// algorithms at the first call of a shape, if `search`. A search takes up to a second for each convolution and thread:
/// a training makes up for it, which calls one shape thousands of times; an answer doesn't. `deterministic`: the same
/// calls give the same bits.
void set_up_cuda(Precision precision, bool search, bool deterministic = false);

/// Throws Error where LibTorch finds no GPU in this process. Asks the driver: children can't use it afterwards.
void require_cuda(Device device);

/// The module torch_cuda. Throws Error where it can't be used.
CudaParts& cuda_parts();

/// The most memory of `device` that this process held; absent for CPUs.
std::optional<std::uint64_t> peak_memory_bytes(at::Device device);
/// From now on peak_memory_bytes() is that of what comes: what this process kept of earlier work goes back.
void begin_peak_of_memory(at::Device device);
/// Gives memory that no tensor uses back to the device.
void release_memory(at::Device device);

/// What to say when a batch of so many images did not fit on the options' device; 0: of something else than a batch.
std::string out_of_memory_text(const network::Network& network, const TrainerOptions& options, std::int64_t images,
                               const std::string& reason);

}  // namespace evener::engine::torch_engine
