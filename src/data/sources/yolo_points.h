// What the long lines of a whole set of YOLO's text files are: outlines, or boxes with key points.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sources/yolo_text.h"

namespace evener::data {

/// How many key points each box has, and of how many numbers one is: `kpt_shape` of a set's YAML file.
struct KeyPoints {
  std::size_t count = 0, numbers = 0;
};

/// Whether the points may belong to the box: it lies on the image and they within it or a little beyond, as far as they
/// are seen; of points of three numbers the third is 0, 1 or 2.
bool may_be_key_points(const YoloCorners& box, std::span<const double> points, std::size_t numbers_each);

/// Whether points, x and y by turns, go around an area on the image without crossing their way.
bool is_simple_outline(std::span<const double> points);

/// Says of each line which box is meant.
class LongLines {
 public:
  /// Where the set tells of key points, all long lines have to be such. Else they are where all have one number of
  /// words and fit them, and not outlines.
  LongLines(const std::vector<YoloLabels>& files, const std::optional<KeyPoints>& told);

  YoloCorners box_of(const YoloLine& line) const { return line.is_long() && !are_points_ ? line.outline : line.box; }
  /// Why a line can't be used, "" if it can.
  std::string refusal(const YoloLine& line) const;
  /// What was guessed, for people; "" if nothing was.
  const std::string& note() const { return note_; }

 private:
  void guess(const std::vector<YoloLabels>& files);

  std::optional<KeyPoints> told_;
  bool are_points_ = false;
  std::string note_;
};

}  // namespace evener::data
