// YOLO's text file of an image: a line for each box, outline, or box with key points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// Larger files are refused.
constexpr std::uint64_t kMaxYoloBytes = std::uint64_t{16} << 20;

/// Corners in shares of the image's sides.
struct YoloCorners {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

/// A line that begins with a class's number. A line of seven words or more is ambiguous: the points of an outline, or a
/// box and its key points, of two numbers each or three with the visibility.
struct YoloLine {
  int number = 0;  // in its file
  std::int32_t class_index = 0;
  std::size_t words = 0;
  YoloCorners box;      // from the first four numbers: centre, width, height
  YoloCorners outline;  // around all points, where their count is even
  bool may_be_outline = false, may_have_points_of_2 = false, may_have_points_of_3 = false;

  bool is_long() const { return words > 6; }
};

struct YoloLabels {
  std::vector<YoloLine> lines;
  std::vector<std::string> problems;  // a sentence for each line that was left out
};

/// Reads lines of a class's number and the centre, width and height of a box in shares of the image, or of more
/// numbers. A sixth word is a probability and passed over.
YoloLabels parse_yolo_labels(std::string_view file);

}  // namespace evener::data
