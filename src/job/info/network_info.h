// The layers of a network and what they cost, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "network/network.h"
#include "task/training/training_memory.h"

namespace evener::job {

/// `work`: the training whose memory is estimated.
nlohmann::ordered_json network_json(const network::Network& net, const task::TrainingWork& work);
/// A table of its layers, and what it takes to run and to train.
std::string network_text(const network::Network& net, const task::TrainingWork& work);

}  // namespace evener::job
