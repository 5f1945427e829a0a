#include "job/infer/small_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/base64.h"
#include "base/tensor.h"
#include "data/codecs/colour.h"
#include "data/png_encode.h"
#include "data/resize.h"
#include "record/predicted_images.h"

namespace evener::job {
namespace {

constexpr std::int64_t kShownSide = 104;

}  // namespace

std::string SmallPicture::text() const {
  return to_base64(data::encode_png(shape, planes));
}

SmallPicture small_picture(const data::Samples& samples, std::size_t index) {
  const auto& shape = samples.shape();
  std::vector<std::uint8_t> values(static_cast<std::size_t>(element_count(shape)));
  samples.read(index, std::span(values));
  data::Picture picture =
      shape[0] == 3 ? data::from_planes(values, shape[1], shape[2]) : data::Picture::unset(1, shape[1], shape[2]);
  if (shape[0] == 1) std::ranges::copy(values, picture.pixels.get());
  const std::int64_t side = std::max(shape[1], shape[2]);
  if (side > kShownSide) {
    const auto scaled = [&](std::int64_t extent) { return std::max<std::int64_t>(1, extent * kShownSide / side); };
    picture = data::resize(std::move(picture), scaled(shape[1]), scaled(shape[2]));
  }
  SmallPicture small{{picture.channels, picture.height, picture.width}, {}};
  small.planes.resize(picture.bytes());
  data::write_planes(picture, picture.channels, small.planes);
  return small;
}

SmallPicture with_map(const SmallPicture& picture, const task::ActivationMap& map) {
  constexpr std::array<double, 3> kOrange = {255, 120, 0};
  constexpr double kMostOpaque = 0.75;
  const std::int64_t height = picture.shape.height, width = picture.shape.width;
  const auto plane = static_cast<std::size_t>(height * width);
  SmallPicture drawn{{3, height, width}, std::vector<std::uint8_t>(3 * plane)};
  for (std::size_t pixel = 0; pixel < plane; ++pixel) {
    double grey = 0;
    for (std::int64_t c = 0; c < picture.shape.channels; ++c) {
      grey += picture.planes[static_cast<std::size_t>(c) * plane + pixel];
    }
    grey /= static_cast<double>(picture.shape.channels);
    const auto at = static_cast<std::int64_t>(pixel);
    const double opaque = kMostOpaque * static_cast<double>(map.at(at / width, at % width, height, width));
    for (std::size_t c = 0; c < 3; ++c) {
      drawn.planes[c * plane + pixel] =
          static_cast<std::uint8_t>(std::lround(grey * (1 - opaque) + kOrange[c] * opaque));
    }
  }
  return drawn;
}

}  // namespace evener::job
