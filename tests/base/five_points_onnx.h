// Small ONNX files of face detectors with five points, for tests of what finds faces by files: they take bright squares
// of 32 pixels for faces.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/tiny_onnx.h"

namespace evener::test {

/// For strides of 8, 16 and 32 a place's score is the mean of its square's values, less than 0 being 0; at the two
/// smaller strides a quarter of it. The box is the square, the points lie at a quarter and three quarters of it.
struct FivePointsOnnx {
  std::vector<std::int64_t> input = {1, 3, 64, 96};
  /// By which the three channels, in the network's order, are multiplied for the mean.
  std::vector<float> channels = {1, 1, 1};
  bool is_yunet = false;    // with two scores, and boxes and points as YuNet has them; else SCRFD with one anchor
  bool has_points = true;   // of SCRFD
  bool has_batch = true;    // as the first extent of outputs
  float height = 1;         // of SCRFD's boxes, in sides of the square
  bool takes_last = false;  // channels stand last in the input
};

namespace tiny_onnx {

inline std::string floats(const std::string& name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& values) {
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  std::string tensor;
  for (const std::int64_t dim : dims) tensor += number(1, dim);
  return tensor + number(2, 1) + bytes(8, name) + bytes(9, raw);
}

inline std::string whole_numbers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * sizeof(std::int64_t), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return number(1, static_cast<std::int64_t>(values.size())) + number(2, 7) + bytes(8, name) + bytes(9, raw);
}

inline std::string list_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string attribute = bytes(1, name);
  for (const std::int64_t value : values) attribute += number(8, value);
  return attribute + number(20, 7);
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                        const std::vector<std::string>& attributes = {}) {
  std::string text;
  for (const std::string& input : inputs) text += bytes(1, input);
  text += bytes(2, output) + bytes(4, op);
  for (const std::string& attribute : attributes) text += bytes(5, attribute);
  return text;
}

}  // namespace tiny_onnx

inline void write_five_points_onnx(const std::filesystem::path& path, const FivePointsOnnx& network) {
  using namespace tiny_onnx;
  std::string graph;
  if (network.takes_last) {
    graph += bytes(1, node("Transpose", {"input"}, "planes", {list_attribute("perm", {0, 3, 1, 2})}));
  }
  graph += bytes(1, node("Mul", {network.takes_last ? "planes" : "input", "channels"}, "weighted"));
  std::string constants = bytes(5, floats("channels", {1, 3, 1, 1}, network.channels));
  std::string outputs;
  const std::vector<std::int64_t> rows =
      network.has_batch ? std::vector<std::int64_t>{1, -1, 1} : std::vector<std::int64_t>{-1, 1};
  constants += bytes(5, whole_numbers("rows", rows));
  const auto row = [&](std::int64_t columns) {
    return network.has_batch ? std::vector<std::int64_t>{1, 1, columns} : std::vector<std::int64_t>{1, columns};
  };
  // Middle and logarithms of the extents; or distances of the sides.
  const std::vector<float> box =
      network.is_yunet ? std::vector<float>{0.5F, 0.5F, 0, 0} : std::vector<float>{0, 0, 1, network.height};
  const std::vector<float> points = {0.25F, 0.25F, 0.75F, 0.25F, 0.5F, 0.5F, 0.25F, 0.75F, 0.75F, 0.75F};
  constants += bytes(5, floats("box", row(4), box)) + bytes(5, floats("points", row(10), points));
  constants += bytes(5, floats("nothing", row(1), {0}));
  const auto output = [&](const std::string& name, std::int64_t columns) {
    outputs += bytes(12, value_info(name, network.has_batch ? std::vector<std::int64_t>{1, -1, columns}
                                                            : std::vector<std::int64_t>{-1, columns}));
  };
  for (const std::int64_t stride : {8, 16, 32}) {
    const std::string at = std::to_string(stride);
    const auto add = [&](const std::string& text) { graph += bytes(1, text); };
    add(node("AveragePool", {"weighted"}, "squares" + at,
             {list_attribute("kernel_shape", {stride, stride}), list_attribute("strides", {stride, stride})}));
    add(node("ReduceMean", {"squares" + at}, "means" + at, {list_attribute("axes", {1})}));
    add(node("Relu", {"means" + at}, "bright" + at));
    constants += bytes(5, floats("share" + at, {1}, {stride == 32 ? 1.0F : 0.25F}));
    add(node("Mul", {"bright" + at, "share" + at}, "shares" + at));
    add(node("Reshape", {"shares" + at, "rows"}, "score_" + at));
    add(node("Mul", {"score_" + at, "nothing"}, "zeros" + at));
    add(node("Add", {"zeros" + at, "box"}, "box_" + at));
    output("score_" + at, 1);
    output("box_" + at, 4);
    if (network.is_yunet) {
      add(node("Add", {"score_" + at, "nothing"}, "object_" + at));
      output("object_" + at, 1);
    }
    if (!network.has_points) continue;
    add(node("Add", {"zeros" + at, "points"}, "points_" + at));
    output("points_" + at, 10);
  }
  graph += bytes(2, "five points") + constants + bytes(11, value_info("input", network.input)) + outputs;
  const std::string opset = bytes(1, "") + number(2, 13);
  std::ofstream(path, std::ios::binary) << number(1, 8) << bytes(7, graph) << bytes(8, opset);
}

}  // namespace evener::test
