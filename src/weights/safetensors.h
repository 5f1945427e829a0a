// Reader and writer of safetensors files: 8-byte little-endian header length, JSON header, raw data.
// Format: https://github.com/huggingface/safetensors#format. Files are untrusted: every offset is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace evener::weights {

/// The free-form "__metadata__" table of a file.
using Metadata = std::map<std::string, std::string>;

/// An entry of a file that no HostTensor can hold: a tensor of another type, or something that is no tensor.
struct PassedOver {
  std::string name;
  std::string type;  // as the file calls it: "BOOL", "F8_E4M3"; for no tensor, what it is instead
  std::vector<std::int64_t> shape = {};
};

struct SafetensorsFile {
  TensorMap tensors;
  Metadata metadata;
  std::vector<PassedOver> passed_over = {};
  std::vector<std::string> foreign_names =
      {};  // "module.name" that a PyTorch file asks for beside tensors; none was run
};

/// Reads a whole file; tensors of types that a HostTensor can't hold are named, and checked like the others. Throws
/// Error naming the file, the tensor and what is wrong with it: cut short, header too long or not JSON, overlapping or
/// outside offsets, size and shape that disagree.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

/// Reads the metadata alone, without the tensors' data; the same checks on the header.
Metadata read_safetensors_metadata(const std::filesystem::path& path);

/// Writes to a temporary name beside `path`, syncs, then renames: a file is whole or absent.
void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata = {});

/// The offsets of a file's tensors, as far as a HostTensor could hold them, for readers that map the file into memory.
struct SafetensorsLayout {
  struct Tensor {
    std::string name;
    DType dtype = DType::kU8;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, bytes = 0;  // within the file
  };
  std::vector<Tensor> tensors;  // in the order of their data
  Metadata metadata;

  /// nullptr if there is none of that name.
  const Tensor* find(const std::string& name) const;
};

/// Reads the header alone, with the checks of read_safetensors().
SafetensorsLayout read_safetensors_layout(const std::filesystem::path& path);

/// The name, type and shape of a tensor to be written.
struct TensorDescription {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
};

/// Bytes that the data of `tensors` takes, without the header.
std::uint64_t data_bytes(const std::vector<TensorDescription>& tensors);

/// As write_safetensors, for more data than memory: `fill` writes the tensors' data in the order of `tensors`, exactly
/// as many bytes as they have. Larger element types should come first, so that every tensor starts aligned.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorDescription>& tensors,
                       const Metadata& metadata, const std::function<void(std::ostream&)>& fill);

}  // namespace evener::weights
