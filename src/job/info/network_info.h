// The layers of a network and what they cost, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "network/network.h"

namespace evener::job {

nlohmann::ordered_json network_json(const network::Network& net);
/// A table of its layers, and what it takes to run and to train.
std::string network_text(const network::Network& net);

}  // namespace evener::job
