// YOLO's text file of an image: a line for each box, outline, or box with key points; and the decision for a whole set
// of such files whether their long lines are outlines or boxes with key points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
