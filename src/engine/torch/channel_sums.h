// Sums per channel over the rows of an image batch, here and over all replicas of a run.
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

/// One replica's way to the others.
struct Replicas {
  std::function<void(std::span<double>)> sum;  // TrainerOptions::sum_over_replicas
  bool absent = false;  // this replica has no samples: it computes on a placeholder, which adds nothing to any sum
  DeviceExchange* on_device = nullptr;  // takes the place of `sum`, where devices exchange their values themselves
  std::int64_t samples = 0;             // then: of the whole batch; 0 = not known
};

/// Two sums for each channel.
struct ChannelSums {
  std::vector<double> first, second;
};

/// Adds up what body(begin, end, first, second, scratch) finds in each thread's share of the rows.
template <class Body>
ChannelSums sum_over_rows(std::int64_t rows, std::int64_t channels, const Body& body) {
  const auto count = static_cast<std::size_t>(channels);
  const std::int64_t parts = row_parts(rows, channels);
  std::vector<ChannelSums> partial(static_cast<std::size_t>(parts));
  for_row_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    auto& sums = partial[static_cast<std::size_t>(part)];
    sums.first.assign(count, 0);
    sums.second.assign(count, 0);
    std::vector<float> scratch(2 * count);
    body(begin, end, sums.first.data(), sums.second.data(), scratch.data());
  });
  for (std::size_t part = 1; part < partial.size(); ++part) {
    for (std::size_t c = 0; c < count; ++c) {
      partial[0].first[c] += partial[part].first[c];
      partial[0].second[c] += partial[part].second[c];
    }
  }
  return std::move(partial.front());
}

/// Mean and biased variance of each channel over `count` rows.
struct Moments {
  std::vector<double> mean, variance;
  double count = 0;
};

/// Throws Error where `count` values per channel of `layer` are too few for a variance; `replicas`: those that have
/// them.
void require_variance(double count, const Replicas* replicas, const std::string& layer);

/// From the sums over `rows` rows of x - pivot and its square. `replicas`: those whose rows belong to the same batch;
/// null = none but this one. Throws Error where a channel of `layer` has too few values for a variance.
Moments moments_of(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                   const Replicas* replicas, const std::string& layer);

/// The sums over all replicas.
ChannelSums over_replicas(const ChannelSums& sums, const Replicas& replicas);

}  // namespace evener::engine::torch_engine
