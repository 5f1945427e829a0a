#include "task/detect/decoders/five_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "task/detect/decoders/detection.h"

namespace evener::task {
namespace {

constexpr FaceFamilyFacts kFaceFamilies[] = {
    {.name = "SCRFD", .least_score = 0.5F, .sure_score = 0.7F, .overlap = 0.4F, .multiple = 32},
    {.name = "YuNet", .least_score = 0.9F, .sure_score = 0.9F, .overlap = 0.3F, .multiple = 32},
    {.name = "RetinaFace", .least_score = 0.6F, .sure_score = 0.95F, .overlap = 0.4F, .multiple = 32},
};

/// RetinaFace's priors are squares of these sides, two at each place of a stride.
constexpr std::array<std::array<float, 2>, 3> kPriorSides = {{{16, 32}, {64, 128}, {256, 512}}};
constexpr float kMiddleVariance = 0.1F, kExtentVariance = 0.2F;
/// A box with farther corners is none: whole numbers hold all that are nearer.
constexpr float kFarthest = 1e6F;

std::int64_t places_along(std::int64_t extent, std::int64_t stride) {
  return (extent + stride - 1) / stride;
}

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
  switch (outputs.size()) {
    case 3:
      return recognise_priors(outputs, width, height);
    case 6:
    case 9:
    case 12:
      return recognise_levels(outputs, width, height, 3);
    case 10:
    case 15:
      return recognise_levels(outputs, width, height, 5);
    default:
      return std::nullopt;
  }
}

std::optional<FivePointDecoder> FivePointDecoder::recognise_levels(std::span<const PlaceOutput> outputs,
                                                                   std::int64_t width, std::int64_t height,
                                                                   std::size_t levels) {
  const std::size_t each = outputs.size() / levels;  // score, box; points; a second score
  FivePointDecoder decoder;
  decoder.family_ = each == 4 ? FaceFamily::kYunet : FaceFamily::kScrfd;
  decoder.has_points_ = each > 2;
  for (const std::int64_t anchors : {1, 2}) {
    if (anchors == 2 && decoder.family_ == FaceFamily::kYunet) break;
    decoder.levels_.clear();
    std::vector<bool> taken(outputs.size());
    // The index of an output of that size which no level has yet.
    const auto take = [&](std::int64_t rows, std::int64_t columns) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (taken[i] || outputs[i].rows != rows || outputs[i].columns != columns) continue;
        taken[i] = true;
        return i;
      }
      return std::nullopt;
    };
    for (std::size_t i = 0; i < levels; ++i) {
      Level level{.stride = std::int64_t{8} << i, .anchors = anchors};
      level.rows = places_along(height, level.stride);
      level.columns = places_along(width, level.stride);
      const std::int64_t places = level.rows * level.columns * anchors;
      const auto score = take(places, 1), second = each == 4 ? take(places, 1) : score, box = take(places, 4);
      const auto points = decoder.has_points_ ? take(places, 10) : box;
      if (!score || !second || !box || !points) break;
      level.score = *score, level.second_score = *second, level.box = *box, level.points = *points;
      decoder.levels_.push_back(level);
    }
    if (decoder.levels_.size() == levels) return decoder;
  }
  return std::nullopt;
}

std::optional<FivePointDecoder> FivePointDecoder::recognise_priors(std::span<const PlaceOutput> outputs,
                                                                   std::int64_t width, std::int64_t height) {
  FivePointDecoder decoder;
  decoder.family_ = FaceFamily::kRetinaface;
  decoder.width_ = static_cast<float>(width), decoder.height_ = static_cast<float>(height);
  std::size_t places = 0;
  for (std::size_t i = 0; i < kPriorSides.size(); ++i) {
    Level level{.stride = std::int64_t{8} << i, .anchors = 2, .first = places};
    level.rows = places_along(height, level.stride);
    level.columns = places_along(width, level.stride);
    places += static_cast<std::size_t>(level.rows * level.columns * level.anchors);
    decoder.levels_.push_back(level);
  }
  const auto of_columns = [&](std::int64_t columns) {
    const auto found = std::ranges::find(outputs, columns, &PlaceOutput::columns);
    const bool fits = found != outputs.end() && found->rows == static_cast<std::int64_t>(places);
    return fits ? std::optional(static_cast<std::size_t>(found - outputs.begin())) : std::nullopt;
  };
  const auto score = of_columns(2), box = of_columns(4), points = of_columns(10);
  if (!score || !box || !points) return std::nullopt;
  for (Level& level : decoder.levels_) level.score = *score, level.box = *box, level.points = *points;
  return decoder;
}

template <class Take>
void FivePointDecoder::each_place(const Take& take) const {
  for (const Level& level : levels_) {
    std::size_t row = level.first;
    for (std::int64_t y = 0; y < level.rows; ++y) {
      for (std::int64_t x = 0; x < level.columns; ++x) {
        for (std::int64_t anchor = 0; anchor < level.anchors; ++anchor) take(level, y, x, anchor, row++);
      }
    }
  }
}

std::vector<FivePointFace> FivePointDecoder::scrfd(std::span<const float* const> outputs, float least) const {
  // Logits show by values below 0, as most of some thousand places show no face.
  std::vector<bool> logits(outputs.size());
  for (const Level& level : levels_) {
    logits[level.score] =
        has_logits({outputs[level.score], static_cast<std::size_t>(level.rows * level.columns * level.anchors)});
  }
  std::vector<FivePointFace> faces;
  each_place([&](const Level& level, std::int64_t y, std::int64_t x, std::int64_t, std::size_t row) {
    const float value = outputs[level.score][row];
    const float score = logits[level.score] ? probability_of(value) : value;
    if (!(score >= least)) return;
    const auto stride = static_cast<float>(level.stride);
    const auto at_x = static_cast<float>(x * level.stride), at_y = static_cast<float>(y * level.stride);
    const float* const sides = outputs[level.box] + 4 * row;
    FivePointFace face{.x1 = at_x - sides[0] * stride,
                       .y1 = at_y - sides[1] * stride,
                       .x2 = at_x + sides[2] * stride,
                       .y2 = at_y + sides[3] * stride,
                       .score = score};
    if (has_points_) {
      const float* const offsets = outputs[level.points] + 10 * row;
      std::array<float, 10>& points = face.points.emplace();
      for (std::size_t i = 0; i < 10; i += 2) {
        points[i] = at_x + offsets[i] * stride;
        points[i + 1] = at_y + offsets[i + 1] * stride;
      }
    }
    faces.push_back(face);
  });
  return faces;
}

std::vector<FivePointFace> FivePointDecoder::yunet(std::span<const float* const> outputs, float least) const {
  std::vector<FivePointFace> faces;
  each_place([&](const Level& level, std::int64_t y, std::int64_t x, std::int64_t, std::size_t row) {
    const float first = std::clamp(outputs[level.score][row], 0.0F, 1.0F);
    const float second = std::clamp(outputs[level.second_score][row], 0.0F, 1.0F);
    const float score = std::sqrt(first * second);
    if (!(score >= least)) return;
    const auto stride = static_cast<float>(level.stride);
    const auto at_x = static_cast<float>(x), at_y = static_cast<float>(y);
    const float* const box = outputs[level.box] + 4 * row;
    const float width = std::exp(box[2]) * stride, height = std::exp(box[3]) * stride;
    FivePointFace face{
        .x1 = (at_x + box[0]) * stride - width / 2, .y1 = (at_y + box[1]) * stride - height / 2, .score = score};
    face.x2 = face.x1 + width, face.y2 = face.y1 + height;
    const float* const offsets = outputs[level.points] + 10 * row;
    std::array<float, 10>& points = face.points.emplace();
    for (std::size_t i = 0; i < 10; i += 2) {
      points[i] = (offsets[i] + at_x) * stride;
      points[i + 1] = (offsets[i + 1] + at_y) * stride;
    }
    faces.push_back(face);
  });
  return faces;
}

std::vector<FivePointFace> FivePointDecoder::retinaface(std::span<const float* const> outputs, float least) const {
  const Level& last = levels_.back();
  const float* const scores = outputs[last.score];
  const std::size_t places = last.first + static_cast<std::size_t>(last.rows * last.columns * last.anchors);
  const bool logits = has_logits({scores, 2 * places});
  std::vector<FivePointFace> faces;
  each_place([&](const Level& level, std::int64_t y, std::int64_t x, std::int64_t anchor, std::size_t row) {
    const float score = logits ? probability_of(scores[2 * row + 1] - scores[2 * row]) : scores[2 * row + 1];
    if (!(score >= least)) return;
    const auto stride = static_cast<float>(level.stride);
    const auto size = static_cast<std::size_t>(&level - levels_.data());
    const float side = kPriorSides[size][static_cast<std::size_t>(anchor)];
    // As shares of the image, which is what the network was trained with.
    const float cx = (static_cast<float>(x) + 0.5F) * stride / width_, w = side / width_;
    const float cy = (static_cast<float>(y) + 0.5F) * stride / height_, h = side / height_;
    const float* const box = outputs[level.box] + 4 * row;
    const float width = w * std::exp(box[2] * kExtentVariance), height = h * std::exp(box[3] * kExtentVariance);
    const float left = cx + box[0] * kMiddleVariance * w - width / 2;
    const float top = cy + box[1] * kMiddleVariance * h - height / 2;
    FivePointFace face{.x1 = left * width_,
                       .y1 = top * height_,
                       .x2 = (left + width) * width_,
                       .y2 = (top + height) * height_,
                       .score = score};
    const float* const offsets = outputs[level.points] + 10 * row;
    std::array<float, 10>& points = face.points.emplace();
    for (std::size_t i = 0; i < 10; i += 2) {
      points[i] = (cx + offsets[i] * kMiddleVariance * w) * width_;
      points[i + 1] = (cy + offsets[i + 1] * kMiddleVariance * h) * height_;
    }
    faces.push_back(face);
  });
  return faces;
}

std::vector<FivePointFace> FivePointDecoder::faces(std::span<const float* const> outputs,
                                                   const FivePointOptions& options) const {
  std::vector<FivePointFace> found = family_ == FaceFamily::kScrfd   ? scrfd(outputs, options.least_score)
                                     : family_ == FaceFamily::kYunet ? yunet(outputs, options.least_score)
                                                                     : retinaface(outputs, options.least_score);
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

}  // namespace evener::task
