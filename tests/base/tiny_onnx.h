// Smallest ONNX files, for tests of what reads foreign networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace evener::test {

/// One operator with the input "input" of this shape (-1 = any extent) and the output "output".
struct TinyOnnx {
  std::string op = "ReduceMean";  // or "ReduceMax", over `axes`, which vanish; or an operator that nobody knows
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> axes;
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

namespace tiny_onnx {
// Protobuf's wire format: each field begins with its number and its kind; the numbers are those of onnx.proto.

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

inline std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string bytes(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

/// ValueInfoProto: floats of a shape.
inline std::string value_info(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += bytes(1, extent < 0 ? bytes(2, "any") : number(1, extent));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, extents)));
}

}  // namespace tiny_onnx

inline void write_tiny_onnx(const std::filesystem::path& path, const TinyOnnx& network) {
  using namespace tiny_onnx;
  std::string axes = bytes(1, "axes");
  for (const std::int64_t axis : network.axes) axes += number(8, axis);
  axes += number(20, 7);  // its type: a list of numbers
  const std::string keep = bytes(1, "keepdims") + number(3, 0) + number(20, 2);
  const std::string node =
      bytes(1, "input") + bytes(2, "output") + bytes(4, network.op) + bytes(5, axes) + bytes(5, keep);
  std::vector<std::int64_t> output;
  for (std::size_t i = 0; i < network.input.size(); ++i) {
    if (std::ranges::find(network.axes, static_cast<std::int64_t>(i)) == network.axes.end()) {
      output.push_back(network.input[i]);
    }
  }
  const std::string graph = bytes(1, node) + bytes(2, "tiny") + bytes(11, value_info("input", network.input)) +
                            bytes(12, value_info("output", output));
  const std::string opset = bytes(1, "") + number(2, 13);
  std::string facts;
  for (const auto& [key, value] : network.metadata) facts += bytes(14, bytes(1, key) + bytes(2, value));
  std::ofstream(path, std::ios::binary) << number(1, 8) << bytes(7, graph) << bytes(8, opset) << facts;
}

}  // namespace evener::test
