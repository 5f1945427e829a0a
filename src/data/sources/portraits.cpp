#include "data/sources/portraits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/codecs/colour.h"
#include "data/sources/portrait_face.h"
#include "data/sources/portrait_sitter.h"
#include "data/sources/soft_shapes.h"

namespace evener::data {

namespace {

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
