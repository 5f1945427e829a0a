// Smallest ONNX files, for tests of what reads foreign networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace evener::test {

/// One operator with the input "input" of this shape (-1 = any extent) and the output "output".
struct TinyOnnx {
  std::string op = "ReduceMean";  // or "ReduceMax", over `axes`, which vanish; or an operator that nobody knows
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> axes;
};

void write_tiny_onnx(const std::filesystem::path& path, const TinyOnnx& network);

}  // namespace evener::test
