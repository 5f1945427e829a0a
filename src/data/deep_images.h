// Images of 16 bits per channel, of which the upper 8 are kept: whether anything is left in those.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/codecs/picture.h"

namespace evener::data {

/// Counts images of 16 bits and their values. May be added to by many threads.
class DeepImages {
 public:
  void add(const Picture& picture);

  /// Empty, or what a user should know: images that are black in the upper 8 bits, or that use few of their values.
  std::vector<std::string> notes() const;

 private:
  std::atomic<std::size_t> images_{0}, black_{0};
  std::atomic<std::uint16_t> largest_{0};
};

}  // namespace evener::data
