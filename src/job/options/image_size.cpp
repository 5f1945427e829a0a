// The one reader of image sizes given as text.
#include "job/options/image_size.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"

namespace evener::job {
namespace {

constexpr std::int64_t kMaxPixels = 65536;  // a side

// 0 if `text` isn't a whole number from 1 to kMaxPixels.
std::int64_t side(std::string_view text) {
  const auto value = to_number<std::int64_t>(text).value_or(0);
  return value >= 1 && value <= kMaxPixels ? value : 0;
}

}  // namespace

ImageSize parse_image_size(const std::string& text) {
  const std::size_t cross = text.find_first_of("xX");
  const std::string_view whole(text);
  ImageSize size;
  size.width = side(whole.substr(0, cross));
  size.height = cross == std::string::npos ? size.width : side(whole.substr(cross + 1));
  if (size.width == 0 || size.height == 0) {
    throw UsageError("--size '" + text +
                     "' is not a size: write width x height in pixels (1 to 65536), for example 197x148");
  }
  return size;
}

ImageSize scaled_size(const data::ImageShape& image, std::int64_t side, std::int64_t step) {
  const std::int64_t longer = std::max(image.width, image.height);
  const double scale = std::min(1.0, static_cast<double>(side) / static_cast<double>(longer));
  const auto scaled = [&](std::int64_t pixels) {
    const double exact = scale * static_cast<double>(pixels) / static_cast<double>(step);
    return std::max<std::int64_t>(step, std::llround(exact) * step);
  };
  return {scaled(image.width), scaled(image.height)};
}

}  // namespace evener::job
