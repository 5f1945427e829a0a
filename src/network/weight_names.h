// From the names that a file has for its tensors to those of a network.
#pragma once

#include <string>
#include <vector>

#include "network/network.h"
#include "weights/safetensors.h"

namespace evener::network {

/// Makes of a file's tensors those of `network` by their names. The prefix under which it has them, such as "module.",
/// "_orig_mod." and "model." or several of these, is taken away. Where it has all of them, what lies beside is left
/// out: other tensors of the file's ("criterion.weight", "n_averaged"), not layers that the network lacks, and those of
/// types that aren't read. A file with other names stays as it is. Returns what was done, for people. Throws Error
/// naming `source` where a tensor of the network is of a type that isn't read.
std::vector<std::string> adapt_names(const Network& network, weights::SafetensorsFile& file, const std::string& source);

/// Whether each parameter has a tensor of its name; counters, which older PyTorch did not have, need none.
bool has_all_names(const Network& network, const TensorMap& tensors);

}  // namespace evener::network
