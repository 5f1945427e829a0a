// Evaluating a trainer's weights on one part of the data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "engine/engine.h"
#include "task/train.h"

namespace evener::task {

struct Evaluation {
  double loss = 0, accuracy = 0;
  Confusion confusion;
};

/// Mean loss and accuracy over `samples`, and what was taken for what; nothing when a stop was asked for. `part`:
/// "test" or "validation". `classes`: of the data; the network's head may be wider.
std::optional<Evaluation> evaluate(engine::Trainer& trainer, data::Loader& loader, const char* part,
                                   const std::vector<std::uint32_t>& samples, std::size_t classes);

}  // namespace evener::task
