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

namespace evener::data {
namespace {

constexpr CropMode kModes[] = {CropMode::kStretch, CropMode::kLetterbox, CropMode::kCentre};

/// The size that a picture is scaled to, and where its upper left corner then is on the network's input.
struct Layout {
  std::int64_t width = 0, height = 0;
  std::int64_t left = 0, top = 0;
};

Layout border_layout(std::int64_t width, std::int64_t height, const ImageShape& shape) {
  const double scale = std::min(static_cast<double>(shape.width) / static_cast<double>(width),
                                static_cast<double>(shape.height) / static_cast<double>(height));
  const auto extent = [&](std::int64_t of, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(scale * static_cast<double>(of)), 1, most);
  };
  Layout layout{extent(width, shape.width), extent(height, shape.height), 0, 0};
  layout.left = (shape.width - layout.width) / 2;
  layout.top = (shape.height - layout.height) / 2;
  return layout;
}

Layout centre_layout(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  const ImageShape& shape = steps.shape;
  const auto whole = [&](std::int64_t part) {  // of which `part` is the fraction
    return static_cast<std::int64_t>(std::floor(static_cast<double>(part) / steps.crop_fraction + 1e-9));
  };
  Layout layout{whole(shape.width), whole(shape.height), 0, 0};
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
  return layout;
}

Layout layout_of(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  if (steps.keeps_fitting && width == steps.shape.width && height == steps.shape.height) return {width, height, 0, 0};
  switch (steps.crop) {
    case CropMode::kLetterbox:
      return border_layout(width, height, steps.shape);
    case CropMode::kCentre:
      return centre_layout(width, height, steps);
    case CropMode::kStretch:
      break;
  }
  return {steps.shape.width, steps.shape.height, 0, 0};
}

/// The area of a scaled picture that lies on the network's input.
PictureArea seen_part(const Layout& layout, const ImageShape& shape) {
  return {std::max<std::int64_t>(-layout.left, 0), std::max<std::int64_t>(-layout.top, 0),
          std::min(layout.width, shape.width), std::min(layout.height, shape.height)};
}

/// The picture on black, from (top, left) on.
Picture with_border(const Picture& picture, std::int64_t top, std::int64_t left, const ImageShape& shape) {
  Picture input = Picture::unset(picture.channels, shape.height, shape.width);
  std::memset(input.pixels.get(), 0, input.bytes());
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
  }
  return "";
}

const std::map<std::string, std::string>& crop_spellings() {
  static const std::map<std::string, std::string> spellings = {
      {"squash", "stretch"}, {"border", "letterbox"}, {"center", "centre"}};
  return spellings;
}

std::optional<CropMode> find_crop_mode(const std::string& name) {
  const auto spelling = crop_spellings().find(name);
  for (const CropMode mode : kModes) {
    if ((spelling == crop_spellings().end() ? name : spelling->second) == crop_mode_name(mode)) return mode;
  }
  return std::nullopt;
}

CropMode parse_crop_mode(const std::string& name) {
  if (const auto mode = find_crop_mode(name)) return *mode;
  std::vector<std::string> known;
  for (const CropMode mode : kModes) known.emplace_back(crop_mode_name(mode));
  throw UsageError(unknown_name_message("way to crop", name, known));
}

std::string seen_text(const Preprocessing& steps) {
  const std::string size = fmt::format("{}x{}", steps.shape.width, steps.shape.height);
  if (steps.crop == CropMode::kStretch) return "whole images, stretched to " + size;
  if (steps.crop == CropMode::kLetterbox) return "whole images, with black beside them to fill " + size;
  if (steps.crop_fraction == 1) return "the middle of images, of their shorter side all, resized to " + size;
  return fmt::format("the middle {:.3g} % of each image, resized to {}{}", 100 * steps.crop_fraction, size,
                     steps.keeps_fitting ? fmt::format(" (images of {} whole)", size) : "");
}

PictureFrame frame_of(std::int64_t width, std::int64_t height, const Preprocessing& steps) {
  const Layout layout = layout_of(width, height, steps);
  return {static_cast<double>(layout.width) / static_cast<double>(width),
          static_cast<double>(layout.height) / static_cast<double>(height), static_cast<double>(layout.left),
          static_cast<double>(layout.top)};
}

void preprocess(Picture picture, const Preprocessing& steps, std::span<std::uint8_t> chw) {
  if (chw.size() != steps.shape.bytes()) throw Error("a preprocessed picture was given too little room");
  if (steps.shape.channels == 1) picture = to_grey(std::move(picture));
  const Layout layout = layout_of(picture.width, picture.height, steps);
  // The middle of a thin picture is a small part of it: scaling the whole picture could take gigabytes.
  picture = resize_part(std::move(picture), layout.height, layout.width, seen_part(layout, steps.shape), steps.filter);
  if (picture.width != steps.shape.width || picture.height != steps.shape.height) {
    picture = with_border(picture, std::max<std::int64_t>(layout.top, 0), std::max<std::int64_t>(layout.left, 0),
                          steps.shape);
  }
  write_planes(picture, steps.shape.channels, chw);
}

}  // namespace evener::data
