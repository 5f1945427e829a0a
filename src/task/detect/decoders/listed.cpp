// Networks that choose their boxes themselves, and list those that they found: no NMS is needed.
//
//   Rows of six: corners in pixels, score and class (Ultralytics' YOLOv10, YOLO26 and any export with nms=True).
//   Rows of seven: image, class, score and corners as shares (OpenVINO's DetectionOutput).
//   Lists of boxes, classes and scores, and perhaps their number: TensorFlow's detection API and TensorFlow Lite's
//     detection post-processing (top, left, bottom, right as shares), torchvision's detectors and RT-DETR (corners in
//     pixels).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "task/detect/decoders/detection.h"
#include "task/detect/decoders/understand.h"

namespace evener::task {
namespace {

/// Where a list keeps its boxes.
struct ListLayout {
  /// The outputs; the same one for all where a row has everything. `count` may be "": rows without area are none.
  std::string boxes, scores, classes, count = {};
  std::size_t box_columns = 4, other_columns = 1;      // values of a row of boxes, and of scores and classes
  std::size_t first_box = 0, score = 0, class_at = 0;  // the columns
  bool y_first = false;                                // top, left, bottom, right
  float scale_x = 1, scale_y = 1;                      // pixels of a unit: the image's sides where boxes are shares
  std::int64_t first_class = 0;                        // the number of the first class
};

std::vector<Detection> listed_boxes(const ListLayout& layout, const ImageOutputs& outputs,
                                    const DecodeOptions& options) {
  const std::span<const float> boxes = output_of(outputs, layout.boxes), scores = output_of(outputs, layout.scores),
                               classes = output_of(outputs, layout.classes);
  std::size_t rows = boxes.size() / layout.box_columns;
  if (scores.size() != rows * layout.other_columns || classes.size() != rows * layout.other_columns) {
    throw Error(fmt::format("a detector's list has {} boxes, but {} scores and {} classes", rows, scores.size(),
                            classes.size()));
  }
  if (!layout.count.empty()) {
    const std::span<const float> count = output_of(outputs, layout.count);
    if (!count.empty() && count[0] >= 0) rows = std::min(rows, static_cast<std::size_t>(std::min(count[0], 1e6F)));
  }
  const std::size_t x = layout.y_first ? 1 : 0, y = 1 - x;
  std::vector<Detection> found;
  for (std::size_t i = 0; i < rows; ++i) {
    const float score = scores[i * layout.other_columns + layout.score];
    if (!(score > options.confidence)) continue;
    const float number = classes[i * layout.other_columns + layout.class_at];
    const float label = std::round(number) - static_cast<float>(layout.first_class);
    if (!(label >= 0 && label < 1e6F) || !is_wanted(static_cast<std::int32_t>(label), options)) continue;
    const float* const side = &boxes[i * layout.box_columns + layout.first_box];
    const Detection box{.x1 = side[x] * layout.scale_x,
                        .y1 = side[y] * layout.scale_y,
                        .x2 = side[x + 2] * layout.scale_x,
                        .y2 = side[y + 2] * layout.scale_y,
                        .label = static_cast<std::int32_t>(label),
                        .score = score};
    if (has_area(box)) found.push_back(box);
  }
  return likeliest(std::move(found), options);
}

constexpr std::int64_t kMostListed = 5000;  // tables of more rows are no lists of chosen boxes

bool is_whole_number_type(const TrialOutput& output) {
  return output.type.starts_with("i") || output.type.starts_with("u");
}

RecognisedDetector listed(std::string family, std::string normalization, ListLayout layout) {
  const std::int64_t first_class = layout.first_class;
  const auto found = [layout = std::move(layout)](const ImageOutputs& outputs, const DecodeOptions& options, float) {
    return listed_boxes(layout, outputs, options);
  };
  RecognisedDetector detector(std::move(family), std::move(normalization), {found});
  detector.first_class = first_class;
  return detector;
}

// Lists are told apart by the names of outputs, or else by what their values can be.

/// Rows of six or seven.
std::optional<RecognisedDetector> rows_with_all(const DetectorFile& file) {
  const TrialOutput& output = file.outputs.front();
  const std::int64_t columns = output.columns();
  if (output.shape.size() < 2 || output.rows() > kMostListed) return std::nullopt;
  ListLayout layout{.boxes = output.name, .scores = output.name, .classes = output.name};
  layout.box_columns = layout.other_columns = static_cast<std::size_t>(columns);
  // Where another output has four values for each of its rows, these are scores: of DETR with five classes, say.
  const bool has_boxes_beside = std::ranges::any_of(file.outputs, [&](const TrialOutput& other) {
    return other.name != output.name && other.shape.size() >= 2 && other.columns() == 4 &&
           other.rows() == output.rows();
  });
  if (columns == 6 && output.shape.size() == 2 && !has_boxes_beside) {
    layout.score = 4, layout.class_at = 5;
    RecognisedDetector detector = listed("YOLO with its boxes ready", "0/1", layout);
    detector.crop = data::CropMode::kYolo;
    return detector;
  }
  if (columns == 7 && output.shape.size() == 3 && output.shape.front() == 1) {
    layout.first_box = 3, layout.score = 2, layout.class_at = 1, layout.first_class = 1;
    layout.scale_x = static_cast<float>(file.width), layout.scale_y = static_cast<float>(file.height);
    RecognisedDetector detector = listed("OpenVINO's DetectionOutput", "pixels", layout);
    detector.reverse_channels = true;
    return detector;
  }
  return std::nullopt;
}

/// Which of two lists has the classes: by names, types, and values.
bool is_classes(const TrialOutput& list, const TrialOutput& other) {
  const auto says_class = [](const TrialOutput& output) { return output.says({"class", "label", "categor"}); };
  const auto says_score = [](const TrialOutput& output) { return output.says({"score", "conf"}); };
  if (says_class(list)) return true;
  if (says_score(list) || says_class(other)) return false;
  if (says_score(other)) return true;
  if (is_whole_number_type(list) != is_whole_number_type(other)) return is_whole_number_type(list);
  const auto all_whole = [](const TrialOutput& output) {
    return std::ranges::all_of(output.values, [](float value) { return value == std::round(value); });
  };
  return all_whole(list) && !all_whole(other);
}

std::optional<RecognisedDetector> separate_lists(const DetectorFile& file) {
  const TrialOutput *boxes = nullptr, *count = nullptr;
  std::vector<const TrialOutput*> lists;
  for (const TrialOutput& output : file.outputs) {
    if (output.shape.size() == 2 && output.columns() == 4 && output.rows() <= kMostListed) boxes = &output;
  }
  if (boxes == nullptr) return std::nullopt;
  for (const TrialOutput& output : file.outputs) {
    if (&output == boxes) continue;
    const bool is_row = output.shape.size() == 1 || (output.shape.size() == 2 && output.columns() == 1);
    if (output.values.size() == 1 && boxes->rows() != 1) {
      count = &output;
    } else if (is_row && static_cast<std::int64_t>(output.values.size()) == boxes->rows()) {
      lists.push_back(&output);
    } else if (output.shape.empty()) {
      count = &output;
    }
  }
  if (lists.size() == 3 && count == nullptr) count = lists.back(), lists.pop_back();  // of a single box
  if (lists.size() != 2) return std::nullopt;
  const bool first_has_classes = is_classes(*lists[0], *lists[1]);
  const TrialOutput &classes = *lists[first_has_classes ? 0 : 1], &scores = *lists[first_has_classes ? 1 : 0];
  ListLayout layout{.boxes = boxes->name,
                    .scores = scores.name,
                    .classes = classes.name,
                    .count = count == nullptr ? "" : count->name,
                    .y_first = count != nullptr};
  // TensorFlow's has a number of boxes, and others list pixels.
  if (count != nullptr)
    layout.scale_x = static_cast<float>(file.width), layout.scale_y = static_cast<float>(file.height);
  const bool is_lite = count != nullptr && file.is_lite;
  const bool is_torchvision = count == nullptr && is_whole_number_type(classes) && boxes->name.find("box") == 0 &&
                              file.outputs.front().name.find("box") == 0;
  // TensorFlow and torchvision count the background as number 0, TensorFlow Lite doesn't.
  const bool counts_background = (count != nullptr && !is_lite) || is_torchvision;
  const bool names_background =
      !file.classes.empty() &&
      (file.classes.front().find("background") != std::string::npos || file.classes.front() == "???");
  layout.first_class = counts_background && !names_background ? 1 : 0;
  if (is_lite && names_background) layout.first_class = -1;
  if (is_lite) return listed("TensorFlow Lite's detection", "0.5/0.5", layout);
  if (count != nullptr) return listed("TensorFlow's detection API", "pixels", layout);
  return listed(is_torchvision ? "torchvision's detection" : "RT-DETR", "0/1", layout);
}

}  // namespace

std::optional<RecognisedDetector> recognise_list(const DetectorFile& file) {
  if (file.outputs.empty()) return std::nullopt;
  if (file.may_be("rows")) {
    if (auto rows = rows_with_all(file)) return rows;
  }
  return file.may_be("lists") ? separate_lists(file) : std::nullopt;
}

}  // namespace evener::task
