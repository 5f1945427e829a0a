#include "data/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/codecs/colour.h"

namespace evener::data {

namespace {

struct Sides {
  double width = 0, height = 0;
};

/// The sides as InsightFace computes them, in the same order of operations: rounding down tells the least difference.
Sides sides_from_ratio(double width, double height, double image_width, double image_height) {
  const double ratio = height / width;
  if (ratio > image_height / image_width) return {std::floor(image_height / ratio), image_height};
  return {image_width, std::floor(image_width * ratio)};
}

/// To even where it lies between two whole numbers, as Python's round().
double to_even(double value) {
  const double below = std::floor(value), rest = value - below;
  if (rest != 0.5) return std::floor(value + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

constexpr const char* kModes[] = {"stretch", "letterbox", "centre", "yolo", "yolox", "insightface"};

/// Absent for what is no letterbox.
std::optional<Letterbox> letterbox_of(CropMode mode) {
  switch (mode) {
    case CropMode::kLetterbox:
      return Letterbox{};
    case CropMode::kYolo:
      return Letterbox{.grey = 114, .rounding = LetterboxRounding::kNearestEven, .one_scale = true};
    case CropMode::kYolox:
      return Letterbox{.upper_left = true, .grey = 114, .rounding = LetterboxRounding::kDown, .one_scale = true};
    case CropMode::kInsightface:
      return Letterbox{.upper_left = true, .rounding = LetterboxRounding::kDownFromRatio, .one_scale = true};
    case CropMode::kStretch:
    case CropMode::kCentre:
      break;
  }
  return std::nullopt;
}

/// With the scale that follows from the layout's sizes.
PictureLayout scaled(PictureLayout layout, std::int64_t width, std::int64_t height) {
  layout.scale_x = static_cast<double>(layout.width) / static_cast<double>(width);
  layout.scale_y = static_cast<double>(layout.height) / static_cast<double>(height);
  return layout;
}

PictureLayout centre_layout(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  const ImageShape& shape = steps.shape;
  const auto whole = [&](std::int64_t part) {  // of which `part` is the fraction
    return static_cast<std::int64_t>(std::floor(static_cast<double>(part) / steps.crop_fraction + 1e-9));
  };
  PictureLayout layout{whole(shape.width), whole(shape.height), 0, 0};
  // The side that has to be stretched more decides; the other becomes longer than needed.
  if (height * layout.width <= width * layout.height) {
    layout.width = std::max(layout.width, layout.height * width / height);
  } else {
    layout.height = std::max(layout.height, layout.width * height / width);
  }
  const auto offset = [](std::int64_t of, std::int64_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(of - part) / 2));  // ties to even, as Python
  };
  layout.left = -offset(layout.width, shape.width);
  layout.top = -offset(layout.height, shape.height);
  return scaled(layout, width, height);
}

PictureLayout layout_of(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  if (steps.keeps_fitting && width == steps.shape.width && height == steps.shape.height) return {width, height, 0, 0};
  if (const auto letterbox = letterbox_of(steps.crop)) return letterbox_layout(width, height, steps.shape, *letterbox);
  if (steps.crop == CropMode::kCentre) return centre_layout(width, height, steps);
  return scaled({steps.shape.width, steps.shape.height, 0, 0}, width, height);
}

/// The area of a scaled picture that lies on the network's input.
PictureArea seen_part(const PictureLayout& layout, const ImageShape& shape) {
  return {std::max<std::int64_t>(-layout.left, 0), std::max<std::int64_t>(-layout.top, 0),
          std::min(layout.width, shape.width), std::min(layout.height, shape.height)};
}

/// The picture on plain grey, from (top, left) on.
Picture with_border(const Picture& picture, std::int64_t top, std::int64_t left, const ImageShape& shape,
                    std::uint8_t grey) {
  Picture input = Picture::unset(picture.channels, shape.height, shape.width);
  std::memset(input.pixels.get(), grey, input.bytes());
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::memcpy(input.row(top + y) + left * input.channels, picture.row(y),
                static_cast<std::size_t>(picture.width * picture.channels));
  }
  return input;
}

}  // namespace

PictureLayout letterbox_layout(std::int64_t width, std::int64_t height, const ImageShape& shape,
                               const Letterbox& letterbox) {
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  const auto image_w = static_cast<double>(shape.width), image_h = static_cast<double>(shape.height);
  double scale = std::min(image_w / w, image_h / h);
  Sides sides{w * scale, h * scale};
  switch (letterbox.rounding) {
    case LetterboxRounding::kNearest:
      sides = {std::round(sides.width), std::round(sides.height)};
      break;
    case LetterboxRounding::kNearestEven:
      sides = {to_even(sides.width), to_even(sides.height)};
      break;
    case LetterboxRounding::kDown:
      sides = {std::floor(sides.width), std::floor(sides.height)};
      break;
    case LetterboxRounding::kDownFromRatio:
      sides = sides_from_ratio(w, h, image_w, image_h);
      scale = sides.height / h;
      break;
  }
  PictureLayout layout;
  layout.width = std::clamp<std::int64_t>(static_cast<std::int64_t>(sides.width), 1, shape.width);
  layout.height = std::clamp<std::int64_t>(static_cast<std::int64_t>(sides.height), 1, shape.height);
  if (!letterbox.upper_left) {
    // Ultralytics rounds half less a tenth, which comes to the same.
    layout.left = (shape.width - layout.width) / 2;
    layout.top = (shape.height - layout.height) / 2;
  }
  layout.scale_x = letterbox.one_scale && scale > 0 ? scale : static_cast<double>(layout.width) / w;
  layout.scale_y = letterbox.one_scale && scale > 0 ? scale : static_cast<double>(layout.height) / h;
  return layout;
}

const char* crop_mode_name(CropMode mode) {
  return name_in(kModes, mode);
}

std::optional<CropMode> find_crop_mode(const std::string& name) {
  const auto* const found = std::ranges::find(kModes, name);
  return found == std::end(kModes) ? std::nullopt : std::optional(static_cast<CropMode>(found - kModes));
}

CropMode parse_crop_mode(const std::string& name) {
  return value_named<CropMode>(kModes, "way to crop", name);
}

ResizeFilter usual_filter(CropMode mode) {
  const bool is_plain = mode == CropMode::kStretch || mode == CropMode::kLetterbox || mode == CropMode::kCentre;
  return is_plain ? ResizeFilter::kBilinear : ResizeFilter::kOpenCv;
}

std::string seen_text(const Preprocessing& steps) {
  const std::string size = fmt::format("{}x{}", steps.shape.width, steps.shape.height);
  if (steps.crop == CropMode::kStretch) return "whole images, stretched to " + size;
  if (const auto letterbox = letterbox_of(steps.crop)) {
    const std::string colour = letterbox->grey == 0 ? "black" : fmt::format("grey {}", letterbox->grey);
    return letterbox->upper_left ? fmt::format("whole images in the upper left corner of {}, on {}", size, colour)
                                 : fmt::format("whole images, with {} beside them to fill {}", colour, size);
  }
  if (steps.crop_fraction == 1) return "the middle of images, of their shorter side all, resized to " + size;
  return fmt::format("the middle {:.3g} % of each image, resized to {}{}", 100 * steps.crop_fraction, size,
                     steps.keeps_fitting ? fmt::format(" (images of {} whole)", size) : "");
}

PictureFrame frame_of(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  const PictureLayout layout = layout_of(width, height, steps);
  return {layout.scale_x, layout.scale_y, static_cast<double>(layout.left), static_cast<double>(layout.top)};
}

void preprocess(Picture picture, const Preprocessing& steps, std::span<std::uint8_t> chw) {
  if (chw.size() != steps.shape.bytes()) throw Error("a preprocessed picture was given too little room");
  if (steps.shape.channels == 1) picture = to_grey(std::move(picture));
  const PictureLayout layout = layout_of(picture.width, picture.height, steps);
  // The middle of a thin picture is a small part of it: scaling the whole picture could take gigabytes.
  picture = resize_part(std::move(picture), layout.height, layout.width, seen_part(layout, steps.shape), steps.filter);
  if (picture.width != steps.shape.width || picture.height != steps.shape.height) {
    picture = with_border(picture, std::max<std::int64_t>(layout.top, 0), std::max<std::int64_t>(layout.left, 0),
                          steps.shape, letterbox_of(steps.crop).value_or(Letterbox{}).grey);
  }
  write_planes(picture, steps.shape.channels, chw);
}

}  // namespace evener::data
