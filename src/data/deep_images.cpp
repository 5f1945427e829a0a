#include "data/deep_images.h"

#include <fmt/format.h>

#include <bit>

#include "base/plural.h"

namespace evener::data {

void DeepImages::add(const Picture& picture) {
  if (!picture.largest_of_16_bits) return;
  const std::uint16_t value = *picture.largest_of_16_bits;
  ++images_;
  if (value < 256) ++black_;
  std::uint16_t known = largest_;
  while (known < value && !largest_.compare_exchange_weak(known, value)) {
  }
}

std::vector<std::string> DeepImages::notes() const {
  constexpr std::uint16_t kEnough = 1 << 14;  // a quarter of what there is, as in dark pictures
  const std::size_t images = images_, black = black_;
  const std::uint16_t largest = largest_;
  if (images == 0 || (black == 0 && largest >= kEnough)) return {};
  const std::string what = fmt::format("{} of 16 bits per channel", counted(images, "image"));
  const std::string advice =
      largest >= kEnough || largest == 0
          ? std::string("scale their values before")
          : fmt::format("multiply all values by {} before, as with ImageMagick's -evaluate multiply {}",
                        65536 / static_cast<int>(std::bit_ceil(largest + 1U)),
                        65536 / static_cast<int>(std::bit_ceil(largest + 1U)));
  if (black > 0) {
    return {
        fmt::format("{} of {} {} no value above 255, so that nothing is left of {} in the upper 8 bits, which are "
                    "kept: to a network {} black (largest value of all: {}); {}",
                    black, what, black == 1 ? "has" : "have", black == 1 ? "it" : "them",
                    black == 1 ? "it is" : "they are", largest, advice)};
  }
  return {fmt::format("{} {} no value above {}: of the 256 values of the upper 8 bits, which are kept, {} are used; {}",
                      what, images == 1 ? "has" : "have", largest, largest / 256 + 1, advice)};
}

}  // namespace evener::data
