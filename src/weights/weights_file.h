// Reads weights from a safetensors file or one of PyTorch's own, told apart by their content.
#pragma once

#include <filesystem>

#include "weights/safetensors.h"

namespace evener::weights {

/// Throws Error where another thing came in place of the file: a pointer of Git LFS, or the page of a failed download.
/// For readers of weights and models, before they look at the format.
void require_downloaded(const std::filesystem::path& path);

/// Reads the tensors of a file of weights under the file's own names (network::adapt_names renames them to a
/// network's), and its metadata if it has some. Throws Error naming the file and what is wrong with it; for another
/// kind of file the message says what it seems to be.
SafetensorsFile read_weights(const std::filesystem::path& path);

}  // namespace evener::weights
