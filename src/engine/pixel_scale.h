// Normalisation of pixels for a network's input: for each channel, value * scale + shift.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::engine {

struct PixelScale {
  std::vector<float> scale, shift;  // of each channel
};

/// The scale and shift that map bytes to (value / 255 - mean) / standard deviation. Channels beyond those given have
/// the mean 0 and the deviation 1.
PixelScale make_pixel_scale(const std::vector<float>& mean, const std::vector<float>& standard_deviation,
                            std::int64_t channels);

}  // namespace evener::engine
