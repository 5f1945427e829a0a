// What a file says of the network in it, so that it can be used without the command that made it: the same in a run's
// weights and in an exported model.
#pragma once

#include <string>
#include <vector>

#include "network/network.h"
#include "weights/safetensors.h"

namespace evener::task {

struct ModelFacts {
  std::string model;                            // "resnet18"
  std::vector<std::string> classes;             // empty = not known, and not said
  network::Shape input;                         // (C, H, W) or (F)
  std::vector<float> mean, standard_deviation;  // per channel, of value / 255; empty = not known, and not said
};

/// "model", "classes", "input", "mean" and "standard_deviation": lists as JSON.
weights::Metadata model_metadata(const ModelFacts& facts);

}  // namespace evener::task
