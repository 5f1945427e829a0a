#include "data/colour.h"

#include <cassert>
#include <cstring>
#include <utility>

namespace evener::data {

namespace {

/// a * b / 255, rounded.
std::uint8_t scaled(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

}  // namespace

Picture to_grey(Picture picture) {
  if (picture.channels == 1) return picture;
  Picture grey = Picture::unset(1, picture.height, picture.width);
  const std::int64_t count = picture.height * picture.width;
  const std::uint8_t* in = picture.pixels.get();
  std::uint8_t* out = grey.pixels.get();
  for (std::int64_t i = 0; i < count; ++i, in += 3) out[i] = luma(in[0], in[1], in[2]);
  return grey;
}

void inverted_cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, cmyk += 4, rgb += 3) {
    const std::uint32_t paper = cmyk[3];
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(paper - scaled(255u - cmyk[c], paper));
  }
}

void write_planes(const Picture& picture, std::int64_t channels, std::span<std::uint8_t> chw) {
  const std::size_t plane = static_cast<std::size_t>(picture.height * picture.width);
  assert(chw.size() >= plane * static_cast<std::size_t>(channels));
  const std::uint8_t* in = picture.pixels.get();
  if (picture.channels == 1) {
    for (std::int64_t c = 0; c < channels; ++c)
      std::memcpy(chw.data() + static_cast<std::size_t>(c) * plane, in, plane);
    return;
  }
  assert(picture.channels == 3 && channels == 3);
  std::uint8_t* red = chw.data();
  std::uint8_t* green = red + plane;
  std::uint8_t* blue = green + plane;
  for (std::size_t i = 0; i < plane; ++i, in += 3) {
    red[i] = in[0];
    green[i] = in[1];
    blue[i] = in[2];
  }
}

}  // namespace evener::data
