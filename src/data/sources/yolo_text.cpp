#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/names.h"
#include "base/plural.h"
#include "data/sources/yolo.h"

namespace evener::data {

namespace {

constexpr std::string_view kBlank = " \t\r";

/// Takes the first line off a text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The numbers of a line; nothing if a word is none.
std::optional<std::vector<double>> numbers_in(std::string_view line) {
  std::vector<double> numbers;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    if (length < line.size() && kBlank.find(line[length]) == std::string_view::npos) return std::nullopt;
    numbers.push_back(value);
    line.remove_prefix(length);
  }
  return numbers;
}

YoloCorners around_points(std::span<const double> numbers) {
  YoloCorners corners{numbers[0], numbers[1], numbers[0], numbers[1]};
  for (std::size_t i = 2; i + 1 < numbers.size(); i += 2) {
    corners.x1 = std::min(corners.x1, numbers[i]), corners.x2 = std::max(corners.x2, numbers[i]);
    corners.y1 = std::min(corners.y1, numbers[i + 1]), corners.y2 = std::max(corners.y2, numbers[i + 1]);
  }
  return corners;
}

/// `numbers`: at least four.
YoloLine line_of(std::span<const double> numbers) {
  YoloLine line;
  line.words = numbers.size() + 1;
  line.box = {numbers[0] - numbers[2] / 2, numbers[1] - numbers[3] / 2, numbers[0] + numbers[2] / 2,
              numbers[1] + numbers[3] / 2};
  if (!line.is_long()) return line;
  const std::span<const double> points = numbers.subspan(4);
  line.may_have_points_of_2 = points.size() % 2 == 0 && may_be_key_points(line.box, points, 2);
  line.may_have_points_of_3 = points.size() % 3 == 0 && may_be_key_points(line.box, points, 3);
  if (numbers.size() % 2 == 0) {
    line.outline = around_points(numbers);
    line.may_be_outline = is_simple_outline(numbers);
  }
  return line;
}

struct Place {
  double x = 0, y = 0;
};

/// Farther from the image than an object on its edge reaches.
bool is_far_off(const YoloCorners& outline) {
  constexpr double kBeyond = 1;
  return std::min(outline.x1, outline.y1) < -kBeyond || std::max(outline.x2, outline.y2) > 1 + kBeyond;
}

bool is_on_image(double share) {
  constexpr double kTolerance = 0.01;  // that tools which round leave
  return share >= -kTolerance && share <= 1 + kTolerance;
}

/// Positive where c lies to the left of the way from a to b.
double turn(const Place& a, const Place& b, const Place& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Whether two line segments cross, apart from their ends.
bool do_cross(const Place& a, const Place& b, const Place& c, const Place& d) {
  return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
}

bool crosses_itself(const std::vector<Place>& points) {
  const auto next = [&](std::size_t i) { return points[(i + 1) % points.size()]; };
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 2; j < points.size(); ++j) {
      if (do_cross(points[i], next(i), points[j], next(j))) return true;
    }
  }
  return false;
}

double area_of(const std::vector<Place>& points) {
  double twice = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Place &a = points[i], &b = points[(i + 1) % points.size()];
    twice += a.x * b.y - b.x * a.y;
  }
  return std::abs(twice) / 2;
}

}  // namespace

YoloLabels parse_yolo_labels(std::string_view file) {
  constexpr double kMostClasses = 100'000;
  YoloLabels labels;
  for (int number = 1; !file.empty(); ++number) {
    const std::string_view line = trimmed(take_line(file));
    if (line.empty()) continue;
    const auto problem = [&](const std::string& what) {
      labels.problems.push_back("line " + std::to_string(number) + " " + what + ": " + quoted_text(line));
    };
    const auto numbers = numbers_in(line);
    if (!numbers || numbers->size() < 5) {
      problem("is not a class and four numbers");
      continue;
    }
    const double index = numbers->front();
    if (index < 0 || index != std::floor(index) || index >= kMostClasses) {
      problem("begins with what is no class's number");
      continue;
    }
    labels.lines.push_back(line_of(std::span(*numbers).subspan(1)));
    labels.lines.back().number = number;
    labels.lines.back().class_index = static_cast<std::int32_t>(index);
  }
  return labels;
}

bool may_be_key_points(const YoloCorners& box, std::span<const double> points, std::size_t numbers_each) {
  constexpr double kBeyond = 0.1;  // of the box's sides
  const double width = box.x2 - box.x1, height = box.y2 - box.y1;
  if (!(width > 0) || !(height > 0)) return false;
  for (const double corner : {box.x1, box.y1, box.x2, box.y2}) {
    if (!is_on_image(corner)) return false;
  }
  for (std::size_t i = 0; i + numbers_each <= points.size(); i += numbers_each) {
    const double x = points[i], y = points[i + 1];
    if (numbers_each == 3 && points[i + 2] != 0 && points[i + 2] != 1 && points[i + 2] != 2) return false;
    const bool is_unseen = (x == 0 && y == 0) || (numbers_each == 3 && points[i + 2] == 0);
    const bool is_within = x >= box.x1 - kBeyond * width && x <= box.x2 + kBeyond * width &&
                           y >= box.y1 - kBeyond * height && y <= box.y2 + kBeyond * height;
    if (!is_unseen && !is_within) return false;
  }
  return true;
}

bool is_simple_outline(std::span<const double> points) {
  constexpr std::size_t kMostKeyPoints = 80;  // more are an outline, and crossings take their square to find
  constexpr double kLeastArea = 1e-3;         // of the box around them: less is a line
  std::vector<Place> places;
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    if (!is_on_image(points[i]) || !is_on_image(points[i + 1])) return false;
    places.push_back({points[i], points[i + 1]});
  }
  const auto [left, right] = std::ranges::minmax(places, {}, &Place::x);
  const auto [top, bottom] = std::ranges::minmax(places, {}, &Place::y);
  if (area_of(places) <= kLeastArea * (right.x - left.x) * (bottom.y - top.y)) return false;
  return places.size() > kMostKeyPoints || !crosses_itself(places);
}

LongLines::LongLines(const std::vector<YoloLabels>& files, const std::optional<KeyPoints>& told) : told_(told) {
  are_points_ = told.has_value();
  if (!told) guess(files);
}

void LongLines::guess(const std::vector<YoloLabels>& files) {
  std::size_t lines = 0, words = 0, outlines = 0, of_2 = 0, of_3 = 0, far_off = 0;
  for (const YoloLabels& file : files) {
    for (const YoloLine& line : file.lines) {
      if (!line.is_long()) continue;
      if (lines++ > 0 && words != line.words) return;  // outlines have as many points as they need, key points never
      words = line.words;
      outlines += line.may_be_outline, far_off += is_far_off(line.outline), of_2 += line.may_have_points_of_2,
          of_3 += line.may_have_points_of_3;
    }
  }
  if (lines == 0) return;
  const auto fits = [lines](std::size_t count) { return count * 20 >= lines * 19; };  // some lines are always damaged
  const bool are_outlines = fits(outlines);
  are_points_ = fits(of_3) || (fits(of_2) && !are_outlines);
  if (are_outlines && !are_points_ && !fits(of_2)) return;
  if (!are_points_ && (words % 2 == 0 || fits(far_off))) return;  // which refusal() tells
  const std::size_t each = fits(of_3) ? 3 : 2;
  const std::string all =
      counted(lines, "line") + (lines == 1 ? " has " : " have ") + std::to_string(words) + " words: ";
  const std::string shape = fmt::format("kpt_shape: [{}, {}]", (words - 5) / each, each);
  note_ = are_points_ ? all + "taken as boxes with key points, as by \"" + shape + "\", which no data.yaml says"
                      : all + "taken as outlines of " + counted(words / 2, "point") +
                            "; if they are boxes with key points, write \"" + shape + "\" into data.yaml";
}

std::string LongLines::refusal(const YoloLine& line) const {
  if (!line.is_long()) return "";
  if (told_) {
    const std::size_t wanted = 5 + told_->count * told_->numbers;
    if (line.words == wanted || line.words == wanted + 1) return "";  // one more is a probability
    return fmt::format("has {} words, but a class, a box and key points of kpt_shape [{}, {}] are {}", line.words,
                       told_->count, told_->numbers, wanted);
  }
  if (are_points_ || (line.words % 2 == 1 && !is_far_off(line.outline))) return "";
  const std::string why = line.words % 2 == 0
                              ? fmt::format("it has {} words", line.words)
                              : fmt::format("they reach from {:g}, {:g} to {:g}, {:g}, of an image from 0 to 1",
                                            line.outline.x1, line.outline.y1, line.outline.x2, line.outline.y2);
  return "is not a class and four numbers, nor an outline's points: " + why +
         "; if they are key points, data.yaml has to tell their kpt_shape";
}

}  // namespace evener::data
