// The networks that evener builds, as options name them.
#pragma once

#include <string>
#include <vector>

namespace evener {

/// The names of networks that a shell completes: "resnet18", and "mlp:", which sizes have to follow.
std::vector<std::string> model_names();
/// The same as a list for help texts: "mlp:SIZES[:relu|sigmoid|tanh], resnet18, ...".
std::string model_list();

}  // namespace evener
