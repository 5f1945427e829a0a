#include "data/sources/portraits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data/codecs/colour.h"

namespace evener::data {

namespace {

// Colours and shapes without hard edges.

/// Red, green and blue, each from 0 to 255.
using Rgb = std::array<double, 3>;

Rgb mixed_rgb(const Rgb& a, const Rgb& b, double share) {
  return {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])};
}

Rgb scaled_rgb(const Rgb& colour, double factor) {
  return {colour[0] * factor, colour[1] * factor, colour[2] * factor};
}

/// The colour at a place from 0 to 1 along a row of two or more.
Rgb rgb_along(std::span<const Rgb> row, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(row.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), row.size() - 2);
  return mixed_rgb(row[i], row[i + 1], at - static_cast<double>(i));
}

/// From 0 at `low` smoothly to 1 at `high`.
double smooth_rise(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

/// The share of a place that lies within an edge, `inside` before it or -inside beyond it; the edge is `soft` wide.
double soft_edge(double inside, double soft) {
  return std::clamp(inside / soft + 0.5, 0.0, 1.0);
}

/// 1 on a line, `off` away from it less, 0 where that is `width` and more.
double soft_line(double off, double width) {
  return std::max(0.0, 1 - std::abs(off) / width);
}

/// The share of a place that an ellipse around (0, 0) covers.
double soft_disc(double x, double y, double radius_x, double radius_y, double soft) {
  const double u = x / radius_x, v = y / radius_y;
  return soft_edge((1 - std::sqrt(u * u + v * v)) * std::min(radius_x, radius_y), soft);
}

/// A smooth hill on an ellipse, or a hollow.
struct Bump {
  double x, y, radius_x, radius_y, height;

  /// 1 in the middle, 0 outside.
  double within(double at_x, double at_y) const {
    const double u = (at_x - x) / radius_x, v = (at_y - y) / radius_y;
    return std::max(0.0, 1 - u * u - v * v);
  }
};

double height_of(std::span<const Bump> bumps, double x, double y) {
  double sum = 0;
  for (const Bump& bump : bumps) {
    const double within = bump.within(x, y);
    sum += bump.height * within * within * within;
  }
  return sum;
}

/// The derivatives of height_of along x and y.
std::array<double, 2> slope_of(std::span<const Bump> bumps, double x, double y) {
  std::array<double, 2> slope{};
  for (const Bump& bump : bumps) {
    const double within = bump.within(x, y), factor = -6 * bump.height * within * within;
    slope[0] += factor * (x - bump.x) / (bump.radius_x * bump.radius_x);
    slope[1] += factor * (y - bump.y) / (bump.radius_y * bump.radius_y);
  }
  return slope;
}

// Who sits for a portrait, and how: the numbers that portraits are drawn by. Lengths are in halves of a head's height:
// between the eyes is (0, 0), y points downwards, the chin is at y = 1.

constexpr std::array<Rgb, 5> kSkins = {
    {{246, 212, 188}, {236, 192, 160}, {212, 162, 124}, {176, 122, 88}, {132, 88, 64}}};
constexpr std::array<Rgb, 7> kHairColours = {
    {{30, 26, 25}, {52, 36, 27}, {96, 62, 38}, {138, 66, 34}, {178, 132, 78}, {206, 172, 116}, {168, 166, 164}}};
constexpr std::array<Rgb, 4> kIrises = {{{58, 36, 24}, {96, 66, 38}, {92, 110, 72}, {86, 118, 146}}};
constexpr std::array<Rgb, 3> kFrames = {{{26, 24, 26}, {92, 52, 34}, {120, 28, 40}}};

constexpr std::int32_t kSitters = 12;
constexpr double kSitterHairline = -0.65, kSitterChin = 1;  // between them is the face

enum class HairCut { kShaved, kShort, kParted, kFringe, kLong, kCurly };

/// What makes a person, the same on all portraits.
struct Sitter {
  double width = 0, jaw = 0;  // half the head's width; how far it narrows towards the chin
  Rgb skin{}, hair{}, iris{}, lips{}, frame{};
  HairCut cut{};
  double hairline = 0, parting = 0;
  double eye_distance = 0, eye_width = 0, eye_height = 0, eye_slant = 0;  // from the middle of the face
  double brow_height = 0, brow_thickness = 0, brow_arch = 0;
  double nose_length = 0, nose_width = 0;
  double mouth = 0, mouth_width = 0, lip_height = 0;
  double beard = 0;  // 0 none, up to 1 full
  bool has_glasses = false, has_round_glasses = false;

  /// The same number and seed give the same person.
  Sitter(std::int32_t number, std::uint64_t seed);
};

/// What varies from portrait to portrait.
struct Sitting {
  Rgb wall{}, far_wall{}, shirt{};
  std::array<double, 2> wall_side{};
  double scale = 0, x = 0, y = 0;          // of the head on the picture, whose shorter side is 1
  double rotation = 0, turn = 0, nod = 0;  // of the head, as sines of the angles
  double smile = 0, gaze_x = 0, gaze_y = 0;
  std::array<double, 3> light{};  // where it comes from; z points to who looks at the picture
  Rgb lamp{};
  double ambient = 0, neckline = 0, stripes = 0, noise = 0;

  /// `width` and `height` are those of the picture in its shorter side.
  Sitting(Random& random, double width, double height);

  /// A colour in this light, on a surface that comes nearer by the slopes from left to right and downwards; `shine` is
  /// how bright it mirrors the lamp.
  Rgb lit(const Rgb& colour, double slope_x, double slope_y, double shine) const;
};

Sitter::Sitter(std::int32_t number, std::uint64_t seed) {
  // The persons share out the range of each trait in an order of its own, so that no two have much in common.
  const auto person = static_cast<std::size_t>(number);
  auto trait = [seed, person, key = std::uint64_t{0}](double low, double high) mutable {
    Random random(seed, Purpose::kSynthetic, hash_text("sitters"), key++);
    const double within = random.uniform();
    return low + (high - low) * (permutation(kSitters, random).at(person) + within) / kSitters;
  };
  width = trait(0.62, 0.78), jaw = trait(0.04, 0.36);
  const double tone = trait(0, 1), darkest = tone < 0.6 ? 1 : 0.3;  // dark skin comes with dark hair and eyes
  skin = rgb_along(kSkins, tone), hair = rgb_along(kHairColours, darkest * trait(0, 1));
  iris = rgb_along(kIrises, darkest * trait(0, 1)), frame = rgb_along(kFrames, trait(0, 1));
  lips = mixed_rgb(scaled_rgb(skin, 0.8), {176, 50, 62}, trait(0.1, 0.9));
  cut = static_cast<HairCut>(static_cast<int>(trait(0, 6)));
  hairline = trait(0.48, 0.7), parting = trait(-0.5, 0.5);
  eye_distance = trait(0.235, 0.345), eye_width = trait(0.11, 0.165), eye_height = trait(0.036, 0.08);
  eye_slant = trait(-0.2, 0.24);
  brow_height = trait(0.13, 0.23), brow_thickness = trait(0.014, 0.06), brow_arch = trait(0, 0.08);
  nose_length = trait(0.34, 0.48), nose_width = trait(0.08, 0.19);
  mouth = nose_length + trait(0.17, 0.24), mouth_width = trait(0.16, 0.33), lip_height = trait(0.025, 0.08);
  const double fullness = trait(-1.5, 1);  // two of five have a beard
  beard = fullness > 0 ? 0.4 + 0.6 * fullness : 0;
  has_glasses = trait(0, 1) < 0.3, has_round_glasses = trait(0, 1) < 0.5;
}

Sitting::Sitting(Random& random, double width, double height) {
  const double grey = random.uniform(50, 200);
  for (std::size_t c = 0; c < 3; ++c) {
    wall[c] = grey + random.uniform(-35, 35), far_wall[c] = grey * 0.8 + random.uniform(-35, 35);
    shirt[c] = random.uniform(25, 225);
  }
  const double angle = random.uniform(0, 2 * std::numbers::pi);
  wall_side = {std::cos(angle), std::sin(angle)};
  scale = random.uniform(0.45, 0.70) / (kSitterChin - kSitterHairline);
  // All of the head is on the picture, and a part of the shoulders.
  const auto place = [&random](double low, double high) { return random.uniform(std::min(low, high), high); };
  x = place(0.95 * scale, width - 0.95 * scale), y = place(1.08 * scale, height - 1.3 * scale);
  rotation = random.uniform(-0.208, 0.208), turn = random.uniform(-0.3, 0.3), nod = random.uniform(-0.1, 0.1);
  smile = random.uniform(-0.2, 1), gaze_x = random.uniform(-1, 1), gaze_y = random.uniform(-0.5, 0.5);
  light = {random.uniform(-0.7, 0.7), random.uniform(-0.7, -0.25), 1};
  const double length = std::sqrt(light[0] * light[0] + light[1] * light[1] + 1);
  for (double& part : light) part /= length;
  const double brightness = random.uniform(0.85, 1.12), warmth = random.uniform(-0.05, 0.05);
  lamp = {brightness * (1 + warmth), brightness, brightness * (1 - warmth)};
  ambient = random.uniform(0.3, 0.5), neckline = random.uniform(), stripes = random.uniform();
  noise = random.uniform(1, 7);
}

Rgb Sitting::lit(const Rgb& colour, double slope_x, double slope_y, double shine) const {
  const double length = 1 / std::sqrt(slope_x * slope_x + slope_y * slope_y + 1);
  const double facing = (light[2] - slope_x * light[0] - slope_y * light[1]) * length;
  const double bright = ambient + (1.08 - ambient) * std::max(0.0, facing);
  // What faces the middle between the lamp and who looks mirrors the lamp.
  const double middle = std::max(0.0, facing + length);
  double mirrored = middle * middle / (2 * (1 + light[2]));
  for (int i = 0; i < 4; ++i) mirrored *= mirrored;
  const double shadow = 1 - std::min(bright, 1.0);
  const Rgb warmed = {1 + 0.22 * shadow, 1, 1 - 0.08 * shadow};  // light that comes through skin is red
  Rgb result{};
  for (std::size_t c = 0; c < 3; ++c) result[c] = (colour[c] * bright * warmed[c] + shine * mirrored) * lamp[c];
  return result;
}

/// The face, from the hairline to the chin.
class PortraitFace {
 public:
  /// `soft` is the width of edges: about a pixel.
  PortraitFace(const Sitter& who, const Sitting& when, double soft);

  /// The lit colour at a place, as seen from the face's front. `slope` is that of the head without the face.
  Rgb colour_at(double x, double y, const std::array<double, 2>& slope) const;

 private:
  void add_relief();
  void add_shadows();
  void paint_brow(double x, double y, Rgb& colour) const;
  void paint_beard(double x, double y, Rgb& colour) const;
  void paint_lips(double x, double y, Rgb& colour) const;
  void paint_eye(double x, double y, double side, Rgb& colour) const;
  Rgb eyeball_at(double x, double y, double below_lid, double side) const;
  void paint_glasses(double x, double y, Rgb& colour) const;

  const Sitter& who_;
  const Sitting& when_;
  double soft_;
  double smile_, lean_;  // how far the tip of the nose is moved by the head's turn
  std::vector<Bump> relief_, shadows_, blushes_;
};

PortraitFace::PortraitFace(const Sitter& who, const Sitting& when, double soft)
    : who_(who), when_(when), soft_(soft), smile_(std::max(0.0, when.smile)), lean_(0.35 * when.turn) {
  add_relief();
  add_shadows();
  blushes_ = {
      {-0.36, 0.3, 0.24, 0.22, 0.3}, {0.36, 0.3, 0.24, 0.22, 0.3}, {lean_, who_.nose_length - 0.05, 0.12, 0.12, 0.2}};
}

void PortraitFace::add_relief() {
  const double eyes = who_.eye_distance, tip = who_.nose_length, wide = who_.nose_width, mouth = who_.mouth;
  relief_ = {{0.5 * lean_, 0.55 * tip, 0.1 + 0.4 * wide, 0.75 * tip, 0.08},  // the nose and its tip
             {lean_, tip - 0.06, 0.02 + wide, 0.16, 0.10},
             {0, mouth + 0.01, 0.3, 0.2, 0.05},
             {0, mouth + 0.13, 0.16, 0.06, -0.03},
             {0, 0.88, 0.24, 0.16, 0.06},
             {0, -0.42, 0.6, 0.35, 0.05}};
  for (const double side : {-1.0, 1.0}) {
    const std::array<Bump, 5> pair = {{{side * eyes, -0.01, 0.2, 0.13, -0.08},  // the socket and the ball in it
                                       {side * eyes, 0, 0.13, 0.075, 0.05},
                                       {side * eyes, -0.17, 0.24, 0.1, 0.04},
                                       {side * 0.4, 0.33, 0.26, 0.26, 0.05 + 0.03 * smile_},
                                       {side * 0.8 * wide + lean_, tip - 0.02, 0.07, 0.08, 0.04}}};
    relief_.insert(relief_.end(), pair.begin(), pair.end());
  }
}

/// What the slopes don't tell: places that less light reaches.
void PortraitFace::add_shadows() {
  const double eyes = who_.eye_distance, tip = who_.nose_length, wide = who_.nose_width;
  const double from_side = -when_.light[0];
  shadows_ = {{0.6 * lean_ + 0.12 * from_side, tip + 0.06, 1.3 * wide, 0.11, 0.38},  // below the nose and beside it
              {0.5 * lean_ + 0.3 * from_side, 0.7 * tip, 1.1 * wide, 0.6 * tip, 0.14},
              {0, who_.mouth + 0.12, 0.17, 0.06, 0.22},
              {0, 1.02, 0.4, 0.13, 0.2}};
  for (const double side : {-1.0, 1.0}) {
    const std::array<Bump, 6> pair = {{{side * (eyes - 0.1), -0.03, 0.15, 0.14, 0.28},
                                       {side * eyes, -0.09, 0.21, 0.1, 0.26},
                                       {side * eyes, 0.11, 0.17, 0.05, 0.12},
                                       {side * (0.24 + 0.03 * smile_), 0.53, 0.05, 0.16, 0.08 + 0.14 * smile_},
                                       {side * 0.5 * wide + lean_, tip + 0.02, 0.045, 0.035, 0.7},  // nostrils
                                       {side * (who_.mouth_width + 0.03), who_.mouth, 0.06, 0.07, 0.2}}};
    shadows_.insert(shadows_.end(), pair.begin(), pair.end());
  }
}

/// x is counted outwards from the middle of the eye, here and for the eye.
void PortraitFace::paint_brow(double x, double y, Rgb& colour) const {
  const double t = x / 0.19;
  if (std::abs(t) > 1.1) return;
  const double height = -who_.brow_height - who_.brow_arch * (1 - (t - 0.3) * (t - 0.3));
  const double thick = who_.brow_thickness * (t < 0 ? 1 : 1 - 0.6 * t), soft = 0.012 + soft_ / 2;
  const double ends = smooth_rise(-1.1, -0.8, t) * (1 - smooth_rise(0.7, 1.1, t));
  const double covered = ends * (1 - smooth_rise(thick - soft, thick + soft, std::abs(y - height)));
  colour = mixed_rgb(colour, scaled_rgb(mixed_rgb(who_.hair, who_.skin, 0.1), 0.6), 0.85 * covered);
}

void PortraitFace::paint_beard(double x, double y, Rgb& colour) const {
  if (who_.beard <= 0 || y < 0) return;
  const double across = std::abs(x);
  const double cheek = smooth_rise(-0.08, 0.1, y - 0.75 + 0.55 * smooth_rise(0.25, 0.6, across));
  const double moustache = smooth_rise(0.04, 0.09, y - who_.nose_length) * (1 - smooth_rise(0.2, 0.34, across));
  const double lips = soft_disc(x, y - who_.mouth - 0.01, 1.05 * who_.mouth_width, 0.085, 0.04);
  const double grain = 0.85 + 0.15 * std::sin(71 * x + 5 * std::sin(17 * y)) * std::sin(53 * y);
  const double covered = 0.85 * who_.beard * grain * std::max(cheek, moustache) * (1 - lips);
  colour = mixed_rgb(colour, scaled_rgb(who_.hair, 0.8), covered);
}

void PortraitFace::paint_lips(double x, double y, Rgb& colour) const {
  const double t = x / (who_.mouth_width * (1 + 0.18 * when_.smile)), arch = std::max(0.0, 1 - t * t);
  const double line = y - who_.mouth + 0.055 * when_.smile * t * t - 0.012;
  if (std::abs(t) > 1.1 || std::abs(line) > 0.25) return;
  const double bow = 1 - 0.3 * soft_line(t, 0.25), open = 0.08 * std::max(0.0, smile_ - 0.45) * arch;
  const double top = -open - who_.lip_height * bow * arch;
  const double bottom = open + 1.35 * who_.lip_height * arch * (0.6 + 0.4 * arch), soft = 0.02 + soft_ / 2;
  const double covered =
      smooth_rise(top - soft, top + soft, line) * (1 - smooth_rise(bottom - soft, bottom + soft, line));
  const double shade = line < 0 ? 0.78 : 1.08 - 0.3 * smooth_rise(0.5 * bottom, bottom, line);
  const Rgb lips = scaled_rgb(mixed_rgb(colour, who_.lips, 0.8), shade);
  colour = mixed_rgb(colour, lips, covered * smooth_rise(0, 0.12, arch));
  const Rgb teeth = mixed_rgb({232, 226, 216}, {70, 24, 24}, smooth_rise(0.2, 1, line / std::max(0.01, open)));
  colour = mixed_rgb(colour, teeth, smooth_rise(0.004, 0.012, open) * soft_edge(open - std::abs(line), soft_));
  const double seam = soft_line(std::abs(line) - open, 0.014 + soft_ / 2) * smooth_rise(-0.1, 0.15, 1 - t * t);
  colour = mixed_rgb(colour, {62, 22, 22}, 0.75 * seam);
}

Rgb PortraitFace::eyeball_at(double x, double y, double below_lid, double side) const {
  const double soft = std::max(soft_, 0.014), t = x / who_.eye_width;
  const double dx = x - side * (0.035 * when_.gaze_x + 0.03 * when_.turn), dy = y + 0.008 - 0.015 * when_.gaze_y;
  const double lid = 0.62 + 0.38 * smooth_rise(0, 0.05, below_lid);
  Rgb ball = scaled_rgb({226, 218, 212}, (0.9 - 0.25 * t * t) * lid);
  const Rgb iris = scaled_rgb(who_.iris, 0.7 + 0.5 * smooth_rise(-0.05, 0.05, dy));
  ball = mixed_rgb(ball, iris, soft_disc(dx, dy, 0.066, 0.066, soft));
  ball = mixed_rgb(ball, {12, 10, 12}, soft_disc(dx, dy, 0.03, 0.03, soft));
  return mixed_rgb(ball, {250, 250, 250}, soft_disc(dx - 0.02 * side * when_.light[0], dy + 0.022, 0.014, 0.014, soft));
}

void PortraitFace::paint_eye(double x, double y, double side, Rgb& colour) const {
  const double t = x / who_.eye_width, arch = 1 - t * t, soft = std::max(soft_, 0.014);
  if (arch < -0.3 || std::abs(y) > 0.25) return;
  y += who_.eye_slant * x;
  const double squint = 1 - 0.2 * smile_, upper = -who_.eye_height * squint * arch, lower = -0.75 * upper;
  const double crease = soft_line(y - 1.5 * upper + 0.03, 0.016 + soft / 2) * smooth_rise(-0.1, 0.3, arch);
  colour = mixed_rgb(colour, scaled_rgb(who_.skin, 0.42), 0.5 * crease);
  const double open = soft_edge(y - upper, soft) * soft_edge(lower - y, soft);
  if (open > 0) colour = mixed_rgb(colour, scaled_rgb(eyeball_at(x, y, y - upper, side), when_.lamp[1]), open);
  const double upper_lashes = soft_line(y - upper, 0.018 + soft / 2) * smooth_rise(-0.15, 0.1, arch);
  const double lower_lashes = soft_line(y - lower, 0.012 + soft / 2) * smooth_rise(-0.05, 0.2, arch);
  colour = mixed_rgb(colour, {30, 20, 18}, std::max(0.9 * upper_lashes, 0.35 * lower_lashes));
}

void PortraitFace::paint_glasses(double x, double y, Rgb& colour) const {
  if (!who_.has_glasses || std::abs(y) > 0.3) return;
  const double from_eye = std::abs(x) - who_.eye_distance - 0.01, u = from_eye / 0.2;
  const double v = (y - 0.02) / (who_.has_round_glasses ? 0.18 : 0.15), square = u * u + v * v;
  const double radius = std::sqrt(who_.has_round_glasses ? square : std::sqrt(u * u * u * u + v * v * v * v));
  const double rim = 1 - smooth_rise(0.012, 0.026 + soft_, 0.17 * std::abs(radius - 1));
  const double bar = std::abs(from_eye) > 0.18 ? 1 - smooth_rise(0.01, 0.022 + soft_, std::abs(y + 0.03)) : 0;
  const double glint = smooth_rise(0.3, 0.5, x - y) * (1 - smooth_rise(0.5, 0.6, x - y));
  if (radius < 1) colour = mixed_rgb(colour, {235, 240, 245}, 0.06 + 0.1 * glint);
  colour = mixed_rgb(colour, who_.frame, 0.92 * std::max(rim, bar));
}

Rgb PortraitFace::colour_at(double x, double y, const std::array<double, 2>& slope) const {
  const double side = x < 0 ? -1 : 1, from_eye = side * x - who_.eye_distance;
  const Rgb red = scaled_rgb({214, 104, 92}, 0.35 + who_.skin[1] / 325);
  Rgb skin = mixed_rgb(who_.skin, red, height_of(blushes_, x, y));
  skin = scaled_rgb(skin, 1 - std::min(0.85, height_of(shadows_, x, y)));
  paint_lips(x, y, skin);
  paint_beard(x, y, skin);
  paint_brow(from_eye, y, skin);
  const std::array<double, 2> relief = slope_of(relief_, x, y);
  Rgb colour = when_.lit(skin, slope[0] + relief[0], slope[1] + relief[1], 40);
  paint_eye(from_eye, y, side, colour);
  paint_glasses(x, y, colour);
  return colour;
}

constexpr double kDepth = 0.75;  // from the plane of a head's outline to its front
constexpr double kSkull = 0.94;  // the height of a head above the eyes

/// How each cut falls: how far it stands off the head, and where it ends below.
struct Fall {
  double volume, end;
};
constexpr std::array<Fall, 6> kFalls = {
    {{0.005, 0.1}, {0.07, 0.1}, {0.1, 0.15}, {0.11, 0.5}, {0.12, 1.45}, {0.2, 0.45}}};

/// A person as he or she sits: the colour at each place.
class Portrait {
 public:
  /// `soft` is the width of edges: about a pixel.
  Portrait(const Sitter& who, const Sitting& when, double soft)
      : who_(who),
        when_(when),
        soft_(soft),
        fall_(kFalls.at(static_cast<std::size_t>(who.cut))),
        face_(who, when, soft) {}

  /// (x, y) is relative to the head before it is rotated.
  Rgb colour_at(double x, double y) const;

 private:
  struct Place {
    double x = 0, y = 0;            // relative to the rotated head
    double face_x = 0, face_y = 0;  // on the face, as seen from its front
    double inside = 0;              // 1 in the middle of the head, 0 at its outline, negative outside
    std::array<double, 2> slope{};  // of the head
  };

  Place place_at(double x, double y) const;
  Rgb wall_at(double x, double y) const;
  double hair_outline(const Place& place) const;
  double front_hair(const Place& place) const;
  Rgb hair_at(const Place& place) const;
  void paint_neck(double x, double y, Rgb& colour) const;
  void paint_shirt(double x, double y, Rgb& colour) const;
  void paint_ears(const Place& place, Rgb& colour) const;

  const Sitter& who_;
  const Sitting& when_;
  double soft_;
  Fall fall_;
  PortraitFace face_;
};

Portrait::Place Portrait::place_at(double x, double y) const {
  // Heads rotate about the neck.
  const double sine = when_.rotation, cosine = std::sqrt(1 - sine * sine), up = y - kSitterChin;
  Place place{.x = cosine * x + sine * up, .y = kSitterChin + cosine * up - sine * x};
  // The outline is an ellipse above the eyes; below it is fuller and narrows towards the chin.
  const bool is_below = place.y > 0;
  const double v = is_below ? place.y : place.y / kSkull, vv = v * v;
  const double narrowed = std::max(0.3, who_.width * (is_below ? 1 - who_.jaw * vv : 1)), u = place.x / narrowed;
  place.inside = 1 - u * u - (is_below ? 0.65 * vv + 0.35 * vv * vv : vv);
  const double height = kDepth * std::sqrt(std::max(0.0, place.inside));
  const double steep = kDepth * kDepth / std::max(0.12, height);
  place.slope = {-steep * u / narrowed, -steep * v * (is_below ? 0.65 + 0.7 * vv : 1 / kSkull)};
  place.face_x = place.x * std::sqrt(1 - when_.turn * when_.turn) - height * when_.turn;
  place.face_y = place.y - (height - 0.2) * when_.nod;
  return place;
}

Rgb Portrait::wall_at(double x, double y) const {
  const double share = 0.5 + 0.3 * (x * when_.wall_side[0] + y * when_.wall_side[1]);
  return mixed_rgb(when_.wall, when_.far_wall, std::clamp(share, 0.0, 1.0));
}

/// The share of a place that hair covers, in front or behind, where the hairline does not keep it away.
double Portrait::hair_outline(const Place& place) const {
  double volume = fall_.volume;
  if (who_.cut == HairCut::kCurly) volume += 0.025 * std::sin(23 * place.x + 3) * std::sin(19 * place.y);
  const double wide = who_.width + volume;
  const double edge = place.y < 0 ? soft_disc(place.x, place.y, wide, kSkull + volume, soft_)
                                  : soft_edge(wide * (1 - 0.05 * place.y) - std::abs(place.x), soft_);
  return edge * (1 - smooth_rise(fall_.end - 0.06, fall_.end + 0.06, place.y));
}

/// The share of a place that is above the hairline or beside it.
double Portrait::front_hair(const Place& place) const {
  const double beside = place.face_x / who_.width, steep = beside * beside * beside * beside;
  double line = -who_.hairline + 1.3 * steep;
  if (who_.cut == HairCut::kFringe) line = -0.3 + 0.9 * steep * steep + 0.015 * std::sin(31 * place.face_x);
  if (who_.cut == HairCut::kParted) line += 0.22 * (place.face_x - who_.parting) * (who_.parting > 0 ? -1 : 1);
  if (who_.cut == HairCut::kLong) line += 1.1 * steep - 0.1;
  if (who_.cut == HairCut::kCurly) line += 0.03 * std::sin(27 * place.face_x);
  const double covered = 1 - smooth_rise(line - 0.03 - soft_, line + 0.03 + soft_, place.face_y);
  return who_.cut == HairCut::kShaved ? 0.55 * covered : covered;
}

Rgb Portrait::hair_at(const Place& place) const {
  const double x = place.x, y = place.y;
  const double strand = who_.cut == HairCut::kCurly ? std::sin(34 * x + 4 * std::sin(9 * y)) * std::sin(31 * y + 2)
                                                    : 0.6 * std::sin(61 * x + 9 * y + 3 * std::sin(5 * x + 4 * y)) +
                                                          0.4 * std::sin(97 * x - 6 * y);
  const double u = x / (who_.width + 0.1), v = std::min(y, 0.0) / 1.1;
  const double steep = 0.9 / std::sqrt(std::max(0.08, 1 - u * u - v * v));
  // Strands finer than a pixel are not seen.
  const double contrast = 0.1 * std::min(1.0, 0.03 / soft_);
  return when_.lit(scaled_rgb(who_.hair, 1 + contrast * strand), -steep * u, -steep * v, 46);
}

void Portrait::paint_neck(double x, double y, Rgb& colour) const {
  if (y < 0.3) return;
  const double wide = 0.57 * who_.width, flare = 0.5 * smooth_rise(1.15, 1.6, y) * (y - 1.15);
  const double shade = 0.45 + 0.5 * smooth_rise(1.0, 1.45, y - 0.15 * x * when_.light[0]);  // below the chin
  const Rgb skin = when_.lit(scaled_rgb(who_.skin, shade), -1.2 * x / wide, 0.1, 10);
  colour = mixed_rgb(colour, skin, soft_edge(wide + flare - std::abs(x), soft_));
}

void Portrait::paint_shirt(double x, double y, Rgb& colour) const {
  if (y < 1) return;
  const double across = std::abs(x), beyond = std::max(0.0, across - 1.05);
  const double collar = 1.3 + (when_.neckline < 0.5 ? 0.12 : 0.5) * std::max(0.0, 1 - across / 0.5);
  const double shoulder = 1.2 + 0.2 * across + 1.8 * beyond * beyond;
  const double top = across < 0.5 ? collar : shoulder;
  const double stripe = when_.stripes > 0.7 && std::sin(18 * y) > 0 ? 0.7 : 1;
  const Rgb cloth = scaled_rgb(when_.shirt, stripe * (0.75 + 0.25 * smooth_rise(0, 0.12, y - top)));
  colour = mixed_rgb(colour, when_.lit(cloth, -0.5 * x, 0.35, 8), soft_edge(y - top, soft_));
}

void Portrait::paint_ears(const Place& place, Rgb& colour) const {
  const double side = place.x < 0 ? -1 : 1, y = place.y - 0.14;
  const double x =
      place.x - side * (who_.width - 0.01) + 0.12 * when_.turn;  // a turn hides one ear and shows the other
  const double covered = soft_disc(x, y, 0.1, 0.2, soft_);
  const double hollow = 1 - 0.35 * soft_disc(x - side * 0.01, y, 0.05, 0.12, 0.06);
  if (covered > 0)
    colour = mixed_rgb(colour, when_.lit(scaled_rgb(who_.skin, 0.9 * hollow), -0.8 * side, 0, 0), covered);
}

Rgb Portrait::colour_at(double x, double y) const {
  const Place place = place_at(x, y);
  Rgb colour = wall_at(x, y);
  const double hair = hair_outline(place), head = soft_edge(0.45 * place.inside, soft_);
  const Rgb hair_colour = hair > 0 ? hair_at(place) : Rgb{};
  if (who_.cut != HairCut::kShaved) colour = mixed_rgb(colour, scaled_rgb(hair_colour, 0.7), hair);
  if (head < 1) {
    paint_neck(x, y, colour);
    paint_shirt(x, y, colour);
    paint_ears(place, colour);
  }
  if (head > 0) colour = mixed_rgb(colour, face_.colour_at(place.face_x, place.face_y, place.slope), head);
  return hair > 0 ? mixed_rgb(colour, hair_colour, hair * front_hair(place)) : colour;
}

/// The colour with noise, as it is stored.
std::array<std::uint8_t, 3> stored(const Rgb& colour, double noise, Random& random) {
  std::array<std::uint8_t, 3> rgb{};
  std::uint64_t bits = random.next();
  for (std::size_t c = 0; c < 3; ++c, bits >>= 16) {
    const double offset = (static_cast<double>(bits & 0xFFFF) / 32767.5 - 1) * noise;
    rgb[c] = static_cast<std::uint8_t>(std::clamp(colour[c] + offset, 0.0, 255.0) + 0.5);
  }
  return rgb;
}

}  // namespace

const std::vector<std::string>& portrait_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 1; i <= kSitters; ++i) all.push_back((i < 10 ? "person-0" : "person-") + std::to_string(i));
    return all;
  }();
  return names;
}

void draw_portrait(std::int32_t person, std::uint64_t seed, Random random, const ImageShape& shape,
                   std::span<std::uint8_t> chw) {
  const auto side = static_cast<double>(std::min(shape.width, shape.height));
  const Sitter who(person, seed);
  const Sitting when(random, static_cast<double>(shape.width) / side, static_cast<double>(shape.height) / side);
  const Portrait portrait(who, when, std::max(1.2 / (when.scale * side), 0.01));
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  std::size_t i = 0;
  for (std::int64_t row = 0; row < shape.height; ++row) {
    const double y = ((static_cast<double>(row) + 0.5) / side - when.y) / when.scale;
    for (std::int64_t column = 0; column < shape.width; ++column, ++i) {
      const double x = ((static_cast<double>(column) + 0.5) / side - when.x) / when.scale;
      const auto rgb = stored(portrait.colour_at(x, y), when.noise, random);
      if (shape.channels == 1) {
        chw[i] = luma(rgb[0], rgb[1], rgb[2]);
      } else {
        for (std::size_t c = 0; c < 3; ++c) chw[c * plane + i] = rgb[c];
      }
    }
  }
}

}  // namespace evener::data
