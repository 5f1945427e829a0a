// A trainer's errors of LibTorch as ours.
#pragma once

#include "base/error.h"
#include "engine/torch/device.h"
#include "engine/torch/errors.h"

namespace evener::engine::torch_engine {

/// What `body` returns. Throws OutOfMemory for a batch of so many images, and Error.
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

}  // namespace evener::engine::torch_engine
