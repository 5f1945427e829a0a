// The text files of YOLO's way of keeping boxes: one with the boxes of an image, and the YAML file of a whole set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// Larger files are refused.
constexpr std::uint64_t kMaxYoloBytes = std::uint64_t{16} << 20;

/// Corners in shares of the image's sides.
struct YoloBox {
  std::int32_t class_index = 0;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

struct YoloLabels {
  std::vector<YoloBox> boxes;
  std::vector<std::string> problems;  // a sentence for each line that was left out
};

/// Reads lines of a class's number and the centre, width and height of a box in shares of the image; or, with more
/// numbers, of a class's number and the points of an outline, around which the box is. A sixth number is a probability
/// and passed over.
YoloLabels parse_yolo_labels(std::string_view file);

/// What a set's YAML file says.
struct YoloSet {
  std::vector<std::string> names;
  std::string path;                           // what the next are relative to; "" = the file's own folder
  std::vector<std::string> train, val, test;  // folders of images, or files that list images
};

/// Reads the plain YAML that such files are written in: keys with a text, a list or a map of texts, over one line or
/// several; other keys are passed over. Throws Error with the reason alone: no names, numbers of names with gaps, or
/// a line that can't be read.
YoloSet parse_yolo_set(std::string_view file);

}  // namespace evener::data
