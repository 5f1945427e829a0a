// Reader and writer of safetensors files: 8-byte little-endian header length, JSON header, raw data.
// Format: https://github.com/huggingface/safetensors#format. Files are untrusted: every offset is checked.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/tensor.h"

namespace evener {

/// The free-form "__metadata__" table of a file.
using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  TensorMap tensors;
  Metadata metadata;
};

/// Reads a whole file. Throws Error naming the file, the tensor and what is wrong with it:
/// cut short, header too long or not JSON, overlapping or outside offsets, size and shape that disagree.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

/// Reads the metadata alone, without the tensors' data; the same checks on the header.
Metadata read_safetensors_metadata(const std::filesystem::path& path);

/// Writes to a temporary name beside `path`, syncs, then renames: a file is whole or absent.
void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace evener
