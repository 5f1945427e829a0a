#include "engine/pixel_scale.h"

#include <cstddef>

namespace evener::engine {

PixelScale make_pixel_scale(const std::vector<float>& mean, const std::vector<float>& standard_deviation,
                            std::int64_t channels) {
  PixelScale map;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const float middle = c < mean.size() ? mean[c] : 0.0f;
    const float deviation = c < standard_deviation.size() ? standard_deviation[c] : 1.0f;
    map.scale.push_back(1.0f / (255.0f * deviation));
    map.shift.push_back(-middle / deviation);
  }
  return map;
}

}  // namespace evener::engine
