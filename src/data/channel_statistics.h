// Mean and standard deviation of the pixels, by which networks want their input normalised.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/each_index.h"

namespace evener::data {

/// Per channel, of value / 255.
struct ChannelStatistics {
  std::vector<float> mean, standard_deviation;
};

/// Per-channel mean and standard deviation of value / 255 over `samples`; exact, whatever the number of threads.
/// A channel that never varies has deviation 1, so that it can be divided by. Throws Error for no samples.
ChannelStatistics channel_statistics(const Dataset& dataset, std::span<const std::uint32_t> samples, int threads,
                                     const Progress& progress = {});

}  // namespace evener::data
