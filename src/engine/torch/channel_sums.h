// Sums per channel over the rows of an image batch, of this replica or of all replicas of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {

class DeviceExchange;

/// How batch normalisation sums over all replicas.
struct Replicas {
  std::function<void(std::span<double>)> sum;  // TrainerOptions::sum_over_replicas
  /// This replica has no samples: it computes on a placeholder whose contribution to every sum is zero.
  bool absent = false;
  /// Used instead of `sum` where devices exchange values directly; null: they don't.
  DeviceExchange* on_device = nullptr;
  std::int64_t samples = 0;  // of the whole batch, with on_device; 0 = not known
};

/// Two sums for each channel.
struct ChannelSums {
  ChannelSums() = default;
  explicit ChannelSums(std::int64_t channels)
      : first(static_cast<std::size_t>(channels)), second(static_cast<std::size_t>(channels)) {}
  ChannelSums(std::vector<double> one, std::vector<double> other) : first(std::move(one)), second(std::move(other)) {}
  ChannelSums& operator+=(const ChannelSums& other);

  std::vector<double> first, second;
};

/// Calls body(begin, end, first, second, scratch) on each thread's range of the rows, and sums what the calls add to
/// `first` and `second` (channels each). `scratch`: 2 * channels floats.
template <class Body>
ChannelSums sum_over_rows(std::int64_t rows, std::int64_t channels, const Body& body) {
  const auto count = static_cast<std::size_t>(channels);
  const std::int64_t parts = row_parts(rows, channels);
  std::vector<ChannelSums> partial(static_cast<std::size_t>(parts));
  for_row_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    auto& sums = partial[static_cast<std::size_t>(part)] = ChannelSums(channels);
    std::vector<float> scratch(2 * count);
    body(begin, end, sums.first.data(), sums.second.data(), scratch.data());
  });
  for (std::size_t part = 1; part < partial.size(); ++part) partial[0] += partial[part];
  return std::move(partial.front());
}

/// Mean and biased variance of each channel over `count` rows.
struct Moments {
  std::vector<double> mean, variance;
  double count = 0;
};

/// Throws Error if `count` values per channel are too few for a variance, naming `layer`. `replicas`: those that the
/// values belong to, for the message.
void require_variance(double count, const Replicas* replicas, const std::string& layer);

/// Computes the moments from the sums over `rows` rows of x - pivot and its square. `replicas`: those whose rows belong
/// to the same batch; null = only this one. Throws Error where a channel of `layer` has too few values for a variance.
Moments moments_of(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                   const Replicas* replicas, const std::string& layer);

/// The sums over all replicas.
ChannelSums over_replicas(const ChannelSums& sums, const Replicas& replicas);

}  // namespace evener::engine::torch_engine
