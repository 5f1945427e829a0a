// Converts LibTorch's exceptions in trainers to ours.
#pragma once

#include "base/error.h"
#include "engine/torch/device.h"
#include "engine/torch/errors.h"

namespace evener::engine::torch_engine {

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

}  // namespace evener::engine::torch_engine
