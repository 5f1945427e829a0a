#include "data/sources/drawings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace evener::data {

namespace {

/// Signed areas per pixel, as font renderers keep them: each edge adds, in every row it crosses, how much the area to
/// its right begins within each pixel; running sums along a row then give the coverage.
class AreaSums {
 public:
  AreaSums(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), sums_(static_cast<std::size_t>((width + 2) * height)) {}

  void add_edge(Point from, Point to) {
    const double direction = from.y < to.y ? 1 : -1;
    if (from.y > to.y) std::swap(from, to);
    if (from.y >= to.y) return;
    const double slope = (to.x - from.x) / (to.y - from.y);
    const double top = std::max(from.y, 0.0);
    const double bottom = std::min(to.y, static_cast<double>(height_));
    for (auto row = static_cast<std::int64_t>(top); static_cast<double>(row) < bottom; ++row) {
      const double begin = std::max(top, static_cast<double>(row));
      const double end = std::min(bottom, static_cast<double>(row + 1));
      if (end <= begin) continue;
      add_piece(row, from.x + (begin - from.y) * slope, from.x + (end - from.y) * slope, direction * (end - begin));
    }
  }

  void write(std::span<std::uint8_t> pixels) const {
    for (std::int64_t y = 0; y < height_; ++y) {
      const float* sums = sums_.data() + y * (width_ + 2);
      std::uint8_t* out = pixels.data() + y * width_;
      float area = 0;
      for (std::int64_t x = 0; x < width_; ++x) {
        area += sums[x];
        out[x] = static_cast<std::uint8_t>(std::min(std::abs(area), 1.0F) * 255.0F + 0.5F);
      }
    }
  }

 private:
  /// A piece of an edge within one row, from x0 to x1, that covers `height` of the row (negative: upwards).
  void add_piece(std::int64_t row, double x0, double x1, double height) {
    float* sums = sums_.data() + row * (width_ + 2);
    const double right_end = static_cast<double>(width_);
    double left = std::clamp(std::min(x0, x1), 0.0, right_end);
    const double right = std::clamp(std::max(x0, x1), 0.0, right_end);
    auto column = static_cast<std::int64_t>(left);
    if (right <= static_cast<double>(column + 1)) {  // within one pixel
      const double inside = static_cast<double>(column + 1) - (left + right) / 2;
      sums[column] += static_cast<float>(height * inside);
      sums[column + 1] += static_cast<float>(height * (1 - inside));
      return;
    }
    const double per_x = height / (right - left);
    for (; left < right; ++column) {
      const double next = std::min(right, static_cast<double>(column + 1));
      const double part = per_x * (next - left);
      const double inside = static_cast<double>(column + 1) - (left + next) / 2;
      sums[column] += static_cast<float>(part * inside);
      sums[column + 1] += static_cast<float>(part * (1 - inside));
      left = next;
    }
  }

  std::int64_t width_, height_;
  std::vector<float> sums_;
};

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

using std::numbers::pi;

/// A fin on the back or belly: where along the body it begins and ends (0 nose, 1 root of the tail), how high it is (in
/// body lengths), where its highest point lies between its ends.
struct Fin {
  double begin = 0, end = 0, height = 0, peak = 0.3;
};

/// All lengths in body lengths, from the nose to the root of the tail.
struct FishKind {
  const char* name;
  double depth;      // largest height of the body
  double deepest;    // where
  double bluntness;  // exponent of the profile: small is blunt
  double belly;      // share of the depth below the axis
  double peduncle;   // height at the root of the tail
  double tail_length, tail_span, tail_fork;
  std::array<Fin, 2> back;
  std::array<Fin, 2> under;
  double bend;  // curvature of the axis
  double legs;  // height of a comb of legs under the body
};

// clang-format off
constexpr std::array<FishKind, 9> kKinds = {{
    // name                 depth  deep blunt belly  root | tail: length span fork | fins on the back | fins below | bend legs
    {"black_sea_sprat",      .190, .44, .80, .62, .055, .19, .27, .090, {{{.45, .58, .060, .2}, {}}},
     {{{.50, .56, .030, .3}, {.72, .88, .025, .2}}}, 0, 0},
    {"gilt_head_bream",      .385, .38, .60, .46, .085, .22, .32, .080, {{{.30, .86, .050, .3}, {}}},
     {{{.34, .43, .050, .6}, {.64, .85, .045, .3}}}, 0, 0},
    {"horse_mackerel",       .240, .36, .78, .50, .036, .21, .36, .110, {{{.29, .41, .075, .4}, {.45, .93, .045, .12}}},
     {{{.31, .38, .040, .6}, {.57, .93, .042, .12}}}, 0, 0},
    {"red_mullet",           .260, .29, .46, .45, .080, .19, .24, .070, {{{.32, .46, .080, .3}, {.62, .77, .070, .25}}},
     {{{.31, .40, .050, .6}, {.63, .76, .045, .3}}}, 0, 0},
    {"red_sea_bream",        .480, .34, .54, .44, .095, .25, .40, .120, {{{.26, .88, .095, .25}, {}}},
     {{{.33, .43, .100, .7}, {.66, .86, .075, .25}}}, 0, 0},
    {"sea_bass",             .230, .42, .80, .50, .110, .20, .25, .045, {{{.33, .53, .085, .35}, {.58, .78, .075, .25}}},
     {{{.34, .42, .050, .6}, {.64, .79, .065, .25}}}, 0, 0},
    {"shrimp",               .175, .28, .62, .50, .062, .17, .20, .015, {{{.02, .30, .012, .5}, {}}},
     {{{}, {}}}, 1.35, .055},
    {"striped_red_mullet",   .200, .28, .42, .44, .062, .20, .26, .100, {{{.28, .42, .140, .2}, {.60, .72, .040, .25}}},
     {{{.29, .38, .055, .6}, {.61, .73, .040, .3}}}, 0, 0},
    {"trout",                .255, .45, .78, .52, .125, .17, .25, .004, {{{.42, .57, .068, .25}, {.80, .87, .032, .6}}},
     {{{.52, .60, .045, .5}, {.70, .82, .060, .25}}}, 0, 0},
}};
// clang-format on

double smooth_step(double x) {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * (3 - 2 * x);
}

/// 0 at both ends, 1 at `peak`.
double hump(double x, double peak, double exponent) {
  if (x <= 0 || x >= 1) return 0;
  return std::pow(x / peak, exponent) * std::pow((1 - x) / (1 - peak), exponent * (1 - peak) / peak);
}

double fin_height(const Fin& fin, double x) {
  if (fin.height <= 0) return 0;
  const double place = (x - fin.begin) / (fin.end - fin.begin);
  if (place <= 0 || place >= 1) return 0;
  return fin.height * (place < fin.peak ? smooth_step(place / fin.peak) : std::pow((1 - place) / (1 - fin.peak), 0.7));
}

/// A fish of a kind with its own proportions.
FishKind individual(FishKind kind, Random& random) {
  const auto vary = [&random](double& value, double share) { value *= 1 + share * random.uniform(-1, 1); };
  vary(kind.depth, 0.08);
  kind.deepest += random.uniform(-0.02, 0.02);
  vary(kind.bluntness, 0.08);
  kind.belly += random.uniform(-0.03, 0.03);
  vary(kind.peduncle, 0.10);
  vary(kind.tail_length, 0.12);
  vary(kind.tail_span, 0.14);  // opened or folded
  vary(kind.tail_fork, 0.15);
  for (auto* fins : {&kind.back, &kind.under}) {
    for (Fin& fin : *fins) {
      const double shift = random.uniform(-0.012, 0.012);
      fin.begin += shift;
      fin.end += shift;
      vary(fin.height, 0.25);  // raised or laid down
    }
  }
  kind.bend += random.uniform(-0.15, 0.15) + (kind.bend > 0 ? random.uniform(-0.3, 0.3) : 0);
  vary(kind.legs, 0.3);
  return kind;
}

/// Slow and fast waves along the outline, as of a hand-drawn or thresholded mask.
struct Roughness {
  std::array<double, 5> size, phase;

  explicit Roughness(Random& random) {
    for (std::size_t i = 0; i < size.size(); ++i) {
      size[i] = random.uniform(0, 0.010) / (1 + static_cast<double>(i) * 0.5);
      phase[i] = random.uniform(0, 2 * pi);
    }
  }
  double at(double x) const {
    static constexpr std::array<double, 5> kWaves = {2, 5, 11, 23, 47};
    double sum = 0;
    for (std::size_t i = 0; i < size.size(); ++i) sum += size[i] * std::sin(kWaves[i] * pi * x + phase[i]);
    return sum;
  }
};

constexpr int kSteps = 150;

/// The outline with the nose at (0, 0) and the axis along x; the back has negative y.
std::vector<Point> straight_outline(const FishKind& kind, Random& random) {
  const Roughness back(random), under(random);
  const double leg_phase = random.uniform(0, 2 * pi);
  const auto half_height = [&kind](double x, double share) {
    return kind.depth * share * hump(x, kind.deepest, kind.bluntness) + kind.peduncle / 2 * smooth_step(x * 1.5);
  };
  std::vector<Point> outline;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = static_cast<double>(i) / kSteps;
    double y = half_height(x, 1 - kind.belly) + back.at(x) * smooth_step(x * 8);
    for (const Fin& fin : kind.back) y += fin_height(fin, x);
    outline.push_back({x, -y});
  }
  // The tail: out to the upper tip, in to the fork, out to the lower tip, and back.
  const double upper = kind.tail_span / 2 * random.uniform(0.9, 1.1),
               lower = kind.tail_span / 2 * random.uniform(0.9, 1.1);
  const double root = kind.peduncle / 2, end = 1 + kind.tail_length;
  outline.push_back({1 + 0.45 * kind.tail_length, -(root + 0.40 * (upper - root))});
  outline.push_back({end - 0.01, -upper});
  outline.push_back({end + 0.01, -upper * 0.92});
  outline.push_back({end - 0.8 * kind.tail_fork, -upper * 0.32});
  outline.push_back({end - kind.tail_fork, 0});
  outline.push_back({end - 0.8 * kind.tail_fork, lower * 0.32});
  outline.push_back({end + 0.01, lower * 0.92});
  outline.push_back({end - 0.01, lower});
  outline.push_back({1 + 0.45 * kind.tail_length, root + 0.40 * (lower - root)});
  for (int i = kSteps; i >= 0; --i) {
    const double x = static_cast<double>(i) / kSteps;
    double y = half_height(x, kind.belly) + under.at(x) * smooth_step(x * 8);
    for (const Fin& fin : kind.under) y += fin_height(fin, x);
    if (kind.legs > 0 && x > 0.22 && x < 0.9) y += kind.legs * std::max(0.0, std::sin(2 * pi * 11 * x + leg_phase));
    outline.push_back({x, y});
  }
  return outline;
}

/// Bends the axis into an arc and a slight S.
void bend(std::vector<Point>& outline, double curvature, double wave) {
  for (Point& point : outline) {
    const double along = point.x - 0.5;
    const double side = point.y + wave * std::sin(2 * pi * along);
    if (std::abs(curvature) < 1e-6) {
      point = {along, side};
      continue;
    }
    const double angle = curvature * along;
    const double radius = 1 / curvature - side;
    point = {radius * std::sin(angle), 1 / curvature - radius * std::cos(angle)};
  }
}

struct Box {
  Point low{1e9, 1e9}, high{-1e9, -1e9};
};

Box box_of(const std::vector<Point>& outline) {
  Box box;
  for (const Point& point : outline) {
    box.low = {std::min(box.low.x, point.x), std::min(box.low.y, point.y)};
    box.high = {std::max(box.high.x, point.x), std::max(box.high.y, point.y)};
  }
  return box;
}

/// Mirrors, turns, scales and places the outline within the canvas.
void pose(std::vector<Point>& outline, Random& random) {
  const double mirror = random.uniform() < 0.5 ? -1 : 1;
  const double foreshortening = random.uniform(0.90, 1.0);
  const double angle = std::clamp(random.normal() * 0.10, -0.35, 0.35);
  const double length = random.uniform(0.72, 0.97) * kFishWidth / 1.2;
  for (Point& point : outline) {
    const double x = point.x * mirror * foreshortening * length, y = point.y * length;
    point = {x * std::cos(angle) - y * std::sin(angle), x * std::sin(angle) + y * std::cos(angle)};
  }
  const Box box = box_of(outline);
  const double width = box.high.x - box.low.x, height = box.high.y - box.low.y;
  const double fit = std::min({1.0, 0.97 * kFishWidth / width, 0.97 * kFishHeight / height});
  const double left = random.uniform() * (kFishWidth - width * fit),
               top = random.uniform() * (kFishHeight - height * fit);
  for (Point& point : outline) point = {left + (point.x - box.low.x) * fit, top + (point.y - box.low.y) * fit};
}

}  // namespace

void fill_polygon(std::span<const Point> outline, std::int64_t width, std::int64_t height,
                  std::span<std::uint8_t> pixels) {
  AreaSums sums(width, height);
  for (std::size_t i = 0; i < outline.size(); ++i) sums.add_edge(outline[i], outline[(i + 1) % outline.size()]);
  sums.write(pixels);
}

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

const std::vector<std::string>& fish_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FishKind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

void draw_fish(std::int32_t label, Random random, std::int64_t width, std::int64_t height,
               std::span<std::uint8_t> pixels) {
  const FishKind kind = individual(kKinds.at(static_cast<std::size_t>(label)), random);
  std::vector<Point> outline = straight_outline(kind, random);
  bend(outline, kind.bend, random.uniform(-0.012, 0.012));
  pose(outline, random);
  const double scale_x = static_cast<double>(width) / kFishWidth, scale_y = static_cast<double>(height) / kFishHeight;
  for (Point& point : outline) point = {point.x * scale_x, point.y * scale_y};
  fill_polygon(outline, width, height, pixels);
}

}  // namespace evener::data
