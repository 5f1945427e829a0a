// YOLO networks, which give a box and scores for each place of a grid: a table of a row for each place, or, transposed,
// a column.
//
//   YOLOv5, YOLOv7: boxes in pixels (middle and extents), an objectness by which the scores of classes are multiplied;
//     three anchors at each place.
//   YOLOv8, YOLO11, YOLO12: the same without objectness and anchors, transposed.
//   YOLOv6: as YOLOv5 with one box at each place, and an objectness that is always 1.
//   YOLOX (Ge et al. 2021): the same with a real objectness; boxes as offsets from the place, and logarithms of
//     extents, in strides, unless the file decodes them itself.
//
// Networks are told apart by the number of places, and by how the boxes of a trial image follow the grid.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "detect/decoders/detection.h"
#include "detect/decoders/understand.h"
#include "infer/model/class_output.h"
#include "infer/model/metadata.h"

namespace evener::detection {
namespace {

/// What the four values of a box are.
enum class YoloBoxes : std::uint8_t {
  kPixels,   // middle and extents, in pixels of the network's image
  kShares,   // the same as shares of the image's sides
  kStrides,  // offset of the middle from the place, and logarithms of the extents, in strides
};

/// A place of the grid of one stride, in strides.
struct Place {
  float x = 0, y = 0, stride = 1;
};

struct YoloLayout {
  std::string output;
  std::int64_t places = 0, classes = 0;
  bool transposed = false;  // values of a place are a column
  bool has_objectness = false;
  bool logits = false;  // scores are no probabilities yet
  YoloBoxes boxes = YoloBoxes::kPixels;
  std::int64_t width = 0, height = 0;  // of the network's image
  float iou = 0.45F;
  std::vector<Place> grid = {};  // with kStrides

  std::size_t first_class() const { return has_objectness ? 5 : 4; }
};

/// The places of all strides, until there are `count` or more.
std::vector<Place> grid(std::int64_t width, std::int64_t height, std::int64_t count) {
  std::vector<Place> places;
  for (std::int64_t stride = 8; std::ssize(places) < count && stride <= 64; stride *= 2) {
    for (std::int64_t y = 0; y < height / stride; ++y) {
      for (std::int64_t x = 0; x < width / stride; ++x) {
        places.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(stride)});
      }
    }
  }
  return places;
}

/// Adds the box of a place, whose values are `step` apart, for its likeliest class.
void add(const YoloLayout& layout, std::size_t place, const float* values, std::size_t step, std::size_t label,
         const DecodeOptions& options, std::vector<Detection>& found) {
  const auto probability = [&](std::size_t i) {
    return layout.logits ? probability_of(values[i * step]) : values[i * step];
  };
  float score = probability(layout.first_class() + label);
  if (layout.has_objectness) score *= probability(4);
  if (!(score > options.confidence) || !is_wanted(static_cast<std::int32_t>(label), options)) return;
  const auto width = static_cast<float>(layout.width), height = static_cast<float>(layout.height);
  float cx = values[0], cy = values[step], w = values[2 * step], h = values[3 * step];
  if (layout.boxes == YoloBoxes::kShares) {
    cx *= width, w *= width, cy *= height, h *= height;
  } else if (layout.boxes == YoloBoxes::kStrides) {
    const Place& at = layout.grid[place];
    cx = (cx + at.x) * at.stride, cy = (cy + at.y) * at.stride;
    w = std::exp(w) * at.stride, h = std::exp(h) * at.stride;
  }
  const Detection box{.x1 = cx - w / 2,
                      .y1 = cy - h / 2,
                      .x2 = cx + w / 2,
                      .y2 = cy + h / 2,
                      .label = static_cast<std::int32_t>(label),
                      .score = score};
  if (has_area(box)) found.push_back(box);
}

void find_in_rows(const YoloLayout& layout, std::span<const float> values, float least, const DecodeOptions& options,
                  std::vector<Detection>& found) {
  const std::size_t first = layout.first_class(), columns = first + static_cast<std::size_t>(layout.classes);
  const float* row = values.data();
  for (std::size_t place = 0; place < static_cast<std::size_t>(layout.places); ++place, row += columns) {
    // A product of two shares is at most the smaller one: most places end here.
    if (layout.has_objectness && !(row[4] > least)) continue;
    const float* const best = std::max_element(row + first, row + columns);
    if (*best > least) add(layout, place, row, 1, static_cast<std::size_t>(best - row) - first, options, found);
  }
}

void find_in_columns(const YoloLayout& layout, std::span<const float> values, float least, const DecodeOptions& options,
                     std::vector<Detection>& found) {
  constexpr std::size_t kBlock = 1024;  // places whose best scores stay in the first cache
  const auto places = static_cast<std::size_t>(layout.places);
  float best[kBlock];
  for (std::size_t begin = 0; begin < places; begin += kBlock) {
    const std::size_t count = std::min(kBlock, places - begin);
    const float* const scores = values.data() + layout.first_class() * places + begin;
    std::copy_n(scores, count, best);
    for (std::size_t label = 1; label < static_cast<std::size_t>(layout.classes); ++label) {
      const float* const more = scores + label * places;
      for (std::size_t i = 0; i < count; ++i) best[i] = more[i] > best[i] ? more[i] : best[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!(best[i] > least)) continue;
      std::size_t label = 0;
      while (scores[label * places + i] != best[i]) ++label;
      add(layout, begin + i, values.data() + begin + i, places, label, options, found);
    }
  }
}

/// The likeliest class of each place counts, as these families' own programs have it.
std::vector<Detection> yolo_boxes(const YoloLayout& layout, const ImageOutputs& outputs, const DecodeOptions& options) {
  const std::span<const float> values = output_of(outputs, layout.output);
  const std::int64_t columns = static_cast<std::int64_t>(layout.first_class()) + layout.classes;
  if (std::ssize(values) != layout.places * columns) {
    throw Error(fmt::format("the output '{}' has {} values for an image, not {} x {}", layout.output, values.size(),
                            layout.places, columns));
  }
  const float least = layout.logits ? logit_of(options.confidence) : options.confidence;
  std::vector<Detection> boxes;
  (layout.transposed ? find_in_columns : find_in_rows)(layout, values, least, options, boxes);
  return suppressed(std::move(boxes), options);
}

/// How much x of a box grows by a pixel of its place; 0 where it doesn't follow its place.
double growth(const std::vector<double>& at, const std::vector<double>& x) {
  constexpr double kLeastCorrelation = 0.7;
  const auto n = static_cast<double>(at.size());
  double mean_at = 0, mean_x = 0;
  for (std::size_t i = 0; i < at.size(); ++i) mean_at += at[i] / n, mean_x += x[i] / n;
  double both = 0, of_at = 0, of_x = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    both += (at[i] - mean_at) * (x[i] - mean_x);
    of_at += (at[i] - mean_at) * (at[i] - mean_at);
    of_x += (x[i] - mean_x) * (x[i] - mean_x);
  }
  if (of_at <= 0 || of_x <= 0 || both < kLeastCorrelation * std::sqrt(of_at * of_x)) return 0;
  return both / of_at;
}

/// A value of each place.
std::vector<float> of_places(const TrialOutput& output, const YoloLayout& layout, std::size_t which) {
  const auto places = static_cast<std::size_t>(layout.places);
  const std::size_t columns = output.values.size() / places;
  std::vector<float> values;
  for (std::size_t i = 0; i < places; ++i) {
    values.push_back(output.values[layout.transposed ? which * places + i : i * columns + which]);
  }
  return values;
}

/// How much a value of places grows by a pixel of the place along x; 0 also where a place has several anchors.
double growth_of(const std::vector<float>& values, const YoloLayout& layout) {
  std::vector<double> at;
  for (const Place& place : grid(layout.width, layout.height, layout.places)) {
    at.push_back((double{place.x} + 0.5) * double{place.stride});
  }
  return at.size() == values.size() ? growth(at, {values.begin(), values.end()}) : 0;
}

/// What boxes are, by a trial: pixels grow by 1 with their place, shares by 1 / width, offsets don't.
YoloBoxes boxes_of(const TrialOutput& output, const YoloLayout& layout) {
  const double grows = growth_of(of_places(output, layout, 0), layout);
  if (grows == 0) return YoloBoxes::kStrides;
  return grows * static_cast<double>(layout.width) > 10 ? YoloBoxes::kPixels : YoloBoxes::kShares;
}

/// Shares of the image are at most little more than 1.
YoloBoxes pixels_or_shares(const TrialOutput& output, const YoloLayout& layout) {
  const bool is_near = std::ranges::none_of(of_places(output, layout, 0), [](float x) { return std::abs(x) > 2; });
  return is_near ? YoloBoxes::kShares : YoloBoxes::kPixels;
}

/// Coefficients of masks and their prototypes: the network is a segmenter. "": it has none.
std::string masks_in(const DetectorFile& file, std::int64_t columns) {
  const auto are_maps = [&](const TrialOutput& output) {
    return output.shape.size() == 3 && std::ranges::min(output.shape) > 1 &&
           std::min(output.shape.front(), output.shape.back()) + 4 < columns;
  };
  if (std::ranges::count_if(file.outputs, are_maps) != 1) return "";
  return fmt::format("'{}' holds masks, as segmenters have them, and no boxes are read of those",
                     printable(std::ranges::find_if(file.outputs, are_maps)->name));
}

/// Whether one of the columns from `first` on is high at most places: on plain grey no class's score is.
bool has_high_column(const TrialOutput& output, const YoloLayout& layout, std::size_t first, std::size_t columns) {
  for (std::size_t column = first; column < columns; ++column) {
    const std::vector<float> values = of_places(output, layout, column);
    if (2 * std::ranges::count_if(values, [](float value) { return value > 0.5F; }) > std::ssize(values)) return true;
  }
  return false;
}

/// What speaks against a table's being this; "": nothing does.
std::string doubt_of(const DetectorFile& file, const TrialOutput& output, const YoloLayout& layout) {
  const std::size_t columns = layout.first_class() + static_cast<std::size_t>(layout.classes);
  if (std::string masks = masks_in(file, static_cast<std::int64_t>(columns)); !masks.empty()) return masks;
  std::vector<float> scores;
  for (std::size_t column = 4; column < columns; ++column)
    std::ranges::copy(of_places(output, layout, column), std::back_inserter(scores));
  const bool is_high = !layout.has_objectness && has_high_column(output, layout, 4, columns);
  if (is_high || look_of(scores) != (layout.logits ? ScoreLook::kLogits : ScoreLook::kProbabilities)) {
    return fmt::format(
        "what would be scores of {} are {} for plain grey{}; poses, turned boxes and masks are none that are read",
        counted(layout.classes, "class", "classes"), extent_text(scores), is_high ? ", high at most places" : "");
  }
  if (layout.boxes == YoloBoxes::kStrides) return "";
  const std::vector<float> widths = of_places(output, layout, 2), heights = of_places(output, layout, 3);
  const auto negative = [](const std::vector<float>& values) {
    return std::ranges::count_if(values, [](float value) { return value < 0; });
  };
  const auto grows = [&](std::size_t column) {
    const double unit = layout.boxes == YoloBoxes::kPixels ? 1 : static_cast<double>(layout.width);
    return growth_of(of_places(output, layout, column), layout) * unit;
  };
  const double along_x = grows(0);
  const bool are_middles = along_x == 0 || (along_x > 0.3 && along_x < 2);
  const bool have_extents = 10 * (negative(widths) + negative(heights)) <= std::ssize(widths) && grows(2) < 0.5;
  if (are_middles && grows(1) < 0.5 && have_extents) return "";
  return "its boxes are no middles (x, y) with extents, as those of this family are";
}

RecognisedDetector recognised(std::string family, YoloLayout layout) {
  const auto classes = static_cast<std::size_t>(layout.classes);
  const float iou = layout.iou;
  if (layout.boxes == YoloBoxes::kStrides) layout.grid = grid(layout.width, layout.height, layout.places);
  const auto found = [layout = std::move(layout)](const ImageOutputs& outputs, const DecodeOptions& options, float) {
    return yolo_boxes(layout, outputs, options);
  };
  RecognisedDetector detector(std::move(family), "0/1", {found, iou}, classes);
  detector.crop = data::CropMode::kYolo;
  return detector;
}

/// Whether so many classes are those that have names, or without any COCO's 80 or VOC's 20.
bool is_known_count(const DetectorFile& file, std::int64_t classes) {
  if (classes < 1) return false;
  if (file.classes.empty()) return classes == 80 || classes == 20;
  return !inference::names_of_classes(file.classes, static_cast<std::size_t>(classes)).empty();
}

/// The number of places of the strides 8, 16 and 32, or up to 64, on an image; 0 where the image's sides are no
/// multiples of the largest.
std::int64_t grid_places(std::int64_t width, std::int64_t height, std::int64_t largest_stride) {
  if (width % largest_stride != 0 || height % largest_stride != 0) return 0;
  std::int64_t places = 0;
  for (std::int64_t stride = 8; stride <= largest_stride; stride *= 2) places += (width / stride) * (height / stride);
  return places;
}

}  // namespace

std::optional<RecognisedDetector> recognise_yolo(const DetectorFile& file) {
  if (file.outputs.empty() || file.outputs.front().shape.size() != 2) return std::nullopt;
  const TrialOutput& output = file.outputs.front();
  const std::int64_t rows = output.rows(), columns = output.columns();
  for (const std::int64_t stride : {32, 64}) {
    YoloLayout layout{.output = output.name, .width = file.width, .height = file.height};
    const std::int64_t places = grid_places(file.width, file.height, stride);
    if (places == 0) continue;
    const auto decoded_inside = [&](const char* family) {
      layout.boxes = pixels_or_shares(output, layout);
      RecognisedDetector detector = recognised(family, layout);
      detector.doubt = doubt_of(file, output, layout);
      return detector;
    };
    if (columns == places && rows >= 5 && file.may_be("yolov8")) {
      layout.places = places, layout.transposed = true, layout.classes = rows - 4, layout.iou = 0.7F;
      const auto scores = std::span(output.values).subspan(static_cast<std::size_t>(4 * places));
      layout.logits = look_of(scores) == ScoreLook::kLogits;
      return decoded_inside("YOLOv8");
    }
    layout.places = rows, layout.has_objectness = true, layout.classes = columns - 5;
    if (rows == 3 * places && columns >= 6 && file.may_be("yolov5")) return decoded_inside("YOLOv5");
    if (rows != places || columns < 5) continue;
    if (file.may_be("yolov8") && (file.wanted == "yolov8" || is_known_count(file, columns - 4))) {
      layout.has_objectness = false, layout.classes = columns - 4, layout.iou = 0.7F;
      return decoded_inside("YOLOv8");
    }
    if (columns < 6) continue;
    const std::vector<float> objects = of_places(output, layout, 4);
    const bool always_one = std::ranges::all_of(objects, [](float value) { return value == 1; });
    if (file.may_be("yolov6") && (file.wanted == "yolov6" || always_one)) return decoded_inside("YOLOv6");
    if (!file.may_be("yolox")) continue;
    layout.boxes = boxes_of(output, layout);
    layout.logits = inference::has_logits(objects);
    RecognisedDetector detector = recognised("YOLOX", layout);
    detector.doubt = doubt_of(file, output, layout);
    const bool may_be_yolov8 = layout.boxes != YoloBoxes::kStrides && !is_known_count(file, columns - 5) &&
                               !has_high_column(output, layout, 5, static_cast<std::size_t>(columns));
    if (detector.doubt.empty() && may_be_yolov8 && file.wanted.empty() && file.classes.empty()) {
      detector.doubt =
          fmt::format("it may have {} classes and an objectness (--decoder yolox), or {} classes (--decoder yolov8)",
                      columns - 5, columns - 4);
    }
    detector.normalization = "pixels";
    detector.reverse_channels = true;
    detector.crop = data::CropMode::kYolox;
    return detector;
  }
  return std::nullopt;
}

}  // namespace evener::detection
