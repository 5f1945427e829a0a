// Images that are in two parts of the data at once: what is judged by them was trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

/// A judged image and the training image that it is a copy of.
struct CopiedImage {
  std::uint32_t judged = 0, trained = 0;  // samples of the dataset
  bool is_exact = false;                  // in every pixel; otherwise they look the same
};

/// Each of `judged` that `trained` has a copy of, in their order. Exact copies have the same pixels. Near ones, which
/// are looked for among images of 64 pixels a side or more, look the same when they are small and grey: equal
/// gradients (the "dHash" of 64 bits, but for 4), and a mean difference below 3 of 255 at 16x16 pixels. Reads every
/// image once, on `threads` threads. Throws Interrupted after a stop request.
std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads);

}  // namespace evener::data
