// Networks that choose their boxes themselves, and list those that they found: no NMS is needed.
//
//   Rows of six: corners in pixels, score and class (Ultralytics' YOLOv10, YOLO26 and any export with nms=True).
//   Rows of seven: image, class, score and corners as shares (OpenVINO's DetectionOutput).
//   Lists of boxes, classes and scores, and perhaps their number: TensorFlow's detection API and TensorFlow Lite's
//     detection post-processing (top, left, bottom, right as shares), torchvision's detectors and RT-DETR (corners in
//     pixels).
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
  bool shares = false;                                 // of the image's sides; false: pixels
  std::int64_t first_class = 0;                        // the number of the first class
  std::int64_t width = 0, height = 0;                  // of the network's image
};

class ListDecoder : public BoxDecoder {
 public:
  explicit ListDecoder(ListLayout layout) : layout_(std::move(layout)) {}
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options,
                               float /*pixel*/) const override {
    const std::span<const float> boxes = output_of(outputs, layout_.boxes), scores = output_of(outputs, layout_.scores),
                                 classes = output_of(outputs, layout_.classes);
    std::size_t rows = boxes.size() / layout_.box_columns;
    if (scores.size() != rows * layout_.other_columns || classes.size() != rows * layout_.other_columns) {
      throw Error("a detector's list has " + std::to_string(rows) + " boxes, but " + std::to_string(scores.size()) +
                  " scores and " + std::to_string(classes.size()) + " classes");
    }
    if (!layout_.count.empty()) {
      const std::span<const float> count = output_of(outputs, layout_.count);
      if (!count.empty() && count[0] >= 0) rows = std::min(rows, static_cast<std::size_t>(std::min(count[0], 1e6F)));
    }
    const auto width = static_cast<float>(layout_.width), height = static_cast<float>(layout_.height);
    const float scale_x = layout_.shares ? width : 1, scale_y = layout_.shares ? height : 1;
    std::vector<Detection> found;
    for (std::size_t i = 0; i < rows; ++i) {
      const float score = scores[i * layout_.other_columns + layout_.score];
      if (!(score > options.confidence)) continue;
      const float number = classes[i * layout_.other_columns + layout_.class_at];
      const float label = std::round(number) - static_cast<float>(layout_.first_class);
      if (!(label >= 0 && label < 1e6F) || !is_wanted(static_cast<std::int32_t>(label), options)) continue;
      const float* const side = &boxes[i * layout_.box_columns + layout_.first_box];
      const std::size_t x = layout_.y_first ? 1 : 0, y = 1 - x;
      Detection box{.x1 = side[x] * scale_x,
                    .y1 = side[y] * scale_y,
                    .x2 = side[x + 2] * scale_x,
                    .y2 = side[y + 2] * scale_y,
                    .label = static_cast<std::int32_t>(label),
                    .score = score};
      if (has_area(box)) found.push_back(box);
    }
    return likeliest(std::move(found), options);
  }
  float usual_iou() const override { return 1; }

 private:
  const ListLayout layout_;
};

constexpr std::int64_t kMostRows = 5000;  // tables of more rows are no lists of chosen boxes

bool is_whole_number_type(const TrialOutput& output) {
  return output.type.starts_with("i") || output.type.starts_with("u");
}

RecognisedDetector listed(std::string family, ListLayout layout) {
  RecognisedDetector detector{.family = std::move(family)};
  detector.first_class = layout.first_class;
  detector.decoder = std::make_shared<ListDecoder>(std::move(layout));
  return detector;
}

// Lists are told apart by the names of outputs, or else by what their values can be.

/// Rows of six or seven.
std::optional<RecognisedDetector> rows_with_all(const DetectorFile& file) {
  const TrialOutput& output = file.outputs.front();
  const std::int64_t columns = output.columns();
  if (output.shape.size() < 2 || output.rows() > kMostRows) return std::nullopt;
  ListLayout layout{.boxes = output.name,
                    .scores = output.name,
                    .classes = output.name,
                    .box_columns = static_cast<std::size_t>(columns),
                    .other_columns = static_cast<std::size_t>(columns),
                    .width = file.width,
                    .height = file.height};
  // Where another output has four values for each of its rows, these are scores: of DETR with five classes, say.
  const bool has_boxes_beside = std::ranges::any_of(file.outputs, [&](const TrialOutput& other) {
    return other.name != output.name && other.shape.size() >= 2 && other.columns() == 4 &&
           other.rows() == output.rows();
  });
  if (columns == 6 && output.shape.size() == 2 && !has_boxes_beside) {
    layout.score = 4, layout.class_at = 5;
    RecognisedDetector detector = listed("YOLO with its boxes ready", layout);
    detector.normalization = "0/1";
    detector.crop = data::CropMode::kYolo;
    return detector;
  }
  if (columns == 7 && output.shape.size() == 3 && output.shape.front() == 1) {
    layout.first_box = 3, layout.score = 2, layout.class_at = 1, layout.shares = true, layout.first_class = 1;
    RecognisedDetector detector = listed("OpenVINO's DetectionOutput", layout);
    detector.normalization = "pixels";
    detector.reverse_channels = true;
    return detector;
  }
  return std::nullopt;
}

/// Which of two lists has the classes: by names, types, and values.
bool is_classes(const TrialOutput& list, const TrialOutput& other) {
  const auto says = [](const TrialOutput& output, std::initializer_list<const char*> words) {
    return DetectorFile{.outputs = {output}}.named(words) != nullptr;
  };
  if (says(list, {"class", "label", "categor"})) return true;
  if (says(list, {"score", "conf"}) || says(other, {"class", "label", "categor"})) return false;
  if (says(other, {"score", "conf"})) return true;
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
    if (output.shape.size() == 2 && output.columns() == 4 && output.rows() <= kMostRows) boxes = &output;
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
                    .width = file.width,
                    .height = file.height};
  // TensorFlow's has a number of boxes, and others list pixels.
  layout.y_first = layout.shares = count != nullptr;
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
  RecognisedDetector detector = listed(is_lite            ? "TensorFlow Lite's detection"
                                       : count != nullptr ? "TensorFlow's detection API"
                                       : is_torchvision   ? "torchvision's detection"
                                                          : "RT-DETR",
                                       layout);
  detector.normalization = is_lite ? "0.5/0.5" : count != nullptr ? "pixels" : "0/1";
  return detector;
}

}  // namespace

std::optional<RecognisedDetector> recognise_list(const DetectorFile& file) {
  if (file.outputs.empty()) return std::nullopt;
  if (file.wanted.empty() || file.wanted == "rows") {
    if (auto rows = rows_with_all(file)) return rows;
  }
  if (!file.wanted.empty() && file.wanted != "lists") return std::nullopt;
  return separate_lists(file);
}

}  // namespace evener::task
