#include "detect/decoders/five_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "detect/decoders/detection.h"
#include "infer/model/class_output.h"

namespace evener::detection {
namespace {

constexpr FaceFamilyFacts kFaceFamilies[] = {
    {"SCRFD", 0.5F, 0.7F, 0.4F, false, {127.5F, 127.5F, 127.5F}, 1 / 128.0F, "0.5/0.50196078431372549"},
    {"YuNet", 0.9F, 0.9F, 0.3F, true, {0, 0, 0}, 1, "pixels"},
    {"RetinaFace",
     0.6F,
     0.95F,
     0.4F,
     true,
     {104, 117, 123},
     1,
     "0.40784313725490196:0.45882352941176469:0.4823529411764706/0.0039215686274509803"},
};

/// RetinaFace's priors are squares of these sides, two at each place of a stride.
constexpr std::array<std::array<float, 2>, 3> kPriorSides = {{{16, 32}, {64, 128}, {256, 512}}};
constexpr float kMiddleVariance = 0.1F, kExtentVariance = 0.2F;
/// A box with farther corners is none: whole numbers hold all that are nearer.
constexpr float kFarthest = 1e6F;

bool is_usable(const FivePointFace& face) {
  const auto near = [](float value) { return std::abs(value) <= kFarthest; };  // false for what is no number
  if (!near(face.x1) || !near(face.y1) || !near(face.x2) || !near(face.y2)) return false;
  if (face.points && !std::ranges::all_of(*face.points, near)) return false;
  return face.x1 < face.x2 && face.y1 < face.y2;
}

/// OpenCV compares boxes whose corner and extent were cut to whole pixels, and rounds twice on the way.
float whole_overlap(const FivePointFace& a, const FivePointFace& b) {
  struct Whole {
    double x1, y1, x2, y2;
  };
  const auto whole = [](const FivePointFace& face) {
    const double x = std::trunc(face.x1), y = std::trunc(face.y1);
    return Whole{x, y, x + std::trunc(face.x2 - face.x1), y + std::trunc(face.y2 - face.y1)};
  };
  const Whole first = whole(a), second = whole(b);
  const double areas = area_of(first) + area_of(second);
  if (areas <= 0) return 1;
  const double both = intersection(first, second);
  return 1 - static_cast<float>(1 - both / (areas - both));
}

/// InsightFace and Pytorch_Retinaface count pixels of the photo, whose corners both belong to a box.
float pixel_overlap(const FivePointFace& a, const FivePointFace& b, float pixel) {
  const float both = intersection(a, b, pixel);
  return both / (area_of(a, pixel) + area_of(b, pixel) - both);
}

/// `x` and `y` of five points, each made of an offset.
template <class X, class Y>
std::array<float, 10> points_of(const float* offsets, const X& x, const Y& y) {
  std::array<float, 10> points;
  for (std::size_t i = 0; i < 10; i += 2) points[i] = x(offsets[i]), points[i + 1] = y(offsets[i + 1]);
  return points;
}

// The face of a place (x, y), in strides, without its score. `box`: four values; `offsets`: ten.

/// `offsets`: null where the network gives none.
FivePointFace scrfd_face(float x, float y, float stride, const float* box, const float* offsets) {
  const float at_x = x * stride, at_y = y * stride;
  FivePointFace face{.x1 = at_x - box[0] * stride,
                     .y1 = at_y - box[1] * stride,
                     .x2 = at_x + box[2] * stride,
                     .y2 = at_y + box[3] * stride};
  if (offsets != nullptr) {
    face.points = points_of(
        offsets, [&](float offset) { return at_x + offset * stride; },
        [&](float offset) { return at_y + offset * stride; });
  }
  return face;
}

FivePointFace yunet_face(float x, float y, float stride, const float* box, const float* offsets) {
  const float width = std::exp(box[2]) * stride, height = std::exp(box[3]) * stride;
  FivePointFace face{.x1 = (x + box[0]) * stride - width / 2, .y1 = (y + box[1]) * stride - height / 2};
  face.x2 = face.x1 + width, face.y2 = face.y1 + height;
  face.points = points_of(
      offsets, [&](float offset) { return (offset + x) * stride; },
      [&](float offset) { return (offset + y) * stride; });
  return face;
}

/// `side`: of the prior. Computed as shares of the image, which is what the network was trained with.
FivePointFace retinaface_face(float x, float y, float stride, float side, float image_width, float image_height,
                              const float* box, const float* offsets) {
  const float cx = (x + 0.5F) * stride / image_width, w = side / image_width;
  const float cy = (y + 0.5F) * stride / image_height, h = side / image_height;
  const float width = w * std::exp(box[2] * kExtentVariance), height = h * std::exp(box[3] * kExtentVariance);
  const float left = cx + box[0] * kMiddleVariance * w - width / 2;
  const float top = cy + box[1] * kMiddleVariance * h - height / 2;
  FivePointFace face{.x1 = left * image_width,
                     .y1 = top * image_height,
                     .x2 = (left + width) * image_width,
                     .y2 = (top + height) * image_height};
  face.points = points_of(
      offsets, [&](float offset) { return (cx + offset * kMiddleVariance * w) * image_width; },
      [&](float offset) { return (cy + offset * kMiddleVariance * h) * image_height; });
  return face;
}

}  // namespace

const FaceFamilyFacts& face_family_facts(FaceFamily family) {
  return kFaceFamilies[static_cast<std::size_t>(family)];
}

PlaceOutput place_output(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t batch) {
  PlaceOutput output{name, 0, 0};
  if (shape.empty() || batch < 1) return output;
  const std::int64_t values = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  output.columns = shape.back();
  if (output.columns > 0) output.rows = values / output.columns / batch;
  return output;
}

std::optional<FivePointDecoder> FivePointDecoder::recognise(std::span<const PlaceOutput> outputs, std::int64_t width,
                                                            std::int64_t height) {
  if (width < 1 || height < 1) return std::nullopt;
  FivePointDecoder decoder;
  decoder.width_ = width, decoder.height_ = height;
  const std::size_t count = outputs.size();
  const bool is_known = count == 3                                ? decoder.recognise_priors(outputs)
                        : count == 6 || count == 9 || count == 12 ? decoder.recognise_levels(outputs, 3)
                        : count == 10 || count == 15              ? decoder.recognise_levels(outputs, 5)
                                                                  : false;
  return is_known ? std::optional(std::move(decoder)) : std::nullopt;
}

FivePointDecoder::Level FivePointDecoder::level_at(std::size_t index, std::int64_t anchors) const {
  const std::int64_t stride = std::int64_t{8} << index;
  const auto along = [&](std::int64_t extent) { return (extent + stride - 1) / stride; };
  return {.stride = stride, .rows = along(height_), .columns = along(width_), .anchors = anchors};
}

bool FivePointDecoder::recognise_levels(std::span<const PlaceOutput> outputs, std::size_t levels) {
  const std::size_t each = outputs.size() / levels;  // score, box; points; a second score
  family_ = each == 4 ? FaceFamily::kYunet : FaceFamily::kScrfd;
  has_points_ = each > 2;
  for (const std::int64_t anchors : {1, 2}) {
    if (anchors == 2 && family_ == FaceFamily::kYunet) break;
    levels_.clear();
    std::vector<bool> taken(outputs.size());
    // The index of an output of that size which no level has yet.
    const auto take = [&](std::size_t rows, std::int64_t columns) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (taken[i] || std::cmp_not_equal(outputs[i].rows, rows) || outputs[i].columns != columns) continue;
        taken[i] = true;
        return i;
      }
      return std::nullopt;
    };
    for (std::size_t i = 0; i < levels; ++i) {
      Level level = level_at(i, anchors);
      const std::size_t places = level.places();
      const auto score = take(places, 1), second = each == 4 ? take(places, 1) : score, box = take(places, 4);
      const auto points = has_points_ ? take(places, 10) : box;
      if (!score || !second || !box || !points) break;
      level.score = *score, level.second_score = *second, level.box = *box, level.points = *points;
      levels_.push_back(level);
    }
    if (levels_.size() == levels) return true;
  }
  return false;
}

bool FivePointDecoder::recognise_priors(std::span<const PlaceOutput> outputs) {
  family_ = FaceFamily::kRetinaface;
  std::size_t places = 0;
  for (std::size_t i = 0; i < kPriorSides.size(); ++i) {
    levels_.push_back(level_at(i, 2));
    levels_.back().first = places;
    places += levels_.back().places();
  }
  const auto of_columns = [&](std::int64_t columns) {
    const auto found = std::ranges::find(outputs, columns, &PlaceOutput::columns);
    const bool fits = found != outputs.end() && std::cmp_equal(found->rows, places);
    return fits ? std::optional(static_cast<std::size_t>(found - outputs.begin())) : std::nullopt;
  };
  const auto score = of_columns(2), box = of_columns(4), points = of_columns(10);
  if (!score || !box || !points) return false;
  for (Level& level : levels_) level.score = *score, level.box = *box, level.points = *points;
  return true;
}

std::vector<FivePointFace> FivePointDecoder::all_found(std::span<const float* const> outputs, float least) const {
  const bool is_retinaface = family_ == FaceFamily::kRetinaface;
  const auto image_width = static_cast<float>(width_), image_height = static_cast<float>(height_);
  std::vector<FivePointFace> faces;
  bool logits = false;
  for (std::size_t size = 0; size < levels_.size(); ++size) {
    const Level& level = levels_[size];
    const float* const scores = outputs[level.score];
    // Logits show by values outside 0 to 1, as most of some thousand places show no face. RetinaFace's places are in
    // one output.
    if (!is_retinaface) logits = inference::has_logits({scores, level.places()});
    if (is_retinaface && size == 0)
      logits = inference::has_logits({scores, 2 * (levels_.back().first + levels_.back().places())});
    const auto stride = static_cast<float>(level.stride);
    for (std::size_t place = 0; place < level.places(); ++place) {
      const std::size_t row = level.first + place;
      float score = 0;
      if (is_retinaface) {
        score = logits ? probability_of(scores[2 * row + 1] - scores[2 * row]) : scores[2 * row + 1];
      } else if (family_ == FaceFamily::kYunet) {
        const float first = std::clamp(scores[row], 0.0F, 1.0F);
        score = std::sqrt(first * std::clamp(outputs[level.second_score][row], 0.0F, 1.0F));
      } else {
        score = logits ? probability_of(scores[row]) : scores[row];
      }
      if (!(score >= least)) continue;
      const auto anchor = static_cast<std::int64_t>(place) % level.anchors;
      const std::int64_t at = static_cast<std::int64_t>(place) / level.anchors;
      const auto x = static_cast<float>(at % level.columns), y = static_cast<float>(at / level.columns);
      const float* const box = outputs[level.box] + 4 * row;
      const float* const points = has_points_ ? outputs[level.points] + 10 * row : nullptr;
      const float side = is_retinaface ? kPriorSides[size][static_cast<std::size_t>(anchor)] : 0;
      faces.push_back(is_retinaface ? retinaface_face(x, y, stride, side, image_width, image_height, box, points)
                      : family_ == FaceFamily::kYunet ? yunet_face(x, y, stride, box, points)
                                                      : scrfd_face(x, y, stride, box, points));
      faces.back().score = std::min(score, 1.0F);
    }
  }
  return faces;
}

std::vector<FivePointFace> FivePointDecoder::faces(std::span<const float* const> outputs,
                                                   const FivePointOptions& options) const {
  std::vector<FivePointFace> found = all_found(outputs, options.least_score);
  std::erase_if(found, [](const FivePointFace& face) { return !is_usable(face); });
  std::ranges::stable_sort(found, std::ranges::greater(), &FivePointFace::score);
  if (found.size() > options.candidates) found.resize(options.candidates);
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto hides = [&](std::size_t kept, std::size_t next) {
    const float overlap = family_ == FaceFamily::kYunet ? whole_overlap(found[kept], found[next])
                                                        : pixel_overlap(found[kept], found[next], options.pixel);
    return overlap > options.overlap;
  };
  std::vector<FivePointFace> faces;
  for (const std::size_t i : nms(order, hides)) faces.push_back(found[i]);
  return faces;
}

}  // namespace evener::detection
