#include "data/sources/yolo_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/names.h"
#include "data/sources/yolo_points.h"

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

}  // namespace evener::data
