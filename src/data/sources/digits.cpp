#include "data/sources/digits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/sources/polygon.h"

namespace evener::data {

namespace {

/// A smooth curve through its points, in a box of 1 x 1 with y downwards.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The ways of writing each digit.
const std::vector<std::vector<Glyph>>& glyphs() {
  static const std::vector<std::vector<Glyph>> all = {
      {{{{.55, 0}, {.2, .15}, {.08, .5}, {.2, .85}, {.5, 1}, {.8, .85}, {.92, .5}, {.8, .15}, {.55, 0}}},
       {{{.6, .02}, {.3, .1}, {.14, .5}, {.3, .93}, {.55, .98}, {.8, .8}, {.86, .4}, {.7, .08}, {.4, .04}}}},
      {{{{.5, 0}, {.5, .5}, {.5, 1}}},
       {{{.28, .22}, {.4, .14}, {.55, 0}}, {{.55, 0}, {.55, .5}, {.55, 1}}},
       {{{.28, .22}, {.4, .14}, {.55, 0}}, {{.55, 0}, {.55, .5}, {.55, 1}}, {{.28, 1}, {.55, 1}, {.82, 1}}}},
      {{{{.1, .25}, {.3, .04}, {.62, .02}, {.82, .22}, {.72, .48}, {.4, .75}, {.1, 1}}, {{.1, 1}, {.5, .98}, {.92, 1}}},
       {{{.12, .2},
         {.4, .0},
         {.75, .12},
         {.75, .4},
         {.45, .75},
         {.2, .95},
         {.12, .82},
         {.35, .78},
         {.6, .95},
         {.92, .95}}}},
      {{{{.12, .12}, {.45, 0}, {.78, .12}, {.76, .36}, {.42, .47}},
        {{.42, .47}, {.8, .56}, {.88, .8}, {.52, 1}, {.1, .9}}},
       {{{.12, .02}, {.5, .0}, {.85, .02}},
        {{.85, .02}, {.6, .22}, {.42, .4}},
        {{.42, .4}, {.82, .52}, {.86, .82}, {.5, 1}, {.1, .9}}}},
      {{{{.62, 0}, {.35, .32}, {.06, .66}}, {{.06, .66}, {.5, .66}, {.94, .66}}, {{.68, .0}, {.68, .5}, {.68, 1}}},
       {{{.2, 0}, {.16, .28}, {.12, .52}}, {{.12, .52}, {.5, .54}, {.82, .5}}, {{.8, .0}, {.77, .5}, {.74, 1}}}},
      {{{{.86, .02}, {.55, .01}, {.26, .02}},
        {{.26, .02}, {.22, .24}, {.18, .46}},
        {{.18, .46}, {.5, .36}, {.82, .5}, {.84, .8}, {.5, 1}, {.1, .9}}}},
      {{{{.72, .02}, {.4, .2}, {.16, .55}, {.2, .86}, {.5, 1}, {.8, .86}, {.8, .62}, {.52, .5}, {.2, .66}}},
       {{{.5, .0}, {.26, .3}, {.14, .65}, {.3, .96}, {.62, .98}, {.8, .78}, {.66, .58}, {.4, .58}, {.18, .74}}}},
      {{{{.1, .02}, {.5, .0}, {.9, .02}}, {{.9, .02}, {.64, .45}, {.4, 1}}},
       {{{.1, .02}, {.5, .0}, {.9, .02}}, {{.9, .02}, {.64, .45}, {.42, 1}}, {{.34, .5}, {.58, .5}, {.84, .5}}}},
      {{{{.5, .47}, {.22, .34}, {.22, .1}, {.5, 0}, {.78, .1}, {.78, .34}, {.5, .47}},
        {{.5, .47}, {.14, .62}, {.14, .9}, {.5, 1}, {.86, .9}, {.86, .62}, {.5, .47}}},
       {{{.78, .12},
         {.5, .0},
         {.24, .14},
         {.36, .38},
         {.66, .58},
         {.78, .82},
         {.5, 1},
         {.22, .84},
         {.36, .58},
         {.68, .36},
         {.78, .12}}}},
      {{{{.82, .26}, {.6, .48}, {.3, .46}, {.16, .24}, {.34, .04}, {.66, .02}, {.82, .26}},
        {{.82, .26}, {.8, .6}, {.62, 1}}},
       {{{.8, .2}, {.58, .0}, {.24, .1}, {.2, .38}, {.5, .5}, {.8, .24}}, {{.8, .2}, {.8, .6}, {.78, 1}}}},
  };
  return all;
}

/// A point of the curve between b and c, with neighbours a and d (Catmull-Rom).
double through(double a, double b, double c, double d, double t) {
  return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

/// The stroke as many short straight pieces.
Stroke smooth(const Stroke& points) {
  constexpr int kPieces = 5;
  Stroke curve;
  const auto at = [&points](std::ptrdiff_t i) {
    return points[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(i, 0, std::ssize(points) - 1))];
  };
  for (std::ptrdiff_t i = 0; i + 1 < std::ssize(points); ++i) {
    for (int k = 0; k < kPieces; ++k) {
      const double t = static_cast<double>(k) / kPieces;
      curve.push_back({through(at(i - 1).x, at(i).x, at(i + 1).x, at(i + 2).x, t),
                       through(at(i - 1).y, at(i).y, at(i + 1).y, at(i + 2).y, t)});
    }
  }
  curve.push_back(points.back());
  return curve;
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// The glyph as one writer writes it once: moved points, slant, rotation, size and place on the 28 x 28 canvas.
Glyph written(const Glyph& glyph, Random& random) {
  const double width = random.uniform(9, 15), height = random.uniform(16, 21);
  const double slant = std::clamp(0.1 + random.normal() * 0.2, -0.45, 0.6);
  const double angle = std::clamp(random.normal() * 0.14, -0.4, 0.4);
  const double center_x = kDigitExtent / 2.0 + std::clamp(random.normal(), -2.5, 2.5);
  const double center_y = kDigitExtent / 2.0 + std::clamp(random.normal(), -2.5, 2.5);
  Glyph strokes;
  for (const Stroke& stroke : glyph) {
    Stroke moved;
    for (const Point& point : stroke) {
      const double u = point.x - 0.5 + random.normal() * 0.05, v = point.y - 0.5 + random.normal() * 0.04;
      const double x = u * width - v * height * slant, y = v * height;
      moved.push_back(
          {center_x + x * std::cos(angle) - y * std::sin(angle), center_y + x * std::sin(angle) + y * std::cos(angle)});
    }
    strokes.push_back(smooth(moved));
  }
  return strokes;
}

}  // namespace

void draw_digit(std::int32_t digit, Random random, std::int64_t width, std::int64_t height,
                std::span<std::uint8_t> pixels) {
  const std::vector<Glyph>& ways = glyphs().at(static_cast<std::size_t>(digit));
  const Glyph strokes = written(ways[random.below(ways.size())], random);
  const double radius = random.uniform(0.75, 1.7);
  const double brightness = random.uniform(190, 255);
  const double noise = random.uniform(0, 30);
  // Distances are kept per pixel; each piece touches only the pixels near it.
  constexpr double kFar = 100;
  std::vector<double> distances(static_cast<std::size_t>(width * height), kFar);
  const double scale_x = static_cast<double>(kDigitExtent) / static_cast<double>(width);
  const double scale_y = static_cast<double>(kDigitExtent) / static_cast<double>(height);
  const double reach = radius + 1;
  const auto pixel_range = [reach](double a, double b, double scale, std::int64_t extent) {
    const auto first = static_cast<std::int64_t>(std::floor((std::min(a, b) - reach) / scale));
    const auto last = static_cast<std::int64_t>(std::ceil((std::max(a, b) + reach) / scale));
    return std::pair(std::clamp<std::int64_t>(first, 0, extent), std::clamp<std::int64_t>(last, 0, extent));
  };
  for (const Stroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      const auto [left, right] = pixel_range(stroke[i].x, stroke[i + 1].x, scale_x, width);
      const auto [top, bottom] = pixel_range(stroke[i].y, stroke[i + 1].y, scale_y, height);
      for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x) {
          const Point center{(static_cast<double>(x) + 0.5) * scale_x, (static_cast<double>(y) + 0.5) * scale_y};
          double& nearest = distances[static_cast<std::size_t>(y * width + x)];
          nearest = std::min(nearest, distance(center, stroke[i], stroke[i + 1]));
        }
      }
    }
  }
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double ink = std::clamp(radius + 0.5 - distances[i], 0.0, 1.0) * brightness;
    pixels[i] = static_cast<std::uint8_t>(std::clamp(ink + random.normal() * noise, 0.0, 255.0));
  }
}

}  // namespace evener::data
