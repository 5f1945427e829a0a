#include "data/channel_statistics.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.h"
#include "base/stop.h"

namespace evener::data {

ChannelStatistics channel_statistics(const Dataset& dataset, std::span<const std::uint32_t> samples, int threads,
                                     const Progress& progress) {
  if (samples.empty()) throw Error("no samples to take the mean of: the part of the data asked for is empty");
  const ImageShape shape = dataset.shape();
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  // Sums of whole numbers, so that the order of addition, and with it the threads, makes no difference.
  std::vector<std::uint64_t> sums(channels), squares(channels);
  std::mutex mutex;
  constexpr std::size_t kChunk = 64;
  const auto add_chunk = [&](std::size_t chunk) {
    std::vector<std::uint8_t> pixels(shape.bytes());
    std::vector<std::uint64_t> chunk_sums(channels), chunk_squares(channels);
    const std::size_t end = std::min(samples.size(), (chunk + 1) * kChunk);
    for (std::size_t i = chunk * kChunk; i < end; ++i) {
      if (stop_requested()) throw Interrupted("stopped while reading data");  // an image may take long
      dataset.read(samples[i], pixels);
      for (std::size_t c = 0; c < channels; ++c) {
        for (const std::uint8_t value : std::span(pixels).subspan(c * plane, plane)) {
          chunk_sums[c] += value;
          chunk_squares[c] += std::uint32_t{value} * value;
        }
      }
    }
    const std::lock_guard lock(mutex);
    for (std::size_t c = 0; c < channels; ++c) {
      sums[c] += chunk_sums[c];
      squares[c] += chunk_squares[c];
    }
  };
  Progress in_images;
  if (progress) {
    in_images = [&](std::size_t chunks, std::size_t) {
      progress(std::min(samples.size(), chunks * kChunk), samples.size());
    };
  }
  for_each_index((samples.size() + kChunk - 1) / kChunk, threads, add_chunk, in_images);

  ChannelStatistics statistics;
  const double count = static_cast<double>(samples.size()) * static_cast<double>(plane);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sums[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - mean * mean;
    statistics.mean.push_back(static_cast<float>(mean / 255));
    // Rounding leaves a constant channel with a variance near, not at, zero.
    statistics.standard_deviation.push_back(variance > 1e-6 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0F);
  }
  return statistics;
}

}  // namespace evener::data
