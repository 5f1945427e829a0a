#include "data/sources/fish.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data/sources/polygon.h"

namespace evener::data {

namespace {

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
