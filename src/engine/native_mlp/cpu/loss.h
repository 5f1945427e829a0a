// Softmax cross-entropy and squared error, with their derivatives.
#pragma once

#include "engine/best_class.h"
#include "engine/native_mlp/cpu/tile.h"

namespace evener::engine::native_mlp {
namespace {

/// A sample's target for class c: (1 - s) * one-hot + s / classes, for one label or a mixture of two.
struct Target {
  float everywhere, first, second;
  std::int32_t first_label, second_label;
};

[[gnu::always_inline]] inline Target target_of(const LossInput& work, std::int64_t sample) {
  const float share = work.second_labels != nullptr ? work.label_weights[sample] : 1.0f;
  const float rest = 1 - work.smoothing;
  return {work.smoothing / static_cast<float>(work.classes), rest * share, rest * (1 - share), work.labels[sample],
          work.second_labels != nullptr ? work.second_labels[sample] : work.labels[sample]};
}

/// The lanes' numbers, from `first` on.
[[gnu::always_inline]] inline Vector lane_numbers(std::int64_t first) {
  Vector numbers{};
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = static_cast<float>(first + lane);
  return numbers;
}

[[gnu::always_inline]] inline float sum_of(Vector value) {
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += value[lane];
  return sum;
}

/// Writes the derivatives of the cross-entropy to `slopes` (columns values, zeros beyond the classes) and returns the
/// loss.
float cross_entropy(const LossInput& work, const Target& target, const float* logits, float largest, float* slopes) {
  Vector sums{};
  const Vector classes = all(static_cast<float>(work.classes)), top = all(largest), zero{};
  for (std::int64_t c = 0; c < work.columns; c += kLanes) {
    const Vector powers = lane_numbers(c) < classes ? exponential(load(logits + c) - top) : zero;
    store(slopes + c, powers);
    sums += powers;
  }
  const float sum = sum_of(sums);
  float loss = largest + __builtin_logf(sum) - target.first * logits[target.first_label] -
               target.second * logits[target.second_label];
  if (target.everywhere != 0) {
    for (std::int64_t c = 0; c < work.classes; ++c) loss -= target.everywhere * logits[c];
  }
  const Vector everywhere = all(target.everywhere);
  const float scale = 1 / sum;
  for (std::int64_t c = 0; c < work.columns; c += kLanes) {
    store(slopes + c, lane_numbers(c) < classes ? load(slopes + c) * scale - everywhere : zero);
  }
  slopes[target.first_label] -= target.first;
  slopes[target.second_label] -= target.second;
  return loss;
}

/// The same for the mean squared error over the outputs; with two labels, their errors are weighed by their shares.
float squared_error(const LossInput& work, const Target& target, const float* logits, float* slopes) {
  const float share = 1 / static_cast<float>(work.classes);
  float loss = 0;
  for (std::int64_t c = 0; c < work.columns; ++c) slopes[c] = 0;
  for (std::int64_t c = 0; c < work.classes; ++c) {
    const float wanted = (c == target.first_label ? target.first : 0) + (c == target.second_label ? target.second : 0);
    const float distance = logits[c] - wanted;
    loss += distance * distance * share;
    slopes[c] = 2 * distance * share;
  }
  return loss;
}

/// Stores the derivatives of samples [begin, end) as operands of the backward products.
void store_slopes(const LossInput& work, std::int64_t begin, std::int64_t end) {
  const std::int64_t sample_units = (work.samples + kUnitValues - 1) / kUnitValues;
  for (std::int64_t sample = begin; sample < end; sample += kUnitValues) {
    const float* slopes = work.slopes + sample * work.logits_stride;
    const bool two = kPairs && sample + 1 < end;
    for (std::int64_t c = 0; c < work.columns; c += kLanes) {
      const std::int64_t panel = c / kPanel * kPanel;
      const std::int64_t width = work.columns - panel < kPanel ? work.columns - panel : kPanel;
      Unit* to = work.panels + panel * sample_units + sample / kUnitValues * width + c - panel;
      const Vector value = load(slopes + c) * work.weight;
      store_values(work.rows + sample * work.stride, c, value);
      if constexpr (kPairs) {
        const Vector next = two ? load(slopes + work.logits_stride + c) * work.weight : Vector{};
        if (two) store_values(work.rows + (sample + 1) * work.stride, c, next);
        store(to, pair_of(value, next));
      } else {
        store(to, value);
      }
    }
  }
}

LossSums loss(const LossInput& work, std::int64_t begin, std::int64_t end, std::int32_t* predicted) {
  LossSums sums{0, 0};
  for (std::int64_t sample = begin; sample < end; ++sample) {
    const float* logits = work.logits + sample * work.logits_stride;
    const std::int32_t best = best_class(logits, work.classes);
    const Target target = target_of(work, sample);
    sums.correct += best == target.first_label;
    if (predicted != nullptr) predicted[sample] = best;
    float* slopes = work.slopes + sample * work.logits_stride;
    const float one = work.squared ? squared_error(work, target, logits, slopes)
                                   : cross_entropy(work, target, logits, logits[best], slopes);
    sums.loss += static_cast<double>(one);
  }
  if (work.rows != nullptr) store_slopes(work, begin, end);
  return sums;
}

}  // namespace
}  // namespace evener::engine::native_mlp
