// Fish-like silhouettes: parametric outlines, varied per sample.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace evener::data {

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
