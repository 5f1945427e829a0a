// Networks that give a table of boxes and a table with the scores of all classes of each box.
//
//   DETR and its kin (Carion et al. 2020): some hundred queries with logits and boxes (middle and extents as shares of
//     the image); logits are softmaxed, with "no object" last, or, from Deformable DETR on, each is a sigmoid. No NMS.
//   Other tables of many boxes, such as YOLO-NAS, YOLOv4 and SSD: corners in pixels or shares, probabilities of the
//     classes, or of the background and the classes. NMS chooses.
//   Detectors of faces, as detectors of one class: SCRFD, YuNet and RetinaFace (five_points.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "detect/decoders/detection.h"
#include "detect/decoders/five_points.h"
#include "detect/decoders/understand.h"
#include "infer/model/class_output.h"
#include "infer/model/metadata.h"

namespace evener::detection {
namespace {

/// What the scores of a box are.
enum class ScoreKind : std::uint8_t {
  kProbabilities,  // of each class
  kSigmoid,        // their logits
  kSoftmaxLast,    // logits of the classes and, last, of no object
  kSoftmaxFirst,   // logits of the background and of the classes
  kSharesFirst,    // probabilities of the background and of the classes
};

struct ScoredLayout {
  std::string boxes, scores;
  std::int64_t columns = 0;  // of scores
  ScoreKind kind = ScoreKind::kProbabilities;
  bool from_middle = false;  // middle and extents; false: corners
  bool shares = false;       // of the image's sides; false: pixels
  bool needs_nms = true;
  float width = 0, height = 0;  // of the network's image
};

/// The number of classes among columns of scores.
std::int64_t classes_of(ScoreKind kind, std::int64_t columns) {
  const bool has_other =
      kind == ScoreKind::kSoftmaxLast || kind == ScoreKind::kSoftmaxFirst || kind == ScoreKind::kSharesFirst;
  return has_other ? columns - 1 : columns;
}

/// 1 / the sum of exp(value - greatest).
float softmax_scale(std::span<const float> row, float greatest) {
  float sum = 0;
  for (const float value : row) sum += std::exp(value - greatest);
  return 1 / sum;
}

/// Whether the rows sum to 1.
bool are_shares(const TrialOutput& scores) {
  constexpr double kRounding = 0.02;
  const auto columns = static_cast<std::size_t>(scores.columns());
  for (std::size_t begin = 0; begin + columns <= scores.values.size(); begin += columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += double{scores.values[begin + i]};
    if (std::abs(sum - 1) > kRounding) return false;
  }
  return !scores.values.empty();
}

/// Whether nine of ten boxes fit `fits`, which is given their four values.
template <class Fits>
bool nearly_all(const TrialOutput& boxes, const Fits& fits) {
  std::size_t fitting = 0, all = 0;
  for (std::size_t i = 0; i + 4 <= boxes.values.size(); i += 4, ++all) fitting += fits(&boxes.values[i]) ? 1 : 0;
  return 10 * fitting >= 9 * all;
}

bool are_corners(const TrialOutput& boxes) {
  return nearly_all(boxes, [](const float* box) { return box[2] > box[0] && box[3] > box[1]; });
}

/// The share of the rows in which one column is greater than all others.
double share_won_by(const TrialOutput& scores, std::size_t column) {
  const auto columns = static_cast<std::size_t>(scores.columns());
  std::size_t won = 0;
  for (std::size_t row = 0; row + columns <= scores.values.size(); row += columns) {
    const float own = scores.values[row + column];
    const auto begin = scores.values.begin() + static_cast<std::ptrdiff_t>(row);
    won += std::count_if(begin, begin + static_cast<std::ptrdiff_t>(columns),
                         [&](float other) { return !(other < own); }) == 1;
  }
  return static_cast<double>(won) / std::max<double>(1, static_cast<double>(scores.rows()));
}

bool are_shares_of_image(const TrialOutput& boxes) {
  return std::ranges::all_of(boxes.values, [](float value) { return std::abs(value) <= 4; });
}

/// Whether boxes that follow each other are mostly one below the other in their first value: along the rows of a grid x
/// grows at each step, and y only from row to row.
bool has_y_first(const TrialOutput& boxes) {
  std::ptrdiff_t steps = 0, along_x = 0;
  for (std::size_t i = 4; i + 4 <= boxes.values.size(); i += 4) {
    const float x = std::abs(boxes.values[i] - boxes.values[i - 4]);
    const float y = std::abs(boxes.values[i + 1] - boxes.values[i - 3]);
    along_x += x > y ? 1 : 0, steps += x != y ? 1 : 0;
  }
  return 10 * along_x < 3 * steps && 2 * steps > boxes.rows();
}

/// Some hundred boxes, whose middles are given.
bool is_detr(const TrialOutput& boxes, const ScoredLayout& layout) {
  constexpr std::int64_t kMostQueries = 1000;
  return boxes.rows() <= kMostQueries && layout.from_middle && layout.shares;
}

/// Absent where the scores may be several kinds. On plain grey, what stands for no object wins nearly everywhere.
std::optional<ScoreKind> kind_of(const DetectorFile& file, const TrialOutput& scores, bool detr) {
  constexpr double kNearlyAll = 0.9;
  const std::int64_t columns = scores.columns();
  const auto wins = [&](std::int64_t column) {
    return columns > 1 && share_won_by(scores, static_cast<std::size_t>(column)) >= kNearlyAll;
  };
  const ScoreLook look = look_of(scores.values);
  if (look == ScoreLook::kProbabilities) {
    if (columns == 1 || !are_shares(scores)) return ScoreKind::kProbabilities;
    return wins(0) ? std::optional(ScoreKind::kSharesFirst) : std::nullopt;
  }
  if (!detr && wins(0)) return ScoreKind::kSoftmaxFirst;
  if (detr) {
    const auto names = [&](std::int64_t count) {
      return !inference::names_of_classes(file.classes, static_cast<std::size_t>(count)).empty();
    };
    const bool are_named = !file.classes.empty(), has_one_more = are_named && names(columns - 1);
    const bool is_usual = !are_named && (columns == 92 || columns == 81 || columns == 21);
    if (is_usual || (wins(columns - 1) && (!are_named || has_one_more))) return ScoreKind::kSoftmaxLast;
    if (has_one_more) return std::nullopt;
  }
  return look == ScoreLook::kLogits ? std::optional(ScoreKind::kSigmoid) : std::nullopt;
}

Detection box_at(const ScoredLayout& layout, const float* values) {
  const float x_scale = layout.shares ? layout.width : 1, y_scale = layout.shares ? layout.height : 1;
  std::array<float, 4> sides = {values[0], values[1], values[2], values[3]};
  if (layout.from_middle) {
    const float half_w = values[2] / 2, half_h = values[3] / 2;
    sides = {values[0] - half_w, values[1] - half_h, values[0] + half_w, values[1] + half_h};
  }
  return {.x1 = sides[0] * x_scale, .y1 = sides[1] * y_scale, .x2 = sides[2] * x_scale, .y2 = sides[3] * y_scale};
}

/// DETR's queries may be several objects with kSigmoid, as its own programs have it: each class with its own score.
std::vector<Detection> scored_boxes(const ScoredLayout& layout, const ImageOutputs& outputs,
                                    const DecodeOptions& options) {
  const std::span<const float> boxes = output_of(outputs, layout.boxes), scores = output_of(outputs, layout.scores);
  const auto columns = static_cast<std::size_t>(layout.columns);
  const std::size_t rows = boxes.size() / 4;
  if (scores.size() != rows * columns) {
    throw Error(fmt::format("a detector gives {} boxes, but {} scores, not {} for each", rows, scores.size(), columns));
  }
  const bool is_first = layout.kind == ScoreKind::kSoftmaxFirst;
  const std::size_t first = is_first || layout.kind == ScoreKind::kSharesFirst ? 1 : 0;
  const auto classes = static_cast<std::size_t>(classes_of(layout.kind, layout.columns));
  const bool sigmoid = layout.kind == ScoreKind::kSigmoid, softmax = is_first || layout.kind == ScoreKind::kSoftmaxLast;
  const float least = sigmoid ? logit_of(options.confidence) : options.confidence;
  // A query of DETR may stand for several classes only where these don't share a sum.
  const bool several = layout.needs_nms || sigmoid;
  std::vector<Detection> found;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const float> row = scores.subspan(i * columns, columns);
    const auto best = std::ranges::max_element(row.subspan(first, classes));
    float greatest = 0, scale = 1;
    if (softmax) {
      greatest = *std::ranges::max_element(row);
      // The share of the best class is at most exp(best - greatest).
      if (!(std::exp(*best - greatest) > options.confidence)) continue;
      scale = softmax_scale(row, greatest);
    } else if (!(*best > least)) {
      continue;
    }
    for (std::size_t label = 0; label < classes; ++label) {
      const float value = row[first + label];
      if (!several && &row[first + label] != &*best) continue;
      const float score = softmax ? std::exp(value - greatest) * scale : sigmoid ? probability_of(value) : value;
      if (!(score > options.confidence) || !is_wanted(static_cast<std::int32_t>(label), options)) continue;
      Detection box = box_at(layout, &boxes[4 * i]);
      box.label = static_cast<std::int32_t>(label);
      box.score = score;
      if (has_area(box)) found.push_back(box);
    }
  }
  return layout.needs_nms ? suppressed(std::move(found), options) : likeliest(std::move(found), options);
}

}  // namespace

std::optional<RecognisedDetector> recognise_scored(const DetectorFile& file) {
  if (!file.may_be("detr") && !file.may_be("boxes-and-scores")) return std::nullopt;
  const TrialOutput *boxes = nullptr, *scores = nullptr;
  const auto is_table = [](const TrialOutput& output) {
    return output.shape.size() == 2 || (output.shape.size() == 3 && output.shape[1] == 1);
  };
  // Names decide where both have four columns.
  for (const TrialOutput& output : file.outputs) {
    if (is_table(output) && output.columns() == 4 && (boxes == nullptr || output.says({"box"}))) boxes = &output;
  }
  for (const TrialOutput& output : file.outputs) {
    if (boxes == nullptr || &output == boxes || !is_table(output)) continue;
    if (output.shape.front() == boxes->shape.front() && scores == nullptr) scores = &output;
  }
  if (boxes == nullptr || scores == nullptr || boxes->rows() < 2) return std::nullopt;
  ScoredLayout layout{.boxes = boxes->name,
                      .scores = scores->name,
                      .columns = scores->columns(),
                      .from_middle = !are_corners(*boxes),
                      .shares = are_shares_of_image(*boxes),
                      .width = static_cast<float>(file.width),
                      .height = static_cast<float>(file.height)};
  const auto says_detr = [](const TrialOutput& output) { return output.says({"pred_boxes"}); };
  const bool is_like_detr = (layout.shares && std::ranges::any_of(file.outputs, says_detr)) || is_detr(*boxes, layout);
  const bool detr = file.wanted == "detr" || (file.wanted.empty() && is_like_detr);
  if (detr) layout.from_middle = layout.shares = true;
  layout.needs_nms = !detr;
  const auto kind = kind_of(file, *scores, detr);
  layout.kind = kind.value_or(ScoreKind::kProbabilities);
  const auto classes = static_cast<std::size_t>(classes_of(layout.kind, layout.columns));
  if (classes == 0) return std::nullopt;
  const auto found = [layout](const ImageOutputs& outputs, const DecodeOptions& options, float) {
    return scored_boxes(layout, outputs, options);
  };
  RecognisedDetector detector(detr ? "DETR" : "boxes with scores",
                              detr && layout.kind == ScoreKind::kSoftmaxLast ? "imagenet" : "0/1",
                              {found, layout.needs_nms ? 0.45F : 1}, classes);
  if (!detr && !layout.shares) detector.crop = data::CropMode::kYolo;
  const bool has_extents = nearly_all(*boxes, [](const float* box) { return box[2] >= 0 && box[3] >= 0; });
  if (!kind) {
    detector.doubt = fmt::format(
        "its scores, {} for plain grey, are neither probabilities nor logits of which one "
        "stands for no object",
        extent_text(scores->values));
  } else if ((layout.from_middle && !has_extents) || (detr && !are_shares_of_image(*boxes))) {
    detector.doubt = fmt::format("its boxes, {} for plain grey, are neither corners nor middles with extents{}",
                                 extent_text(boxes->values), detr ? " as shares of the image" : "");
  }
  if (detector.doubt.empty() && !detr && (boxes->says({"raw_detection"}) || has_y_first(*boxes))) {
    detector.doubt = "its boxes have y before x, as TensorFlow's, which in tables of all boxes are not read";
  }
  return detector;
}

std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file) {
  if (!file.may_be("faces")) return std::nullopt;
  std::vector<PlaceOutput> places;
  for (const TrialOutput& output : file.outputs) places.push_back(place_output(output.name, output.shape, 1));
  const auto decoder = FivePointDecoder::recognise(places, file.width, file.height);
  if (!decoder) return std::nullopt;
  const auto found = [decoder = *decoder, places](const ImageOutputs& outputs, const DecodeOptions& options,
                                                  float pixel) {
    std::vector<Detection> boxes;
    if (!is_wanted(0, options)) return boxes;
    std::vector<const float*> values;
    for (const PlaceOutput& place : places) values.push_back(output_of(outputs, place.name).data());
    // Here a score has to be higher, there at least as high.
    const FivePointOptions asked{std::nextafter(options.confidence, 2.0F), options.iou, pixel, options.candidates};
    for (const FivePointFace& face : decoder.faces(values, asked)) {
      boxes.push_back({face.x1, face.y1, face.x2, face.y2, 0, face.score});
      if (boxes.size() == options.most) break;
    }
    return boxes;
  };
  const FaceFamilyFacts& facts = face_family_facts(decoder->family());
  RecognisedDetector detector(facts.name, facts.normalization, {found, facts.overlap, FivePointOptions().candidates},
                              1);
  detector.reverse_channels = facts.blue_first;
  detector.crop = data::CropMode::kInsightface;
  return detector;
}

}  // namespace evener::detection
