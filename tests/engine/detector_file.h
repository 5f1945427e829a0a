// Small detectors as other programs write them, for the tests of all that reads such files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph_file.h"

namespace evener::test {

/// Writes a network for images of 64x64 whose one output is the table `values` of rows x columns, plus `per_mean`
/// times the mean of the image.
inline void write_table_file(const std::filesystem::path& path, int rows, int columns, const std::vector<float>& values,
                             const std::vector<float>& per_mean) {
  GraphFile graph;
  const std::string table = "1," + std::to_string(rows) + "," + std::to_string(columns);
  const auto mean = [&](int from, const std::vector<float>& axes, const char* keeps) {
    const int along = graph.converted("i64", graph.constant(axes, std::to_string(axes.size())));
    return graph.node("ReduceMean", "opset1", std::string("keep_dims=\"") + keeps + "\"", {from, along});
  };
  // A convolution that changes nothing, so that there is something to quantise.
  const int same =
      graph.node("Convolution", "opset1",
                 "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" auto_pad=\"explicit\"",
                 {graph.input("f32", "1,3,64,64"), graph.constant({1, 0, 0, 0, 1, 0, 0, 0, 1}, "3,3,1,1")});
  const int of_image = mean(mean(same, {1}, "false"), {1, 2}, "true");
  const char* numpy = "auto_broadcast=\"numpy\"";
  const int scaled = graph.node("Multiply", "opset1", numpy, {of_image, graph.constant(per_mean, table)});
  graph.output(graph.node("Add", "opset1", numpy, {scaled, graph.constant(values, table)}, "output"));
  graph.write(path);
}

/// YOLOX's table for 84 places and two classes: a box from (8, 16) to (24, 32) of the second class, whose objectness,
/// the value kObjectness of an image's table, is the mean of the image's pixels.
inline void write_yolox_file(const std::filesystem::path& path) {
  std::vector<float> values(84 * 7), per_mean(84 * 7);
  float* const row = &values[64 * 7];  // the first place of stride 16
  row[0] = 1, row[1] = 1.5F, row[6] = 1;
  per_mean[64 * 7 + 4] = 1.0F / 255;
  write_table_file(path, 84, 7, values, per_mean);
}
constexpr std::size_t kObjectness = 64 * 7 + 4;

}  // namespace evener::test
