// YOLO's annotations: the text file of an image, with a line for each box, outline, or box with key points; the
// decision for a whole set of such files whether their long lines are outlines or boxes with key points; a set's YAML
// file with classes and parts; and where its images and their text files lie.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// Larger files are refused: a hostile one takes some 250 bytes of memory for each of its bytes.
constexpr std::uint64_t kMaxYoloSetBytes = std::uint64_t{2} << 20;

struct YoloSet {
  std::vector<std::string> names;
  std::string path;                           // folder to which train, val and test are relative; "" = the file's own
                                              // folder
  std::vector<std::string> train, val, test;  // folders of images, or files that list images
  std::optional<KeyPoints> key_points;
  std::vector<std::string> notes;
};

/// Reads YAML, and so JSON; keys that a set doesn't need are passed over. Throws Error with the reason alone, and the
/// line where there is one: no YAML, no names, numbers of names with gaps, a key with a value of another kind, a merge
/// ("<<"), a character written as two escapes ("\\ud83d\\ude00"), which is JSON's way alone.
YoloSet parse_yolo_set(std::string_view file);

/// Whether a file is such a YAML file: it has the keys names and train. One that can't be read counts if they stand
/// where keys do, so that the error message can say what is wrong.
bool is_yolo_set(std::string_view file);

/// The file with the boxes of an image: under labels/ where the image is under images/, else, or where none is there,
/// beside it.
std::filesystem::path labels_of(const std::filesystem::path& image);

/// The folder of the images in YOLO data without a YAML file: images/ in `folder` where the text files are in labels/,
/// or `folder` itself where they lie beside the images and a file names the classes; absent where there are none.
std::optional<std::filesystem::path> images_with_labels(const std::filesystem::path& folder);

/// The images that a place of a set's YAML names, a folder or a file that lists them; nothing if it is neither. A path
/// of another machine is looked for by its last parts, with a note.
std::optional<std::vector<std::filesystem::path>> images_at(const std::string& place, const std::filesystem::path& root,
                                                            std::vector<std::string>& notes);

}  // namespace evener::data
