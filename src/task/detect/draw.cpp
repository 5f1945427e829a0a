#include "task/detect/draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "task/detect/small_font.h"

namespace evener::task {
namespace {

constexpr Colour kColours[] = {{213, 94, 0},    {0, 114, 178},  {0, 158, 115}, {230, 159, 0},
                               {204, 121, 167}, {86, 180, 233}, {240, 228, 66}};

/// Pixels of the longer side for which letters are one pixel thick.
constexpr std::int64_t kSideOfOne = 320;

data::Picture coloured(data::Picture picture) {
  if (picture.channels == 3) return picture;
  data::Picture rgb = data::Picture::unset(3, picture.height, picture.width);
  for (std::int64_t i = 0; i < picture.height * picture.width; ++i) {
    std::fill_n(rgb.pixels.get() + 3 * i, 3, picture.pixels[static_cast<std::size_t>(i)]);
  }
  return rgb;
}

/// Draws on a picture of colours, where it is.
class Pencil {
 public:
  explicit Pencil(data::Picture& picture)
      : picture_(picture),
        thickness_(std::max<std::int64_t>(1, std::max(picture.height, picture.width) / kSideOfOne)) {}

  void frame(const DrawnBox& box) {
    const auto x1 = std::llround(box.x1), y1 = std::llround(box.y1);
    const auto x2 = std::max<std::int64_t>(x1 + 1, std::llround(box.x2));
    const auto y2 = std::max<std::int64_t>(y1 + 1, std::llround(box.y2));
    const std::int64_t thick = std::max<std::int64_t>(2, thickness_);
    line(x1, y1, x2, y1 + thick, box, true);
    line(x1, y2 - thick, x2, y2, box, true);
    line(x1, y1, x1 + thick, y2, box, false);
    line(x2 - thick, y1, x2, y2, box, false);
  }

  void label(const DrawnBox& box) {
    if (box.text.empty()) return;
    const std::int64_t step = (kGlyphWidth + 1) * thickness_;
    const std::int64_t width = static_cast<std::int64_t>(box.text.size()) * step + thickness_;
    const std::int64_t height = (kGlyphHeight + 2) * thickness_;
    const std::int64_t most_x = std::max<std::int64_t>(0, picture_.width - width);
    const std::int64_t x = std::clamp<std::int64_t>(std::llround(box.x1), 0, most_x);
    std::int64_t y = std::llround(box.y1) - height;
    if (y < 0) y = std::max<std::int64_t>(0, std::llround(box.y1));
    fill(x, y, x + width, y + height, box.colour);
    // Dark letters on what is bright.
    const bool is_bright = 2 * box.colour[0] + 5 * box.colour[1] + box.colour[2] > 8 * 140;
    const Colour ink = is_bright ? Colour{0, 0, 0} : Colour{255, 255, 255};
    for (std::size_t i = 0; i < box.text.size(); ++i) {
      letter(glyph_of(box.text[i]), x + thickness_ + static_cast<std::int64_t>(i) * step, y + thickness_, ink);
    }
  }

 private:
  void fill(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const Colour& colour) {
    x1 = std::max<std::int64_t>(x1, 0), x2 = std::min(x2, picture_.width);
    for (std::int64_t y = std::max<std::int64_t>(y1, 0); y < std::min(y2, picture_.height); ++y) {
      for (std::int64_t x = x1; x < x2; ++x) std::memcpy(picture_.row(y) + 3 * x, colour.data(), 3);
    }
  }

  void line(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const DrawnBox& box, bool is_flat) {
    if (!box.is_dashed) return fill(x1, y1, x2, y2, box.colour);
    const std::int64_t dash = 4 * (thickness_ + 1);
    const std::int64_t end = is_flat ? x2 : y2;
    for (std::int64_t at = is_flat ? x1 : y1; at < end; at += 2 * dash) {
      const std::int64_t stop = std::min(at + dash, end);
      is_flat ? fill(at, y1, stop, y2, box.colour) : fill(x1, at, x2, stop, box.colour);
    }
  }

  void letter(const Glyph& glyph, std::int64_t x, std::int64_t y, const Colour& ink) {
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        if ((glyph[static_cast<std::size_t>(row)] >> (kGlyphWidth - 1 - column) & 1) == 0) continue;
        const std::int64_t left = x + column * thickness_, top = y + row * thickness_;
        fill(left, top, left + thickness_, top + thickness_, ink);
      }
    }
  }

  data::Picture& picture_;
  const std::int64_t thickness_;
};

}  // namespace

Colour class_colour(std::int32_t label) {
  return kColours[static_cast<std::size_t>(label) % std::size(kColours)];
}

data::Picture with_boxes(data::Picture picture, std::span<const DrawnBox> boxes) {
  data::Picture drawn = coloured(std::move(picture));
  Pencil pencil(drawn);
  for (const DrawnBox& box : boxes) pencil.frame(box);
  for (const DrawnBox& box : boxes) pencil.label(box);
  return drawn;
}

data::Picture cut_out(const data::Picture& picture, const Detection& box) {
  const auto first = [](float corner, std::int64_t extent) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(corner)), 0, extent - 1);
  };
  const auto end = [](float corner, std::int64_t begin, std::int64_t extent) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(corner)), begin + 1, extent);
  };
  const std::int64_t x = first(box.x1, picture.width), y = first(box.y1, picture.height);
  const std::int64_t width = end(box.x2, x, picture.width) - x, height = end(box.y2, y, picture.height) - y;
  data::Picture part = data::Picture::unset(picture.channels, height, width);
  for (std::int64_t row = 0; row < height; ++row) {
    std::memcpy(part.row(row), picture.row(y + row) + x * picture.channels,
                static_cast<std::size_t>(width * picture.channels));
  }
  return part;
}

}  // namespace evener::task
