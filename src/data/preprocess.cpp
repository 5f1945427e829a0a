#include "data/preprocess.h"

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

constexpr CropMode kModes[] = {CropMode::kSquash, CropMode::kBorder, CropMode::kCentre};

/// Copies a part of `from`, whose upper left corner is (top, left), to where (row, column) is in `to`.
void copy_part(const Picture& from, std::int64_t top, std::int64_t left, Picture& to, std::int64_t row,
               std::int64_t column, std::int64_t height, std::int64_t width) {
  for (std::int64_t y = 0; y < height; ++y) {
    std::memcpy(to.row(row + y) + column * to.channels, from.row(top + y) + left * from.channels,
                static_cast<std::size_t>(width * from.channels));
  }
}

Picture with_border(Picture picture, const Preprocessing& steps) {
  const ImageShape& shape = steps.shape;
  const double scale = std::min(static_cast<double>(shape.width) / static_cast<double>(picture.width),
                                static_cast<double>(shape.height) / static_cast<double>(picture.height));
  const auto extent = [&](std::int64_t of, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(scale * static_cast<double>(of)), 1, most);
  };
  picture = resize(std::move(picture), extent(picture.height, shape.height), extent(picture.width, shape.width),
                   steps.filter);
  Picture framed = Picture::unset(picture.channels, shape.height, shape.width);
  std::memset(framed.pixels.get(), 0, framed.bytes());
  copy_part(picture, 0, 0, framed, (shape.height - picture.height) / 2, (shape.width - picture.width) / 2,
            picture.height, picture.width);
  return framed;
}

Picture middle_of(Picture picture, const Preprocessing& steps) {
  const ImageShape& shape = steps.shape;
  const auto whole = [&](std::int64_t part) {  // of which `part` is the fraction
    return static_cast<std::int64_t>(std::floor(static_cast<double>(part) / steps.crop_fraction + 1e-9));
  };
  const std::int64_t height = whole(shape.height), width = whole(shape.width);
  // The side that has to be stretched more decides; the other becomes longer than needed.
  std::int64_t scaled_height = height, scaled_width = width;
  if (picture.height * width <= picture.width * height) {
    scaled_width = std::max(width, height * picture.width / picture.height);
  } else {
    scaled_height = std::max(height, width * picture.height / picture.width);
  }
  picture = resize(std::move(picture), scaled_height, scaled_width, steps.filter);
  Picture middle = Picture::unset(picture.channels, shape.height, shape.width);
  const auto offset = [](std::int64_t of, std::int64_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(of - part) / 2));  // ties to even, as Python
  };
  copy_part(picture, offset(picture.height, shape.height), offset(picture.width, shape.width), middle, 0, 0,
            shape.height, shape.width);
  return middle;
}

}  // namespace

const char* crop_mode_name(CropMode mode) {
  switch (mode) {
    case CropMode::kSquash:
      return "squash";
    case CropMode::kBorder:
      return "border";
    case CropMode::kCentre:
      return "centre";
  }
  return "";
}

CropMode parse_crop_mode(const std::string& name) {
  std::vector<std::string> known;
  for (const CropMode mode : kModes) {
    known.emplace_back(crop_mode_name(mode));
    if (name == known.back()) return mode;
  }
  throw UsageError(unknown_name_message("way to crop", name, known));
}

void preprocess(Picture picture, const Preprocessing& steps, std::span<std::uint8_t> chw) {
  if (chw.size() != steps.shape.bytes()) throw Error("a preprocessed picture was given too little room");
  if (steps.shape.channels == 1) picture = to_grey(std::move(picture));
  switch (steps.crop) {
    case CropMode::kSquash:
      picture = resize(std::move(picture), steps.shape.height, steps.shape.width, steps.filter);
      break;
    case CropMode::kBorder:
      picture = with_border(std::move(picture), steps);
      break;
    case CropMode::kCentre:
      picture = middle_of(std::move(picture), steps);
      break;
  }
  write_planes(picture, steps.shape.channels, chw);
}

}  // namespace evener::data
