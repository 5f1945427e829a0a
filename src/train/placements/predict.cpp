// Predicts the duration of a training step from measurements of its parts. Pure arithmetic.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "train/placements/probe.h"

namespace evener::training {
namespace {

using Taking = std::vector<bool>;

/// The number of images that all replicas together have done after `seconds`.
double done_after(const Group& group, const Taking& taking, double seconds) {
  double images = 0;
  for (std::size_t r = 0; r < taking.size(); ++r) {
    if (!taking[r]) continue;
    const StepModel& step = group.replicas[r];
    images += std::max(0.0, seconds - step.fixed_s) / step.per_image_s;
  }
  return images;
}

/// Finds by bisection the time at which the replicas, if all stop at once, have done the batch; shares follow from it.
GroupStep divided_by_speed(const Group& group, const Taking& taking, double batch) {
  double low = 0, high = 1e-6;
  while (done_after(group, taking, high) < batch) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (done_after(group, taking, middle) < batch ? low : high) = middle;
  }
  GroupStep step{high, std::vector<double>(taking.size(), 0.0)};
  for (std::size_t r = 0; r < taking.size(); ++r) {
    if (taking[r]) step.images[r] = std::max(0.0, high - group.replicas[r].fixed_s) / group.replicas[r].per_image_s;
  }
  return step;
}

GroupStep divided_by_weights(const Group& group, double batch) {
  double sum = 0;
  for (const double weight : group.weights) sum += weight;
  GroupStep step;
  for (std::size_t r = 0; r < group.replicas.size(); ++r) {
    step.images.push_back(batch * group.weights[r] / sum);
    step.seconds = std::max(step.seconds, group.replicas[r].seconds(step.images[r]));
  }
  return step;
}

GroupStep step_with(const Group& group, const Taking& taking, double batch) {
  GroupStep step = group.weights.empty() ? divided_by_speed(group, taking, batch) : divided_by_weights(group, batch);
  for (const double images : step.images) {
    if (group.images_per_s_limit > 0) step.seconds = std::max(step.seconds, images / group.images_per_s_limit);
  }
  const auto members = std::ranges::count(taking, true);
  if (members > 1 && group.exchange_s) step.seconds += group.exchange_s(static_cast<int>(members));
  return step;
}

}  // namespace

StepModel fit_step(std::span<const Timing> timings) {
  if (timings.empty()) return {};
  const Timing& large = timings.back();
  const StepModel proportional{0, large.seconds / large.images};
  if (timings.size() == 1) return proportional;
  const Timing& small = timings[timings.size() - 2];
  if (large.images <= small.images || large.seconds <= small.seconds) return proportional;
  const double per_image_s = (large.seconds - small.seconds) / (large.images - small.images);
  const double fixed_s = large.seconds - per_image_s * large.images;
  return fixed_s < 0 ? proportional : StepModel{fixed_s, per_image_s};
}

double epoch_seconds(const StepModel& step, double images, double batch) {
  const double whole = std::floor(images / batch);
  const double rest = images - whole * batch;
  return whole * step.seconds(batch) + (rest > 0 ? step.seconds(rest) : 0);
}

ExchangeModel fit_exchange(double small_bytes, double small_s, double large_bytes, double large_s) {
  if (large_bytes <= small_bytes || large_s <= small_s) return {small_s, 0};
  const double s_per_byte = (large_s - small_s) / (large_bytes - small_bytes);
  return {std::max(0.0, small_s - s_per_byte * small_bytes), s_per_byte};
}

GroupStep step_together(const Group& group, double batch) {
  return step_with(group, Taking(group.replicas.size(), true), batch);
}

GroupStep step_of_run(const Group& group, double batch) {
  Taking taking(group.replicas.size(), true);
  GroupStep best = step_with(group, taking, batch);
  if (!group.weights.empty()) return best;
  for (std::size_t left = taking.size(); left > 1; --left) {
    std::size_t weakest = 0;
    for (std::size_t r = 1; r < taking.size(); ++r) {
      if (!taking[r]) continue;
      if (weakest == 0 || group.replicas[r].seconds(batch) > group.replicas[weakest].seconds(batch)) weakest = r;
    }
    taking[weakest] = false;
    GroupStep fewer = step_with(group, taking, batch);
    if (fewer.seconds >= best.seconds) break;
    best = std::move(fewer);
  }
  return best;
}

double ceiling(std::span<const double> images_per_s) {
  double sum = 0, fastest = 0;
  for (const double rate : images_per_s) {
    sum += rate;
    fastest = std::max(fastest, rate);
  }
  return fastest > 0 ? sum / fastest : 1;
}

}  // namespace evener::training
