// Finds the files beside an ONNX file in which it keeps tensors ("external data"). Format:
// https://github.com/onnx/onnx/blob/main/docs/ExternalData.md. Files are untrusted: every length in the protocol buffer
// is checked. A file that isn't a protocol buffer is no error here; the reader of networks reports it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evener::weights {

/// A tensor whose values lie in another file.
struct ExternalTensor {
  std::string name, file;               // `file`: relative to the folder of the ONNX file
  std::uint64_t offset = 0, bytes = 0;  // `bytes`: 0 = to the end of the file
};

/// The external tensors of the graph and of its nodes' attributes; the list ends at the first damaged field.
std::vector<ExternalTensor> external_tensors(std::string_view onnx);

/// Throws Error naming an external file that is missing or too short.
void require_external_data(const std::filesystem::path& onnx);

}  // namespace evener::weights
