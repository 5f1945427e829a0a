#include "data/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "data/codecs/colour.h"
#include "data/letterbox.h"

namespace evener::data {
namespace {

constexpr CropMode kModes[] = {CropMode::kStretch, CropMode::kLetterbox, CropMode::kCentre,
                               CropMode::kYolo,    CropMode::kYolox,     CropMode::kInsightface};

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

const char* crop_mode_name(CropMode mode) {
  switch (mode) {
    case CropMode::kStretch:
      return "stretch";
    case CropMode::kLetterbox:
      return "letterbox";
    case CropMode::kCentre:
      return "centre";
    case CropMode::kYolo:
      return "yolo";
    case CropMode::kYolox:
      return "yolox";
    case CropMode::kInsightface:
      return "insightface";
  }
  return "";
}

std::optional<CropMode> find_crop_mode(const std::string& name) {
  for (const CropMode mode : kModes) {
    if (name == crop_mode_name(mode)) return mode;
  }
  return std::nullopt;
}

CropMode parse_crop_mode(const std::string& name) {
  if (const auto mode = find_crop_mode(name)) return *mode;
  std::vector<std::string> known;
  for (const CropMode mode : kModes) known.emplace_back(crop_mode_name(mode));
  throw UsageError(unknown_name_message("way to crop", name, known));
}

bool is_letterbox(CropMode mode) {
  return letterbox_of(mode).has_value();
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
