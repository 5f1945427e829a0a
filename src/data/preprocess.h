// Preprocessing: brings a picture of any size to the input shape of a network, as in the network's training. Each
// family of detectors has a letterbox of its own: a whole picture on the network's image, with a plain colour beside
// it, which differ in where the picture lies, in the colour and in how sizes are rounded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/codecs/picture.h"
#include "data/resize.h"

namespace evener::data {

/// How the sides of the scaled picture become whole pixels.
enum class LetterboxRounding : std::uint8_t {
  kNearest,        // halves away from zero
  kNearestEven,    // halves to even, as Python's round()
  kDown,           // of the picture's side times the scale
  kDownFromRatio,  // one side is the image's, the other that divided by, or times, the picture's height / width
};

struct Letterbox {
  bool upper_left = false;  // the picture lies in that corner; false: in the middle
  std::uint8_t grey = 0;    // of the border
  LetterboxRounding rounding = LetterboxRounding::kNearest;
  /// Boxes are converted by one scale for both sides, from before sizes were rounded, as these families do it; false:
  /// by the ratio of the whole sizes of each side.
  bool one_scale = false;
};

/// The size that a picture is scaled to, and where its upper left corner then is on the network's image (negative: off
/// it).
struct PictureLayout {
  std::int64_t width = 0, height = 0;
  std::int64_t left = 0, top = 0;
  double scale_x = 1, scale_y = 1;  // by which points of the picture are multiplied
};

/// Where a picture of that size lies. Both sides have at least one pixel.
PictureLayout letterbox_layout(std::int64_t width, std::int64_t height, const ImageShape& shape,
                               const Letterbox& letterbox);

/// How a picture of another aspect ratio is fitted to the network's input.
enum class CropMode : std::uint8_t {
  kStretch,    // both sides are scaled, each by its own factor
  kLetterbox,  // the whole picture, with black beside it
  kCentre,     // the middle of the picture (centre crop)
  // Letterboxes as families of detectors have them; each is meant for ResizeFilter::kOpenCv.
  kYolo,         // Ultralytics, YOLOv5 to v8: in the middle of grey 114
  kYolox,        // YOLOX: in the upper left corner of grey 114
  kInsightface,  // SCRFD: in the upper left corner of black
};
/// "stretch", "letterbox", "centre", "yolo", "yolox", "insightface".
const char* crop_mode_name(CropMode mode);
/// The mode of any of these names; absent for others.
std::optional<CropMode> find_crop_mode(const std::string& name);
/// The same, but throws UsageError with the nearest name for others.
CropMode parse_crop_mode(const std::string& name);

struct Preprocessing {
  ImageShape shape;  // of the result
  CropMode crop = CropMode::kStretch;
  /// With kCentre: the part of the shorter side that is seen. 0.875 with 224 pixels is torchvision's and timm's usual
  /// way: scaled to 256 pixels, of which the middle 224 are taken.
  double crop_fraction = 1;
  ResizeFilter filter = ResizeFilter::kBilinear;
  /// Pictures of exactly `shape` are taken whole, even where `crop` would cut them: they were made for this input.
  bool keeps_fitting = false;
};
/// The filter that networks which see pictures so were trained with.
ResizeFilter usual_filter(CropMode mode);
/// A sentence on what the network sees of pictures: "whole images, stretched to 32x32", "the middle 87.5 % of each
/// image, resized to 224x224".
std::string seen_text(const Preprocessing& steps);

/// Where a picture's pixels come to lie: x of the picture at x * scale_x + left, y at y * scale_y + top.
struct PictureFrame {
  double scale_x = 1, scale_y = 1;
  double left = 0, top = 0;
};
/// Where preprocess() puts the pixels of a picture of that size.
PictureFrame frame_of(std::int64_t width, std::int64_t height, const Preprocessing& steps);

/// Writes the picture as (C, H, W) of `steps.shape` into `chw`, which has room for exactly that. Sizes are rounded as
/// torchvision's Resize and CenterCrop do. Grey is repeated for three channels, colours become their luma for one.
void preprocess(Picture picture, const Preprocessing& steps, std::span<std::uint8_t> chw);

}  // namespace evener::data
