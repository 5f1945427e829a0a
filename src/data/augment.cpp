#include "data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/random.h"
#include "data/boxes.h"
#include "data/resize.h"

namespace evener::data {

namespace {

/// The random numbers of a sample, all drawn whatever is asked for: switching one change on leaves the others alone.
struct Draw {
  double area, ratio, left, top;  // of the resized crop
  double right, down;             // of the shift
  double flip;
  double brightness, contrast, saturation;
  Random rest;  // for what takes any number of them

  explicit Draw(Random random)
      : area(random.uniform()),
        ratio(random.uniform()),
        left(random.uniform()),
        top(random.uniform()),
        right(random.uniform()),
        down(random.uniform()),
        flip(random.uniform()),
        brightness(random.uniform(-1, 1)),
        contrast(random.uniform(-1, 1)),
        saturation(random.uniform(-1, 1)),
        rest(random) {}
};

/// From 0 to `most`, all equally probable. `uniform` in [0, 1).
std::int64_t whole(double uniform, std::int64_t most) {
  return static_cast<std::int64_t>(uniform * static_cast<double>(most + 1));
}

/// A part of the image, in pixels.
struct Region {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
};

/// The part that a resized crop shows: of a random area and shape (3:4 to 4:3 of the image's own).
Region crop_region(const Draw& draw, double least_area, const ImageShape& shape) {
  const double scale = std::sqrt(least_area + (1 - least_area) * draw.area);
  const double stretch = std::exp((draw.ratio - 0.5) * std::log(4.0 / 3.0));  // of the width; the height gets 1 / it
  const auto extent = [](std::int64_t whole_extent, double part) {
    const double wanted = std::round(static_cast<double>(whole_extent) * part);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, whole_extent);
  };
  Region region;
  region.width = extent(shape.width, scale * stretch);
  region.height = extent(shape.height, scale / stretch);
  region.left = whole(draw.left, shape.width - region.width);
  region.top = whole(draw.top, shape.height - region.height);
  return region;
}

bool has_centre_in(const LabelledBox& box, const LabelledBox& part) {
  const float x = (box.x1 + box.x2) / 2, y = (box.y1 + box.y2) / 2;
  return x > part.x1 && x < part.x2 && y > part.y1 && y < part.y2;
}

LabelledBox box_of(const Region& region) {
  LabelledBox box;
  box.x1 = static_cast<float>(region.left), box.x2 = static_cast<float>(region.left + region.width);
  box.y1 = static_cast<float>(region.top), box.y2 = static_cast<float>(region.top + region.height);
  return box;
}

/// The crop of SSD (Liu et al. 2016, section 2.2), with torchvision's numbers: of 0.3 to 1 of each side, one side at
/// most twice the other, so that one of the boxes with their middle in it overlaps with it by at least a drawn
/// intersection over union; or the whole image.
Region iou_crop_region(const Draw& draw, std::span<const LabelledBox> boxes, const ImageShape& shape) {
  constexpr std::array<float, 7> kLeastOverlaps = {0, 0.1F, 0.3F, 0.5F, 0.7F, 0.9F, 1};
  constexpr int kRounds = 20, kTries = 40;
  constexpr double kLeastSide = 0.3, kMostRatio = 2;
  const Region all{0, 0, shape.width, shape.height};
  Random random = draw.rest;
  for (int round = 0; round < kRounds && !boxes.empty(); ++round) {
    const float least = kLeastOverlaps[random.below(kLeastOverlaps.size())];
    if (least >= 1) return all;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const auto side = [&random](std::int64_t extent) {
        return std::max<std::int64_t>(
            static_cast<std::int64_t>(static_cast<double>(extent) * random.uniform(kLeastSide, 1)), 1);
      };
      Region region;
      region.width = side(shape.width), region.height = side(shape.height);
      region.left = whole(random.uniform(), shape.width - region.width);
      region.top = whole(random.uniform(), shape.height - region.height);
      const double ratio = static_cast<double>(region.width) / static_cast<double>(region.height);
      if (ratio > kMostRatio || ratio < 1 / kMostRatio) continue;
      const LabelledBox part = box_of(region);
      const bool is_enough = std::ranges::any_of(boxes, [&](const LabelledBox& box) {
        return has_centre_in(box, part) && intersection_over_union(box, part) >= least;
      });
      if (is_enough) return region;
    }
  }
  return all;
}

ImageMove move_of(const Draw& draw, const AugmentOptions& options) {
  ImageMove move;
  if (options.crop_padding > 0) {
    move.right = whole(draw.right, 2 * options.crop_padding) - options.crop_padding;
    move.down = whole(draw.down, 2 * options.crop_padding) - options.crop_padding;
  }
  move.is_mirrored = options.flip && draw.flip < 0.5;
  return move;
}

/// Brightness scales all values, contrast their distance from the mean luma, saturation that from the pixel's luma. All
/// three are linear, so there is one factor for the value, one for its luma, and a constant.
ColourChange colours_of(const Draw& draw, double strength, const ImageShape& shape) {
  const auto brightness = static_cast<float>(1 + strength * draw.brightness);
  const auto contrast = static_cast<float>(1 + strength * draw.contrast);
  const float saturation = shape.channels == 1 ? 1.0F : static_cast<float>(1 + strength * draw.saturation);
  ColourChange change;
  change.of_value = brightness * contrast * saturation;
  change.of_luma = brightness * contrast * (1 - saturation);
  change.brightness = brightness;
  change.of_mean = 1 - contrast;
  return change;
}

/// Brings a part of the image to the size of the whole.
void resized_crop(const Region& region, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const auto& [left, top, width, height] = region;
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    std::uint8_t* pixels = chw.data() + static_cast<std::size_t>(c) * plane;
    Picture part = Picture::unset(1, height, width);
    for (std::int64_t y = 0; y < height; ++y) {
      std::memcpy(part.row(y), pixels + (top + y) * shape.width + left, static_cast<std::size_t>(width));
    }
    const Picture whole_again = resize(std::move(part), shape.height, shape.width);
    std::memcpy(pixels, whole_again.pixels.get(), plane);
  }
}

/// Moves the image; what comes in is black.
void shift(const ImageMove& move, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const std::int64_t right = move.right, down = move.down;
  if (right == 0 && down == 0) return;
  const std::int64_t kept = std::max<std::int64_t>(shape.width - std::abs(right), 0);
  std::vector<std::uint8_t> before(static_cast<std::size_t>(shape.height * shape.width));
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    std::uint8_t* pixels = chw.data() + static_cast<std::size_t>(c) * before.size();
    std::memcpy(before.data(), pixels, before.size());
    std::memset(pixels, 0, before.size());
    for (std::int64_t y = std::max<std::int64_t>(down, 0); y < std::min(shape.height, shape.height + down); ++y) {
      const std::uint8_t* from = before.data() + (y - down) * shape.width + std::max<std::int64_t>(-right, 0);
      std::memcpy(pixels + y * shape.width + std::max<std::int64_t>(right, 0), from, static_cast<std::size_t>(kept));
    }
  }
}

void mirror(const ImageShape& shape, std::span<std::uint8_t> chw) {
  for (std::int64_t row = 0; row < shape.channels * shape.height; ++row) {
    std::uint8_t* pixels = chw.data() + row * shape.width;
    std::reverse(pixels, pixels + shape.width);
  }
}

/// A box on the part of the image that is brought to the size of the whole.
void enlarge(const Region& region, const ImageShape& shape, LabelledBox& box) {
  const float wider = static_cast<float>(shape.width) / static_cast<float>(region.width);
  const float higher = static_cast<float>(shape.height) / static_cast<float>(region.height);
  const auto left = static_cast<float>(region.left), top = static_cast<float>(region.top);
  box.x1 = (box.x1 - left) * wider, box.x2 = (box.x2 - left) * wider;
  box.y1 = (box.y1 - top) * higher, box.y2 = (box.y2 - top) * higher;
}

void shift(const ImageMove& move, LabelledBox& box) {
  const auto right = static_cast<float>(move.right), down = static_cast<float>(move.down);
  box.x1 += right, box.x2 += right;
  box.y1 += down, box.y2 += down;
}

void mirror(const ImageShape& shape, LabelledBox& box) {
  const auto width = static_cast<float>(shape.width);
  const float x1 = box.x1;
  box.x1 = width - box.x2, box.x2 = width - x1;
}

std::uint8_t rounded(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
}

float luma_of(const std::uint8_t* chw, std::size_t i, std::size_t plane, bool is_grey) {
  if (is_grey) return chw[i];
  return 0.299F * chw[i] + 0.587F * chw[plane + i] + 0.114F * chw[2 * plane + i];
}

void recolour(const ColourChange& change, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const bool is_grey = shape.channels == 1;
  double luma_sum = 0;
  for (std::size_t i = 0; i < plane; ++i) luma_sum += luma_of(chw.data(), i, plane, is_grey);
  const float mean = change.brightness * static_cast<float>(luma_sum / static_cast<double>(plane));
  const float constant = mean * change.of_mean;
  for (std::size_t i = 0; i < plane; ++i) {
    const float shared = change.of_luma * luma_of(chw.data(), i, plane, is_grey) + constant;
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
      std::uint8_t& value = chw[c * plane + i];
      value = rounded(change.of_value * static_cast<float>(value) + shared);
    }
  }
}

/// Beta(alpha, alpha) by Joehnk's method (1964): the share of the first of two powers whose sum is at most 1.
double beta(double alpha, Random& random) {
  while (true) {
    const double u = 1 - random.uniform(), v = 1 - random.uniform();  // in (0, 1]
    const double x = std::pow(u, 1 / alpha), y = std::pow(v, 1 / alpha);
    if (x + y > 1) continue;
    if (x + y > 0) return x / (x + y);
    return u > v ? 1 : 0;  // both powers are too small for a double
  }
}

constexpr const char* kExample = "; for example --augment flip,crop:4,colour:0.2,mixup:0.2";

/// One word of the list: "crop:4" has the name "crop" and the value 4.
struct Word {
  std::string name;
  std::optional<double> value;
};

Word read_word(const std::string& text) {
  const std::size_t colon = text.find(':');
  Word word{text.substr(0, colon), {}};
  if (colon == std::string::npos) return word;
  const std::string value = text.substr(colon + 1);
  word.value = to_number<double>(value);
  if (!word.value) throw UsageError("--augment: '" + value + "' in '" + text + "' is not a number" + kExample);
  return word;
}

/// The value, or `otherwise` without one. Throws UsageError if it is not within (0, most].
double value_of(const Word& word, double otherwise, double most) {
  const double value = word.value.value_or(otherwise);
  if (value > 0 && value <= most) return value;
  char text[96];
  std::snprintf(text, sizeof(text), ":%g has to be more than 0 and at most %g", value, most);
  throw UsageError("--augment " + word.name + text + kExample);
}

void apply(const Word& word, AugmentOptions& options) {
  constexpr double kMostPadding = 1024, kMostAlpha = 4;  // the draw for larger ones would take long
  if (word.name == "flip") {
    if (word.value) throw UsageError(std::string("--augment: flip has no value") + kExample);
    options.flip = true;
  } else if (word.name == "crop") {
    const double padding = value_of(word, 4, kMostPadding);
    options.crop_padding = static_cast<std::int64_t>(padding);
    if (static_cast<double>(options.crop_padding) != padding) {
      throw UsageError(std::string("--augment: the padding of crop is a whole number of pixels") + kExample);
    }
  } else if (word.name == "resized-crop") {
    options.least_area = value_of(word, 0.08, 1);
  } else if (word.name == "colour") {
    options.colour = value_of(word, 0.2, 1);
  } else if (word.name == "mosaic") {
    options.mosaic = value_of(word, 0.5, 1);
  } else if (word.name == "iou-crop") {
    if (word.value) throw UsageError(std::string("--augment: iou-crop has no value") + kExample);
    options.iou_crop = true;
  } else if (word.name == "mixup") {
    options.mixup = value_of(word, 0.2, kMostAlpha);
  } else {
    throw UsageError("--augment: " +
                     unknown_name_message("change of images", word.name,
                                          {"flip", "crop", "resized-crop", "colour", "mixup", "mosaic", "iou-crop"}));
  }
}

/// The place of a scaled image on the mosaic, and the corner of the mosaic that it fills.
struct Place {
  std::int64_t width = 0, height = 0;  // of the scaled image
  std::int64_t left = 0, top = 0;      // of it; may be negative
  std::int64_t x_begin = 0, x_end = 0, y_begin = 0, y_end = 0;
};

Place place_of(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape) {
  const auto centre = [](double share, std::int64_t extent) {
    return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(extent)), 0, extent);
  };
  const std::int64_t x = centre(mosaic.centre_x, shape.width), y = centre(mosaic.centre_y, shape.height);
  const bool is_right = corner % 2 == 1, is_lower = corner >= 2;
  Place place;
  place.x_begin = is_right ? x : 0, place.x_end = is_right ? shape.width : x;
  place.y_begin = is_lower ? y : 0, place.y_end = is_lower ? shape.height : y;
  const double scale = std::max({mosaic.scales[corner],
                                 static_cast<double>(place.x_end - place.x_begin) / static_cast<double>(shape.width),
                                 static_cast<double>(place.y_end - place.y_begin) / static_cast<double>(shape.height)});
  const auto scaled = [scale](std::int64_t extent) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(scale * static_cast<double>(extent) - 1e-9)), 1);
  };
  place.width = scaled(shape.width), place.height = scaled(shape.height);
  place.left = is_right ? x : x - place.width;
  place.top = is_lower ? y : y - place.height;
  return place;
}

}  // namespace

void augment_image(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::span<std::uint8_t> chw, std::span<const LabelledBox> boxes) {
  const Draw draw(Random(seed, Purpose::kAugment, epoch, sample));
  if (options.iou_crop) resized_crop(iou_crop_region(draw, boxes, shape), shape, chw);
  if (options.least_area > 0) resized_crop(crop_region(draw, options.least_area, shape), shape, chw);
  const ImageMove move = move_of(draw, options);
  shift(move, shape, chw);
  if (move.is_mirrored) mirror(shape, chw);
  if (options.colour > 0) recolour(colours_of(draw, options.colour, shape), shape, chw);
}

ImageMove draw_move(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch, std::uint32_t sample) {
  return move_of(Draw(Random(seed, Purpose::kAugment, epoch, sample)), options);
}

ColourChange draw_colours(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed,
                          std::uint64_t epoch, std::uint32_t sample) {
  return colours_of(Draw(Random(seed, Purpose::kAugment, epoch, sample)), options.colour, shape);
}

void augment_boxes(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::vector<LabelledBox>& boxes) {
  const Draw draw(Random(seed, Purpose::kAugment, epoch, sample));
  if (options.iou_crop) {
    const Region region = iou_crop_region(draw, boxes, shape);
    std::erase_if(boxes, [part = box_of(region)](const LabelledBox& box) { return !has_centre_in(box, part); });
    for (LabelledBox& box : boxes) {
      enlarge(region, shape, box);
      clip_box(shape, box);
    }
  }
  const ImageMove move = move_of(draw, options);
  for (LabelledBox& box : boxes) {
    if (options.least_area > 0) enlarge(crop_region(draw, options.least_area, shape), shape, box);
    clip_box(shape, box);  // before it is moved: what the crop left out does not come back
    shift(move, box);
    clip_box(shape, box);
    if (move.is_mirrored) mirror(shape, box);
  }
  std::erase_if(boxes, [](const LabelledBox& box) { return !has_area(box); });
}

Mixture draw_mixture(double alpha, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                     std::uint32_t sample) {
  Random random(seed, Purpose::kMixup, epoch, sample);
  const std::uint32_t partner = partners[random.below(partners.size())];
  const double weight = beta(alpha, random);
  return {partner, static_cast<float>(std::max(weight, 1 - weight))};
}

void mix_images(float weight, std::span<const std::uint8_t> other, std::span<std::uint8_t> chw) {
  for (std::size_t i = 0; i < chw.size(); ++i) {
    const float mixed = weight * static_cast<float>(chw[i]) + (1 - weight) * static_cast<float>(other[i]);
    chw[i] = static_cast<std::uint8_t>(mixed + 0.5F);
  }
}

AugmentOptions parse_augment(const std::string& text) {
  AugmentOptions options;
  std::set<std::string> seen;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const Word word = read_word(text.substr(begin, comma - begin));
    apply(word, options);
    if (!seen.insert(word.name).second) throw UsageError("--augment names '" + word.name + "' twice");
    begin = comma + 1;
  }
  return options;
}

std::string augment_text(const AugmentOptions& options) {
  std::string text;
  const auto add = [&text](const char* name, double value) {
    char word[64];
    std::snprintf(word, sizeof(word), "%s%s:%.10g", text.empty() ? "" : ",", name, value);
    text += word;
  };
  if (options.flip) text = "flip";
  if (options.iou_crop) text += text.empty() ? "iou-crop" : ",iou-crop";
  if (options.mosaic > 0) add("mosaic", options.mosaic);
  if (options.crop_padding > 0) add("crop", static_cast<double>(options.crop_padding));
  if (options.least_area > 0) add("resized-crop", options.least_area);
  if (options.colour > 0) add("colour", options.colour);
  if (options.mixup > 0) add("mixup", options.mixup);
  return text;
}

std::string done_on_host(const AugmentOptions& options) {
  std::string names;
  const auto add = [&names](const char* name) { names += (names.empty() ? "" : ", ") + std::string(name); };
  if (options.least_area > 0) add("resized-crop");
  if (options.mosaic > 0) add("mosaic");
  if (options.iou_crop) add("iou-crop");
  return names;
}

bool draw_mosaic(double share, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                 std::uint32_t sample, Mosaic& mosaic) {
  constexpr double kLeastScale = 0.5;
  Random random(seed, Purpose::kMixup, epoch, sample);
  if (random.uniform() >= share) return false;
  mosaic.centre_x = random.uniform(0.3, 0.7);
  mosaic.centre_y = random.uniform(0.3, 0.7);
  for (double& scale : mosaic.scales) scale = random.uniform(kLeastScale, 1);
  for (std::uint32_t& each : mosaic.samples) each = partners[random.below(partners.size())];
  mosaic.samples[random.below(mosaic.samples.size())] = sample;
  return true;
}

void paste_into_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                       std::span<const std::uint8_t> image, std::span<std::uint8_t> chw) {
  const Place place = place_of(mosaic, corner, shape);
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    Picture channel = Picture::unset(1, shape.height, shape.width);
    std::memcpy(channel.pixels.get(), image.data() + c * plane, plane);
    const Picture scaled = resize(std::move(channel), place.height, place.width);
    for (std::int64_t y = place.y_begin; y < place.y_end; ++y) {
      std::memcpy(chw.data() + c * plane + static_cast<std::size_t>(y * shape.width + place.x_begin),
                  scaled.row(y - place.top) + (place.x_begin - place.left),
                  static_cast<std::size_t>(place.x_end - place.x_begin));
    }
  }
}

void add_to_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                   std::span<const LabelledBox> boxes, std::vector<LabelledBox>& all) {
  constexpr float kLeastVisible = 0.1F;
  const Place place = place_of(mosaic, corner, shape);
  const float wider = static_cast<float>(place.width) / static_cast<float>(shape.width);
  const float higher = static_cast<float>(place.height) / static_cast<float>(shape.height);
  LabelledBox own;
  own.x1 = static_cast<float>(place.x_begin), own.x2 = static_cast<float>(place.x_end);
  own.y1 = static_cast<float>(place.y_begin), own.y2 = static_cast<float>(place.y_end);
  for (LabelledBox box : boxes) {
    box.x1 = box.x1 * wider + static_cast<float>(place.left), box.x2 = box.x2 * wider + static_cast<float>(place.left);
    box.y1 = box.y1 * higher + static_cast<float>(place.top), box.y2 = box.y2 * higher + static_cast<float>(place.top);
    const float whole = box_area(box);
    box.x1 = std::clamp(box.x1, own.x1, own.x2), box.x2 = std::clamp(box.x2, own.x1, own.x2);
    box.y1 = std::clamp(box.y1, own.y1, own.y2), box.y2 = std::clamp(box.y2, own.y1, own.y2);
    if (has_area(box) && box_area(box) >= kLeastVisible * whole) all.push_back(box);
  }
}

}  // namespace evener::data
