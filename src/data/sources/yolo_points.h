// Decides for a whole set of YOLO's text files whether long lines are outlines or boxes with key points.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sources/yolo_text.h"

namespace evener::data {

/// How many key points each box has, and how many numbers each key point has: `kpt_shape` of a set's YAML file.
struct KeyPoints {
  std::size_t count = 0, numbers = 0;
};

/// Whether `points` may be key points of `box`: the box lies on the image and the visible points lie in it or a little
/// beyond; of points with three numbers the third (visibility) is 0, 1 or 2.
bool may_be_key_points(const YoloCorners& box, std::span<const double> points, std::size_t numbers_each);

/// Whether points, x and y alternating, form a polygon on the image without self-intersection.
bool is_simple_outline(std::span<const double> points);

/// Gives the box of each line.
class LongLines {
 public:
  /// `told`: key points by the YAML file; then all long lines are boxes with key points. Otherwise long lines count as
  /// such where all have the same number of words, fit key points, and are not outlines.
  LongLines(const std::vector<YoloLabels>& files, const std::optional<KeyPoints>& told);

  YoloCorners box_of(const YoloLine& line) const { return line.is_long() && !are_points_ ? line.outline : line.box; }
  /// Why a line can't be used, "" if it can.
  std::string refusal(const YoloLine& line) const;
  /// A note on what was guessed; "" if nothing was.
  const std::string& note() const { return note_; }

 private:
  void guess(const std::vector<YoloLabels>& files);

  std::optional<KeyPoints> told_;
  bool are_points_ = false;
  std::string note_;
};

}  // namespace evener::data
