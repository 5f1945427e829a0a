// Maps the names of a file's tensors to those of a network's parameters.
#pragma once

#include <string>
#include <vector>

#include "network/network.h"
#include "weights/safetensors.h"

namespace evener::network {

/// Renames the tensors of `file` to those of `network`, by removing a common prefix such as "module.", "_orig_mod." or
/// "model.", or several of these. If the file then has all of the network's tensors, others that stand beside them are
/// dropped ("criterion.weight", "n_averaged", tensors of types that aren't read), but not those of layers that the
/// network lacks. A file with other names stays as it is. Returns sentences about what was done. Throws Error naming
/// `source` where a tensor of the network has a type that isn't read.
std::vector<std::string> adapt_names(const Network& network, weights::SafetensorsFile& file, const std::string& source);

/// Whether there is a tensor for each parameter. num_batches_tracked may be missing: older versions of PyTorch did not
/// have it.
bool has_all_names(const Network& network, const TensorMap& tensors);

}  // namespace evener::network
