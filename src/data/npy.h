// Reader of NumPy's array files (.npy, versions 1 to 3).
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Files are untrusted: the header is
// parsed by hand, and sizes are checked against the file.
#pragma once

#include <string>
#include <string_view>

#include "base/tensor.h"

namespace evener::data {

/// An array in row-major order and this machine's byte order, of bytes or of floats of 16, 32 or 64 bits.
/// Throws Error naming the file and what is wrong with it.
HostTensor read_npy(const std::string& path);
/// The same for a file in memory; messages don't name it.
HostTensor parse_npy(std::string_view file);

}  // namespace evener::data
