// The files that an ONNX file keeps its tensors in, beside it ("external data").
// Format: https://github.com/onnx/onnx/blob/main/docs/ExternalData.md. Files are untrusted: the fields of the protocol
// buffer are walked through with every length checked; what is no such buffer is left to the reader of networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evener::weights {

/// A tensor whose values lie in another file.
struct ExternalTensor {
  std::string name, file;               // `file`: from the folder of the ONNX file on
  std::uint64_t offset = 0, bytes = 0;  // `bytes`: 0 = to the end of the file
};

/// Those of the graph and of its nodes' attributes; what is damaged ends the list.
std::vector<ExternalTensor> external_tensors(std::string_view onnx);

/// Throws Error naming the file of the values that is missing or too short.
void require_external_data(const std::filesystem::path& onnx);

}  // namespace evener::weights
