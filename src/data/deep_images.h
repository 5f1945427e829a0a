// Checks images of 16 bits per channel, of which only the upper 8 bits are kept: whether these bits hold enough of the
// image.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/codecs/picture.h"

namespace evener::data {

/// Counts images of 16 bits and their values. add() is thread-safe.
class DeepImages {
 public:
  void add(const Picture& picture);

  /// Warnings for the user: images that are black in the upper 8 bits, or that use few of their values. Empty where
  /// there are none.
  std::vector<std::string> notes() const;

 private:
  std::atomic<std::size_t> images_{0}, black_{0};
  std::atomic<std::uint16_t> largest_{0};
};

}  // namespace evener::data
