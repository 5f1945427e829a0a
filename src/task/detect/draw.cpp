#include "task/detect/draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace evener::task {
namespace {

constexpr Colour kColours[] = {{213, 94, 0},    {0, 114, 178},  {0, 158, 115}, {230, 159, 0},
                               {204, 121, 167}, {86, 180, 233}, {240, 228, 66}};

/// Of the shorter side of a picture, so that boxes are seen as well on a large one; and the least in pixels.
constexpr double kLineShare = 0.004, kTextShare = 0.028;
constexpr std::int64_t kLeastLine = 2, kLeastText = 12;

constexpr Colour kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

bool is_bright(const Colour& colour) {
  return 2 * colour[0] + 5 * colour[1] + colour[2] > 8 * 140;
}

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
  Pencil(data::Picture& picture, const Lettering& lettering)
      : picture_(picture),
        lettering_(lettering),
        line_(share_of(kLineShare, kLeastLine)),
        edge_(std::max<std::int64_t>(1, line_ / 4)),
        text_(share_of(kTextShare, kLeastText)) {}

  /// Lines have a thin edge of the opposite brightness, so that they are seen on their own colour too.
  void frame(const DrawnBox& box) {
    const auto x1 = std::llround(box.x1), y1 = std::llround(box.y1);
    const auto x2 = std::max<std::int64_t>(x1 + 1, std::llround(box.x2));
    const auto y2 = std::max<std::int64_t>(y1 + 1, std::llround(box.y2));
    const Colour edge = is_bright(box.colour) ? kBlack : kWhite;
    frame(x1 - edge_, y1 - edge_, x2 + edge_, y2 + edge_, line_ + 2 * edge_, edge, box.is_dashed);
    frame(x1, y1, x2, y2, line_, box.colour, box.is_dashed);
  }

  void label(const DrawnBox& box) {
    const TextMask text = lettering_.draw(box.text, text_);
    if (text.width == 0) return;
    const std::int64_t margin = std::max<std::int64_t>(2, text_ / 5);
    const std::int64_t width = text.width + 2 * margin, height = text.height + margin;
    const std::int64_t x = std::clamp<std::int64_t>(std::llround(box.x1) - edge_, 0, most(picture_.width - width));
    std::int64_t y = std::llround(box.y1) - height;
    if (y < 0) y = std::clamp<std::int64_t>(std::llround(box.y1), 0, most(picture_.height - height));
    fill(x, y, x + width, y + height, box.colour);
    write(text, x + margin, y + margin / 2, is_bright(box.colour) ? kBlack : kWhite);
  }

 private:
  static std::int64_t most(std::int64_t corner) { return std::max<std::int64_t>(0, corner); }

  std::int64_t share_of(double share, std::int64_t least) const {
    return std::max<std::int64_t>(least,
                                  std::llround(share * static_cast<double>(std::min(picture_.height, picture_.width))));
  }

  void frame(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, std::int64_t thick,
             const Colour& colour, bool is_dashed) {
    line(x1, y1, x2, y1 + thick, colour, is_dashed);
    line(x1, y2 - thick, x2, y2, colour, is_dashed);
    line(x1, y1, x1 + thick, y2, colour, is_dashed);
    line(x2 - thick, y1, x2, y2, colour, is_dashed);
  }

  void fill(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const Colour& colour) {
    x1 = std::max<std::int64_t>(x1, 0), x2 = std::min(x2, picture_.width);
    for (std::int64_t y = std::max<std::int64_t>(y1, 0); y < std::min(y2, picture_.height); ++y) {
      for (std::int64_t x = x1; x < x2; ++x) std::memcpy(picture_.row(y) + 3 * x, colour.data(), 3);
    }
  }

  void line(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const Colour& colour, bool is_dashed) {
    if (!is_dashed) return fill(x1, y1, x2, y2, colour);
    const std::int64_t dash = 4 * line_;
    const bool is_flat = x2 - x1 > y2 - y1;
    const std::int64_t end = is_flat ? x2 : y2;
    for (std::int64_t at = is_flat ? x1 : y1; at < end; at += 2 * dash) {
      const std::int64_t stop = std::min(at + dash, end);
      is_flat ? fill(at, y1, stop, y2, colour) : fill(x1, at, x2, stop, colour);
    }
  }

  void write(const TextMask& text, std::int64_t left, std::int64_t top, const Colour& ink) {
    const std::int64_t rows = std::min(text.height, picture_.height - top);
    const std::int64_t columns = std::min(text.width, picture_.width - left);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const int share = text.ink[static_cast<std::size_t>(row * text.width + column)];
        std::uint8_t* pixel = picture_.row(top + row) + 3 * (left + column);
        for (std::size_t c = 0; c < 3; ++c) {
          pixel[c] = static_cast<std::uint8_t>((ink[c] * share + pixel[c] * (255 - share) + 127) / 255);
        }
      }
    }
  }

  data::Picture& picture_;
  const Lettering& lettering_;
  const std::int64_t line_, edge_, text_;  // pixels
};

}  // namespace

Colour class_colour(std::int32_t label) {
  return kColours[static_cast<std::size_t>(label) % std::size(kColours)];
}

data::Picture with_boxes(data::Picture picture, std::span<const DrawnBox> boxes, const Lettering& lettering) {
  data::Picture drawn = coloured(std::move(picture));
  Pencil pencil(drawn, lettering);
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
