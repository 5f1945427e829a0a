// Reads weights from a file of any kind that is known, chosen by its content: safetensors, or PyTorch's own.
#pragma once

#include <filesystem>

#include "weights/safetensors.h"

namespace evener::weights {

/// The tensors of a file of weights by the names that it has for them (network::name_as_in brings those of a network),
/// and the metadata if it has some. Throws Error naming the file and what is wrong with it; a file of another kind is
/// refused by saying what it seems to be.
SafetensorsFile read_weights(const std::filesystem::path& path);

}  // namespace evener::weights
