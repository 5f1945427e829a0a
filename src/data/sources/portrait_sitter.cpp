#include "data/sources/portrait_sitter.h"

#include <numbers>

namespace evener::data {

namespace {

constexpr std::array<Rgb, 5> kSkins = {
    {{246, 212, 188}, {236, 192, 160}, {212, 162, 124}, {176, 122, 88}, {132, 88, 64}}};
constexpr std::array<Rgb, 7> kHairColours = {
    {{30, 26, 25}, {52, 36, 27}, {96, 62, 38}, {138, 66, 34}, {178, 132, 78}, {206, 172, 116}, {168, 166, 164}}};
constexpr std::array<Rgb, 4> kIrises = {{{58, 36, 24}, {96, 66, 38}, {92, 110, 72}, {86, 118, 146}}};
constexpr std::array<Rgb, 3> kFrames = {{{26, 24, 26}, {92, 52, 34}, {120, 28, 40}}};

}  // namespace

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

}  // namespace evener::data
