// How long a step takes, from what was measured of its parts. Pure arithmetic.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace evener::plan {

/// Seconds that `images` took.
struct Timing {
  double images = 0, seconds = 0;
};

/// Seconds of a step on n images: fixed + per_image * n.
struct StepModel {
  double fixed_s = 0, per_image_s = 0;

  double seconds(double images) const { return fixed_s + per_image_s * images; }
};

/// The line through the timings of the two largest sizes (`timings` ascend): what small batches cost beside the line
/// says nothing about large ones. One timing, or times that fall, count as in proportion to the images.
StepModel fit_step(std::span<const Timing> timings);

/// Seconds of an epoch of `images` in batches, the last of which may be smaller.
double epoch_seconds(const StepModel& step, double images, double batch);

/// Seconds of an all-reduce: latency + bytes / bandwidth.
struct ExchangeModel {
  double latency_s = 0, s_per_byte = 0;

  double seconds(double bytes) const { return latency_s + s_per_byte * bytes; }
};
/// From a small and a large vector.
ExchangeModel fit_exchange(double small_bytes, double small_s, double large_bytes, double large_s);

/// Replicas that share each batch.
struct Group {
  std::vector<StepModel> replicas;        // each alone
  std::vector<double> weights;            // fixed shares of the batch; empty: shares by speed
  std::function<double(int)> exchange_s;  // of a step among so many replicas; not asked for one
  double images_per_s_limit = 0;          // of each replica's loader; 0 = none
};

struct GroupStep {
  double seconds = 0;
  std::vector<double> images;  // of each replica; 0 = it does not take part
};

/// All replicas take part. Shares by speed end all replicas' work at the same time, if need be without those that their
/// fixed costs alone make late.
GroupStep step_together(const Group& group, double batch);

/// What a run comes to: where shares go by speed, the weakest replicas leave the group as long as the others are faster
/// without them. Rank 0 always stays.
GroupStep step_of_run(const Group& group, double batch);

/// The most that the replicas could do together, as a multiple of the fastest of them alone: 1 + the sum of the others'
/// speed ratios.
double ceiling(std::span<const double> images_per_s);

}  // namespace evener::plan
