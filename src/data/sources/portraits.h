// Shaded drawings of people, head and shoulders: faces to find and persons to tell apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/image_shape.h"

namespace evener::data {

/// The size the portraits are laid out for, in both directions. Other sizes are scaled by the shorter side.
constexpr std::int64_t kPortraitExtent = 160;

/// person-01 ... person-12.
const std::vector<std::string>& portrait_names();

/// Draws a portrait of a person as (C, H, W) of `shape`; one channel gets the luma of the colours. How the person
/// looks depends on (person, seed) alone: head, skin, hair, eyes, brows, nose, mouth, beard and glasses. What varies
/// from portrait to portrait: background, light, clothes, size, place, rotation, turn of the head, gaze, smile, and
/// noise. The same random numbers give the same portrait at every size, but for the noise.
void draw_portrait(std::int32_t person, std::uint64_t seed, Random random, const ImageShape& shape,
                   std::span<std::uint8_t> chw);

}  // namespace evener::data
