// Networks that choose their boxes themselves, and list those that they found: no NMS is needed.
//
//   Rows of six: corners in pixels or shares, score and class (Ultralytics' YOLOv10, YOLO26 and any export with
//     nms=True).
//   Rows of seven: image, class, score and corners as shares (OpenVINO's DetectionOutput).
//   Lists of boxes, classes and scores: corners in pixels (torchvision's detectors, RT-DETR and others).
//   The same with their number: TensorFlow's detection API and TensorFlow Lite's detection post-processing (top, left,
//     bottom, right as shares), and NMS of TensorRT's kind (corners in pixels).
//
// What lists of a trial image hold decides which these are, and from which number classes are counted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "detect/decoders/detection.h"
#include "detect/decoders/understand.h"

namespace evener::detection {
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

/// Calls use(score, class, box) for each row, whose box are four values.
template <class Use>
void each_row(const ListLayout& layout, const ImageOutputs& outputs, const Use& use) {
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
  for (std::size_t i = 0; i < rows; ++i) {
    use(scores[i * layout.other_columns + layout.score], classes[i * layout.other_columns + layout.class_at],
        &boxes[i * layout.box_columns + layout.first_box]);
  }
}

std::vector<Detection> listed_boxes(const ListLayout& layout, const ImageOutputs& outputs,
                                    const DecodeOptions& options) {
  const std::size_t x = layout.y_first ? 1 : 0, y = 1 - x;
  std::vector<Detection> found;
  each_row(layout, outputs, [&](float score, float number, const float* side) {
    if (!(score > options.confidence)) return;
    const float label = std::round(number) - static_cast<float>(layout.first_class);
    if (label < 0) {
      throw Error(fmt::format(
          "a box has the class {}, where classes were understood to be counted from {}: --decoder lists counts from 0",
          number, layout.first_class));
    }
    if (!(label < 1e6F) || !is_wanted(static_cast<std::int32_t>(label), options)) return;
    const Detection box{.x1 = side[x] * layout.scale_x,
                        .y1 = side[y] * layout.scale_y,
                        .x2 = side[x + 2] * layout.scale_x,
                        .y2 = side[y + 2] * layout.scale_y,
                        .label = static_cast<std::int32_t>(label),
                        .score = score};
    if (has_area(box)) found.push_back(box);
  });
  return likeliest(std::move(found), options);
}

/// What a list has for a trial image.
struct ListLook {
  std::size_t rows = 0;  // with a score
  bool is_list = true;   // scores are at most 1, classes whole numbers, corners in order
  float farthest = 0;    // the greatest coordinate
  float least_class = std::numeric_limits<float>::max(), most_class = -1;

  bool has_shares() const { return rows > 0 && farthest <= 1.5F; }
};

ListLook look_at(const ListLayout& layout, const DetectorFile& file) {
  ImageOutputs outputs;
  for (const TrialOutput& output : file.outputs) outputs[output.name] = output.values;
  ListLook look;
  each_row(layout, outputs, [&](float score, float number, const float* side) {
    if (score <= 0) return;
    ++look.rows;
    look.is_list = look.is_list && score <= 1.01F && number >= 0 && number == std::round(number) &&
                   side[0] <= side[2] && side[1] <= side[3];
    look.least_class = std::min(look.least_class, number), look.most_class = std::max(look.most_class, number);
    for (std::size_t i = 0; i < 4; ++i) look.farthest = std::max(look.farthest, std::abs(side[i]));
  });
  // Boxes that the network cuts at no edge reach a little beyond.
  look.is_list = look.is_list && look.farthest <= 2 * static_cast<float>(std::max(file.width, file.height));
  return look;
}

/// Whether the names of classes begin with what is none: a background, or no name at all where they count from 1.
bool names_begin_later(const DetectorFile& file) {
  if (file.classes.empty()) return false;
  const std::string& first = file.classes.front();
  return first.empty() || first.find("background") != std::string::npos || first == "???";
}

/// The number of the first class, by the numbers that a trial gave, or else as is `usual`; absent: nobody knows.
std::optional<std::int64_t> first_class(const DetectorFile& file, const ListLook& look,
                                        std::optional<std::int64_t> usual) {
  if (usual && *usual < 0) return usual;
  if (names_begin_later(file) || (look.rows > 0 && look.least_class == 0)) return 0;
  const auto names = static_cast<float>(file.classes.size());
  if (usual != 0 && look.rows > 0 && names > 0 && look.most_class == names) return 1;
  return usual;
}

constexpr std::int64_t kMostListed = 5000;  // tables of more rows are no lists of chosen boxes

bool is_whole_number_type(const TrialOutput& output) {
  return output.type.starts_with("i") || output.type.starts_with("u");
}

void scale_to_image(ListLayout& layout, const DetectorFile& file) {
  layout.scale_x = static_cast<float>(file.width), layout.scale_y = static_cast<float>(file.height);
}

/// `usual`: the number of the first class where a trial doesn't tell; absent: then it is a doubt.
RecognisedDetector listed(std::string family, std::string normalization, ListLayout layout, const DetectorFile& file,
                          const ListLook& look, std::optional<std::int64_t> usual) {
  const auto first = first_class(file, look, usual);
  layout.first_class = first.value_or(0);
  const auto least = look.least_class - static_cast<float>(layout.first_class);
  const auto most = look.most_class - static_cast<float>(layout.first_class);
  std::string doubt;
  if (!look.is_list) {
    doubt = "what would be scores, classes and corners of its boxes are none";
  } else if (!first) {
    doubt = "its classes may be counted from 0 (--decoder lists) or from 1 (--decoder torchvision)";
  } else if (look.rows > 0 && !file.classes.empty() &&
             (least < (names_begin_later(file) ? 1 : 0) || most >= static_cast<float>(file.classes.size()))) {
    doubt = fmt::format("its boxes have the classes {} to {}, which counted from {} don't fit {}", look.least_class,
                        look.most_class, layout.first_class, counted(file.classes.size(), "name"));
  }
  const auto found = [layout = std::move(layout)](const ImageOutputs& outputs, const DecodeOptions& options, float) {
    return listed_boxes(layout, outputs, options);
  };
  RecognisedDetector detector(std::move(family), std::move(normalization), {found});
  detector.first_class = first.value_or(0);
  detector.doubt = std::move(doubt);
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
    const ListLook look = look_at(layout, file);
    if (look.has_shares()) scale_to_image(layout, file);
    RecognisedDetector detector = listed("YOLO with its boxes ready", "0/1", layout, file, look, 0);
    // Ultralytics tells the stride of each of its networks.
    const bool is_told = !file.wanted.empty() || file.metadata.contains("stride") || file.metadata.contains("task");
    if (!look.is_list) {
      detector.doubt = "its rows of six are no corners (x1, y1, x2, y2), score and class";
    } else if (look.rows == 0 && !is_told) {
      detector.doubt =
          "nothing is found on plain grey, so that nothing tells the order in its rows of six: --decoder rows takes "
          "them for corners (x1, y1, x2, y2), score and class";
    }
    detector.crop = data::CropMode::kYolo;
    return detector;
  }
  if (columns == 7 && output.shape.size() == 3 && output.shape.front() == 1) {
    layout.first_box = 3, layout.score = 2, layout.class_at = 1;
    scale_to_image(layout, file);
    RecognisedDetector detector =
        listed("OpenVINO's DetectionOutput", "pixels", layout, file, look_at(layout, file), 1);
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
  // TensorFlow's files give, beside their lists, what these were chosen from.
  const auto is_of_all = [](const TrialOutput& output) { return output.says({"raw_", "multiclass", "anchor_ind"}); };
  for (const TrialOutput& output : file.outputs) {
    const bool has_four = output.shape.size() == 2 && output.columns() == 4 && output.rows() <= kMostListed;
    if (has_four && !is_of_all(output)) boxes = &output;
  }
  if (boxes == nullptr) return std::nullopt;
  for (const TrialOutput& output : file.outputs) {
    if (&output == boxes || is_of_all(output)) continue;
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
                    .count = count == nullptr ? "" : count->name};
  const ListLook look = look_at(layout, file);
  const bool is_asked = !file.wanted.empty(), from_one = file.wanted == "torchvision";
  // TensorFlow counts the background as number 0, TensorFlow Lite doesn't.
  const bool is_tensorflow =
      count != nullptr && (file.is_lite || boxes->says({"detection"}) || (is_asked && look.has_shares()));
  const bool is_rt_detr = count == nullptr && &file.outputs.front() == &classes && classes.name == "labels";
  std::optional<std::int64_t> usual;
  if (is_tensorflow) {
    layout.y_first = true;
    scale_to_image(layout, file);
    usual = !file.is_lite ? 1 : names_begin_later(file) ? -1 : 0;
  } else if (is_asked || is_rt_detr || count != nullptr) {
    usual = from_one ? 1 : 0;
  }
  RecognisedDetector detector = listed(is_tensorflow ? "TensorFlow's detection API" : "lists of boxes",
                                       is_tensorflow ? "pixels" : "0/1", layout, file, look, usual);
  if (is_tensorflow && file.is_lite)
    detector.family = "TensorFlow Lite's detection", detector.normalization = "0.5/0.5";
  if (is_rt_detr && !from_one) detector.family = "RT-DETR";
  if (count == nullptr && detector.first_class == 1) detector.family = "torchvision's detection";
  if (!detector.doubt.empty()) return detector;
  if (from_one && detector.first_class != 1) {
    detector.doubt = "a box has the class 0, which torchvision's detectors don't give";
  } else if (!first_has_classes && !is_classes(classes, scores)) {
    detector.doubt = "neither names nor values of its lists tell which are scores and which are classes";
  } else if (look.rows > 0 && look.has_shares() != is_tensorflow) {
    detector.doubt = is_tensorflow ? "its boxes are no shares of the image, as TensorFlow's are"
                                   : "its boxes are shares of the image, and nothing tells whether x or y comes first";
  } else if (count != nullptr && !is_tensorflow && look.rows == 0 && !is_asked) {
    detector.doubt =
        "nothing is found on plain grey, so that nothing tells what its boxes are: --decoder lists takes "
        "them for corners in pixels";
  }
  return detector;
}

}  // namespace

std::optional<RecognisedDetector> recognise_list(const DetectorFile& file) {
  if (file.outputs.empty()) return std::nullopt;
  if (file.may_be("rows")) {
    if (auto rows = rows_with_all(file)) return rows;
  }
  return file.may_be("lists") || file.wanted == "torchvision" ? separate_lists(file) : std::nullopt;
}

}  // namespace evener::detection
