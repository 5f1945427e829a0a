// Networks that give a table of boxes and a table with the scores of all classes of each box.
//
//   DETR and its kin (Carion et al. 2020): some hundred queries with logits and boxes (middle and extents as shares of
//     the image); logits are softmaxed, with "no object" last, or, from Deformable DETR on, each is a sigmoid. No NMS.
//   Other tables of many boxes, such as YOLO-NAS, YOLOv4 and SSD: corners in pixels or shares, probabilities of the
//     classes, or of the background and the classes. NMS chooses.
//   Detectors of faces, as detectors of one class: SCRFD, YuNet and RetinaFace (five_points.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "task/detect/decoders/detection.h"
#include "task/detect/decoders/five_points.h"
#include "task/detect/decoders/understand.h"

namespace evener::task {
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
  std::int64_t width = 0, height = 0;  // of the network's image
};

/// The number of classes among columns of scores.
std::int64_t classes_of(ScoreKind kind, std::int64_t columns) {
  const bool has_other =
      kind == ScoreKind::kSoftmaxLast || kind == ScoreKind::kSoftmaxFirst || kind == ScoreKind::kSharesFirst;
  return has_other ? columns - 1 : columns;
}

bool is_softmax(ScoreKind kind) {
  return kind == ScoreKind::kSoftmaxLast || kind == ScoreKind::kSoftmaxFirst;
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

bool are_corners(const TrialOutput& boxes) {
  std::size_t ordered = 0, all = 0;
  for (std::size_t i = 0; i + 4 <= boxes.values.size(); i += 4, ++all) {
    const float* const box = &boxes.values[i];
    ordered += box[2] > box[0] && box[3] > box[1] ? 1 : 0;
  }
  return 10 * ordered >= 9 * all;
}

bool are_shares_of_image(const TrialOutput& boxes) {
  return std::ranges::all_of(boxes.values, [](float value) { return std::abs(value) <= 4; });
}

/// Some hundred boxes, whose middles are given.
bool is_detr(const TrialOutput& boxes, const ScoredLayout& layout) {
  constexpr std::int64_t kMostQueries = 1000;
  return boxes.rows() <= kMostQueries && layout.from_middle && layout.shares;
}

ScoreKind kind_of(const DetectorFile& file, const TrialOutput& scores, bool detr) {
  const std::int64_t columns = scores.columns();
  if (has_logits(scores.values)) {
    if (!detr) return ScoreKind::kSoftmaxFirst;
    const bool has_none = file.classes.empty() ? columns == 92 || columns == 81 || columns == 21
                                               : columns == std::ssize(file.classes) + 1;
    return has_none ? ScoreKind::kSoftmaxLast : ScoreKind::kSigmoid;
  }
  return columns > 1 && are_shares(scores) ? ScoreKind::kSharesFirst : ScoreKind::kProbabilities;
}

class ScoredDecoder : public BoxDecoder {
 public:
  explicit ScoredDecoder(ScoredLayout layout) : layout_(std::move(layout)) {}
  /// DETR's queries may be several objects with kSigmoid, as its own programs have it: each class with its own score.
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options,
                               float /*pixel*/) const override {
    const std::span<const float> boxes = output_of(outputs, layout_.boxes), scores = output_of(outputs, layout_.scores);
    const auto columns = static_cast<std::size_t>(layout_.columns);
    const std::size_t rows = boxes.size() / 4;
    if (scores.size() != rows * columns) {
      throw Error("a detector gives " + std::to_string(rows) + " boxes, but " + std::to_string(scores.size()) +
                  " scores, not " + std::to_string(columns) + " for each");
    }
    const std::size_t first =
        layout_.kind == ScoreKind::kSoftmaxFirst || layout_.kind == ScoreKind::kSharesFirst ? 1 : 0;
    const auto classes = static_cast<std::size_t>(classes_of(layout_.kind, layout_.columns));
    const bool sigmoid = layout_.kind == ScoreKind::kSigmoid, softmax = is_softmax(layout_.kind);
    const float least = sigmoid ? logit_of(options.confidence) : options.confidence;
    // A query of DETR may stand for several classes only where these don't share a sum.
    const bool several = layout_.needs_nms || sigmoid;
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
        Detection box = box_at(&boxes[4 * i]);
        box.label = static_cast<std::int32_t>(label);
        box.score = score;
        if (has_area(box)) found.push_back(box);
      }
    }
    return layout_.needs_nms ? suppressed(std::move(found), options) : likeliest(std::move(found), options);
  }
  float usual_iou() const override { return layout_.needs_nms ? 0.45F : 1; }

 private:
  Detection box_at(const float* values) const {
    const float x_scale = layout_.shares ? static_cast<float>(layout_.width) : 1;
    const float y_scale = layout_.shares ? static_cast<float>(layout_.height) : 1;
    if (!layout_.from_middle) {
      return {
          .x1 = values[0] * x_scale, .y1 = values[1] * y_scale, .x2 = values[2] * x_scale, .y2 = values[3] * y_scale};
    }
    const float half_w = values[2] / 2, half_h = values[3] / 2;
    return {.x1 = (values[0] - half_w) * x_scale,
            .y1 = (values[1] - half_h) * y_scale,
            .x2 = (values[0] + half_w) * x_scale,
            .y2 = (values[1] + half_h) * y_scale};
  }

  const ScoredLayout layout_;
};

class FaceBoxDecoder : public BoxDecoder {
 public:
  /// `outputs`: their names, in the order that `decoder` recognised them in.
  FaceBoxDecoder(FivePointDecoder decoder, std::vector<std::string> outputs)
      : decoder_(std::move(decoder)), outputs_(std::move(outputs)) {}
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override {
    if (!is_wanted(0, options)) return {};
    std::vector<const float*> values;
    for (const std::string& name : outputs_) values.push_back(output_of(outputs, name).data());
    const FivePointOptions asked{// Here a score has to be higher, there at least as high.
                                 .least_score = std::nextafter(options.confidence, 2.0F),
                                 .overlap = options.iou,
                                 .pixel = pixel,
                                 .candidates = options.candidates};
    std::vector<Detection> found;
    for (const FivePointFace& face : decoder_.faces(values, asked)) {
      found.push_back({.x1 = face.x1, .y1 = face.y1, .x2 = face.x2, .y2 = face.y2, .label = 0, .score = face.score});
      if (found.size() == options.most) break;
    }
    return found;
  }
  float usual_iou() const override { return face_family_facts(decoder_.family()).overlap; }
  std::size_t usual_candidates() const override { return FivePointOptions().candidates; }

 private:
  const FivePointDecoder decoder_;
  const std::vector<std::string> outputs_;
};

}  // namespace

std::optional<RecognisedDetector> recognise_scored(const DetectorFile& file) {
  if (!file.wanted.empty() && file.wanted != "detr" && file.wanted != "boxes-and-scores") return std::nullopt;
  const TrialOutput *boxes = nullptr, *scores = nullptr;
  const auto is_table = [](const TrialOutput& output) {
    return output.shape.size() == 2 || (output.shape.size() == 3 && output.shape[1] == 1);
  };
  // Names decide where both have four columns.
  for (const TrialOutput& output : file.outputs) {
    const bool says_box = DetectorFile{.outputs = {output}}.named({"box"}) != nullptr;
    if (is_table(output) && output.columns() == 4 && (boxes == nullptr || says_box)) boxes = &output;
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
                      .width = file.width,
                      .height = file.height};
  const bool detr = file.wanted == "detr" ||
                    (file.wanted.empty() && (file.named({"pred_boxes"}) != nullptr || is_detr(*boxes, layout)));
  if (detr) layout.from_middle = layout.shares = true;
  layout.needs_nms = !detr;
  layout.kind = kind_of(file, *scores, detr);
  RecognisedDetector detector{.family = detr ? "DETR" : "boxes with scores"};
  detector.classes = static_cast<std::size_t>(classes_of(layout.kind, layout.columns));
  if (detector.classes == 0) return std::nullopt;
  detector.normalization = detr && layout.kind == ScoreKind::kSoftmaxLast ? "imagenet" : "0/1";
  if (!detr && !layout.shares) detector.crop = data::CropMode::kYolo;
  detector.decoder = std::make_shared<ScoredDecoder>(std::move(layout));
  return detector;
}

std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file) {
  if (!file.wanted.empty() && file.wanted != "faces") return std::nullopt;
  std::vector<PlaceOutput> places;
  std::vector<std::string> names;
  for (const TrialOutput& output : file.outputs) {
    places.push_back(place_output(output.name, output.shape, 1));
    names.push_back(output.name);
  }
  const auto decoder = FivePointDecoder::recognise(places, file.width, file.height);
  if (!decoder) return std::nullopt;
  RecognisedDetector detector{.family = face_family_facts(decoder->family()).name, .classes = 1};
  detector.crop = data::CropMode::kInsightface;
  switch (decoder->family()) {
    case FaceFamily::kScrfd:
      detector.normalization = "0.5/0.50196078431372549";  // (value - 127.5) / 128
      break;
    case FaceFamily::kYunet:
      detector.normalization = "pixels";
      detector.reverse_channels = true;
      break;
    case FaceFamily::kRetinaface:  // less 104, 117 and 123 of blue, green and red
      detector.normalization = "0.40784313725490196:0.45882352941176469:0.4823529411764706/0.0039215686274509803";
      detector.reverse_channels = true;
      break;
  }
  detector.decoder = std::make_shared<FaceBoxDecoder>(*decoder, std::move(names));
  return detector;
}

}  // namespace evener::task
