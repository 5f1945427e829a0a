#include "parallel/micro_batches.h"

#include <algorithm>

namespace evener::parallel {

std::vector<std::int64_t> micro_batches(std::int64_t samples, std::int64_t batch, std::int64_t accumulate) {
  const std::int64_t as_large = (samples * accumulate + batch - 1) / batch;
  const std::int64_t least = 2 * accumulate <= batch ? 2 : 1;
  const std::int64_t parts = std::clamp<std::int64_t>(as_large, 1, std::max<std::int64_t>(1, samples / least));
  std::vector<std::int64_t> sizes;
  for (std::int64_t part = 0; part < parts; ++part) {
    sizes.push_back(samples * (part + 1) / parts - samples * part / parts);
  }
  return sizes;
}

}  // namespace evener::parallel
