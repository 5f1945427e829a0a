// IDX files (MNIST's format), plain or gzipped. Source: http://yann.lecun.com/exdb/mnist, "file formats".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory.h"

namespace evener::data {

/// An array of bytes with its extents.
struct IdxArray {
  std::vector<std::int64_t> extents;
  PageBytes values;
};

/// What the name of an IDX file says.
struct IdxName {
  std::string prefix;  // before the part: "" or "emnist-letters-"
  bool is_test = false;
  bool has_images = false;  // else labels
};

/// Knows {train,t10k,test}-{images,labels} followed by "idx3", "ubyte" or both, with '-', '.' or '_' between, plain or
/// .gz; nothing for other names and hidden ones.
std::optional<IdxName> parse_idx_name(const std::filesystem::path& path);

/// Parses a whole file held in memory, which must hold unsigned bytes in `dimensions` dimensions. Memory is taken only
/// for what the file can hold. Throws Error with the reason alone: wrong magic number (with the value), absurd extents,
/// cut short, more data than announced, damaged gzip data.
IdxArray parse_idx(std::string_view file, int dimensions);

}  // namespace evener::data
