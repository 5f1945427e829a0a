// Drawings of one class, varied per sample, white on black: digits as strokes, fish as outlines; and the filled
// polygons with antialiased edges of which outlines are made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace evener::data {

struct Point {
  double x = 0;
  double y = 0;
};

/// Fills the inside of a closed outline with 255 on 0; pixels on the edge get the share that is covered. Pixel (0, 0)
/// reaches from (0, 0) to (1, 1). Points outside of the picture are fine. `pixels` is (height, width).
void fill_polygon(std::span<const Point> outline, std::int64_t width, std::int64_t height,
                  std::span<std::uint8_t> pixels);

/// The size the digits are laid out for; other sizes are scaled.
constexpr std::int64_t kDigitExtent = 28;

/// Draws a digit 0 to 9, white on black, filling `pixels` (height, width). What varies: the way of writing it, the
/// points of its strokes, slant, rotation, size, place, thickness, brightness, and noise.
void draw_digit(std::int32_t digit, Random random, std::int64_t width, std::int64_t height,
                std::span<std::uint8_t> pixels);

/// The size the outlines are laid out for.
constexpr std::int64_t kFishWidth = 590;
constexpr std::int64_t kFishHeight = 445;

/// Named after the species of "A Large Scale Fish Dataset" whose general shape they imitate.
const std::vector<std::string>& fish_names();

/// Draws a fish of kind `label`, white on black, filling `pixels` (height, width). The same random numbers give the
/// same fish at every size. What varies: proportions and fins, bend of the body, view from left or right,
/// foreshortening, rotation, size, place, and roughness of the outline.
void draw_fish(std::int32_t label, Random random, std::int64_t width, std::int64_t height,
               std::span<std::uint8_t> pixels);

}  // namespace evener::data
