#include "data/sources/portrait_face.h"

namespace evener::data {

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

}  // namespace evener::data
