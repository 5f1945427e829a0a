// What the Winograd benchmark compares with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace evener {

/// A 3x3 convolution with stride 1 and padding 1.
struct ConvolutionSize {
  std::int64_t channels, height, width, images;
};

struct Peer {
  std::string name;
  /// Prepares a product; what it returns computes it once, on one thread.
  std::function<std::function<void()>(const ConvolutionSize&)> make;
};

/// Of libdnnl, or none where the benchmark was built without it.
std::vector<Peer> peers();

}  // namespace evener
