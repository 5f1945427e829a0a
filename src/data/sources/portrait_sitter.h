// Who sits for a portrait, and how: the numbers that portraits are drawn by. Lengths are in halves of a head's height:
// between the eyes is (0, 0), y points downwards, the chin is at y = 1.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "data/sources/soft_shapes.h"

namespace evener::data {

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

}  // namespace evener::data
