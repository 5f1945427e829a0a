// Trainer of perceptrons on an accelerator.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace evener::engine::native_mlp {

/// Why this engine can't train the perceptron on such a device; "" if it can. Whether the device exists is only found
/// out when a trainer is made.
std::string why_not_on_device(const network::Network& network, const TrainerOptions& options);

/// A trainer whose weights, momentum and images stay on the device.
std::unique_ptr<Trainer> make_device_trainer(const network::Network& network, const TrainerOptions& options);

}  // namespace evener::engine::native_mlp
