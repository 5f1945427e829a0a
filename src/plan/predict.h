// Predicts the duration of a training step from measurements of its parts. Pure arithmetic.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace evener::plan {

/// A measurement: `images` took `seconds`.
struct Timing {
  double images = 0, seconds = 0;
};

/// The duration of a step on n images: fixed_s + per_image_s * n.
struct StepModel {
  double fixed_s = 0, per_image_s = 0;

  double seconds(double images) const { return fixed_s + per_image_s * images; }
};

/// Fits a line to the two largest sizes only (`timings` ascend), because smaller batches may be slowed by costs that
/// large ones don't have. With a single timing, or if the larger size took no longer, assumes time in proportion to
/// images.
StepModel fit_step(std::span<const Timing> timings);

/// Seconds of an epoch of `images` images in batches of `batch`, of which the last may be smaller.
double epoch_seconds(const StepModel& step, double images, double batch);

/// The duration of an all-reduce: latency + bytes / bandwidth.
struct ExchangeModel {
  double latency_s = 0, s_per_byte = 0;

  double seconds(double bytes) const { return latency_s + s_per_byte * bytes; }
};
/// Fits the model to the times of a small and a large all-reduce.
ExchangeModel fit_exchange(double small_bytes, double small_s, double large_bytes, double large_s);

/// The model of a group of replicas that share each batch.
struct Group {
  std::vector<StepModel> replicas;        // of each replica alone
  std::vector<double> weights;            // fixed shares of the batch; empty: shares by speed
  std::function<double(int)> exchange_s;  // all-reduces of a step, by the number of replicas (2 or more)
  double images_per_s_limit = 0;          // of each replica's loader; 0 = none
};

struct GroupStep {
  double seconds = 0;
  std::vector<double> images;  // of each replica; 0 = left out
};

/// A step in which all replicas take part. Shares by speed let all replicas finish together; a replica whose fixed cost
/// alone is longer than that gets no images.
GroupStep step_together(const Group& group, double batch);

/// A step as a run will finally do it: with shares by speed, the slowest replica leaves the group as long as the others
/// are faster without it (parallel/data_parallel.h). Rank 0 always stays.
GroupStep step_of_run(const Group& group, double batch);

/// The upper bound of the replicas' joint speed, as a multiple of the fastest replica's: the sum of speeds over the
/// highest.
double ceiling(std::span<const double> images_per_s);

}  // namespace evener::plan
