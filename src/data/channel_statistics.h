// Mean and standard deviation of pixels, by which the input of networks is normalised.
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
/// A constant channel gets a deviation of 1, since values are divided by it. Throws Error for no samples.
ChannelStatistics channel_statistics(const Dataset& dataset, std::span<const std::uint32_t> samples, int threads,
                                     const Progress& progress = {});

}  // namespace evener::data
