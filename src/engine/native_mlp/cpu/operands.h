// Packs operands into the kernels' layouts, and updates weights in a pass of its own.
#pragma once

#include "engine/native_mlp/cpu/products.h"

namespace evener::engine::native_mlp {
namespace {

[[gnu::always_inline]] inline std::uint16_t rounded_value(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

[[gnu::always_inline]] inline Unit pair_of_values(float first, float second) {
  const std::uint32_t bits = rounded_value(first) | static_cast<std::uint32_t>(rounded_value(second)) << 16;
  Unit unit;
  __builtin_memcpy(&unit, &bits, sizeof(unit));
  return unit;
}

/// Packs one channel of one sample, or of two samples with pairs (`other`: the next sample's, null where there is
/// none).
void pack_plane(const PackInput& work, const std::uint8_t* image, const std::uint8_t* other, std::int64_t sample,
                std::int64_t channel) {
  const float scale = work.scale[channel], shift = work.shift[channel];
  const std::int64_t first = channel * work.plane;
  Unit* row = work.rows + sample * work.stride;
  image += first;
  if (other != nullptr) other += first;
  [[maybe_unused]] Unit* next = row + work.stride;
  [[maybe_unused]] Unit* pairs = kPairs ? work.pairs + sample / 2 * work.pairs_stride + first : nullptr;
  std::int64_t i = 0;
  for (; i + kLanes <= work.plane; i += kLanes) {
    const Vector value = load_bytes<kLanes>(image + i) * scale + shift;
    store_values(row, first + i, value);
    if constexpr (kPairs) {
      const Vector second = other != nullptr ? load_bytes<kLanes>(other + i) * scale + shift : Vector{};
      if (other != nullptr) store_values(next, first + i, second);
      store(pairs + i, pair_of(value, second));
    }
  }
  for (; i < work.plane; ++i) {
    const float value = static_cast<float>(image[i]) * scale + shift;
    if constexpr (kPairs) {
      const float second = other != nullptr ? static_cast<float>(other[i]) * scale + shift : 0;
      reinterpret_cast<std::uint16_t*>(row)[first + i] = rounded_value(value);
      if (other != nullptr) reinterpret_cast<std::uint16_t*>(next)[first + i] = rounded_value(second);
      pairs[i] = pair_of_values(value, second);
    } else {
      row[first + i] = value;
    }
  }
}

constexpr std::int64_t kAhead = 4;  // samples; each lies somewhere else in memory

/// Prefetches the beginning of a sample; the processor's own prefetching does the rest.
[[gnu::always_inline]] inline void expect_image(const PackInput& work, std::int64_t sample, std::int64_t end) {
  constexpr std::int64_t kLine_bytes = 64, kMost_bytes = 1024;
  if (sample >= end) return;
  const std::int64_t bytes = work.channels * work.plane;
  for (std::int64_t i = 0; i < (bytes < kMost_bytes ? bytes : kMost_bytes); i += kLine_bytes) {
    __builtin_prefetch(work.images[sample] + i);
  }
}

void pack_input(const PackInput& work, std::int64_t begin, std::int64_t end) {
  for (std::int64_t sample = begin; sample < end; sample += kUnitValues) {
    for (std::int64_t s = sample; s < sample + kUnitValues; ++s) expect_image(work, s + kAhead, end);
    const std::uint8_t* image = work.images[sample];
    const std::uint8_t* other = kPairs && sample + 1 < end ? work.images[sample + 1] : nullptr;
    for (std::int64_t channel = 0; channel < work.channels; ++channel) {
      pack_plane(work, image, other, sample, channel);
    }
  }
}

void transpose(const Transpose& work, std::int64_t begin, std::int64_t end) {
  const std::int64_t output_units = (work.outputs + kUnitValues - 1) / kUnitValues;
  const std::int64_t columns = (work.inputs + kColumns - 1) / kColumns * kColumns;
  for (std::int64_t first = 0; first < columns; first += kPanel) {
    const std::int64_t width = columns - first < kPanel ? columns - first : kPanel;
    const std::int64_t inputs = work.inputs - first < width ? work.inputs - first : width;
    for (std::int64_t o = begin; o < end; o += kUnitValues) {
      const std::int64_t panel = o / kPanel * kPanel;
      const std::int64_t step = work.columns - panel < kPanel ? work.columns - panel : kPanel;
      const float* from = work.weights + panel * work.inputs + first * step + o - panel;
      Unit* to = work.out + first * output_units + o / kUnitValues * width;
      for (std::int64_t i = 0; i < inputs; ++i) {
        if constexpr (kPairs) {
          to[i] = pair_of_values(from[i * step], from[i * step + 1]);  // beyond the last output: the zeros of the panel
        } else {
          to[i] = from[i * step];
        }
      }
    }
  }
}

[[maybe_unused]] void round_weights(const float* weights, std::int64_t inputs, std::int64_t columns, Unit* rounded,
                                    std::int64_t begin, std::int64_t end) {
  for (std::int64_t first = 0; first < columns; first += kPanel) {
    const std::int64_t width = columns - first < kPanel ? columns - first : kPanel;
    for (std::int64_t i = begin; i < end; i += 2) {
      const float* from = weights + first * inputs + i * width;
      Unit* to = rounded + first * ((inputs + 1) / 2) + i / 2 * width;
      for (std::int64_t c = 0; c < width; ++c) to[c] = pair_of_values(from[c], i + 1 < inputs ? from[width + c] : 0);
    }
  }
}

void update(const UpdateRule& rule, float* values, const float* gradients, float* velocity, std::int64_t begin,
            std::int64_t end) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    store(values + i,
          updated(rule, load(values + i), load(gradients + i), velocity != nullptr ? velocity + i : nullptr));
  }
  for (; i < end; ++i) {
    const float gradient = gradients[i] + rule.decay * values[i];
    float step = gradient;
    if (velocity != nullptr) {
      velocity[i] = rule.momentum * velocity[i] + gradient;
      step = rule.nesterov ? gradient + rule.momentum * velocity[i] : velocity[i];
    }
    values[i] -= rule.rate * step;
  }
}

}  // namespace
}  // namespace evener::engine::native_mlp
