// Reads weights from a safetensors file or one of PyTorch's own, told apart by their content.
#pragma once

#include <filesystem>

#include "weights/safetensors.h"

namespace evener::weights {

/// Reads the tensors of a file of weights under the file's own names (network::adapt_names renames them to a
/// network's), and its metadata if it has some. Throws Error naming the file and what is wrong with it; for another
/// kind of file the message says what it seems to be.
SafetensorsFile read_weights(const std::filesystem::path& path);

}  // namespace evener::weights
