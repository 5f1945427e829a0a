// The three products of a layer, the packing of their operands, and updates of weights in a pass of their own.
#pragma once

#include "engine/native_mlp/cpu/tile.h"

namespace evener::engine::native_mlp {
namespace {

/// Stores two rows of values as units over the rows; the second may be absent.
template <int R, int N>
[[gnu::always_inline]] inline void store_pairs(Unit* to, std::int64_t step, const Vector (&value)[R][N]) {
  for (int r = 0; r < R; r += 2) {
    for (int n = 0; n < N; ++n) {
      store(to + r / 2 * step + n * kLanes, pair_of(value[r][n], r + 1 < R ? value[r + 1][n] : Vector{}));
    }
  }
}

void forward(const Forward& work, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    const Tile tile = tile_at(t, work.columns, work.samples);
    const Unit* weights = work.weights + tile.panel * kPanel * work.inputs;
    with_rows<kTileRows>(tile.rows, [&](auto rows) {
      with_columns(tile.width, [&](auto vectors, std::int64_t first) {
        constexpr int R = rows.value, N = vectors.value;
        Vector sum[R][N];
        multiply(sum, work.x + tile.row * work.x_stride, work.x_stride, 1, weights + first, tile.width, work.inputs);
        const std::int64_t column = tile.panel * kPanel + first;
        for (int n = 0; n < N; ++n) {
          const Vector bias = load(work.bias + column + n * kLanes);
          for (int r = 0; r < R; ++r) sum[r][n] = apply(work.function, sum[r][n] + bias);
        }
        for (int r = 0; r < R; ++r) {
          for (int n = 0; n < N; ++n) {
            const std::int64_t place = column + n * kLanes;
            if (work.logits != nullptr) {
              store(work.logits + (tile.row + r) * work.logits_stride + place, sum[r][n]);
            } else {
              store_values(work.rows + (tile.row + r) * work.stride, place, sum[r][n]);
            }
          }
        }
        if constexpr (kPairs) {
          if (work.pairs == nullptr) return;
          store_pairs(work.pairs + tile.row / 2 * work.pairs_stride + column, work.pairs_stride, sum);
        }
      });
    });
  }
}

void input_gradient(const InputGradient& work, std::int64_t begin, std::int64_t end) {
  const std::int64_t sample_units = (work.samples + kUnitValues - 1) / kUnitValues;
  for (std::int64_t t = begin; t < end; ++t) {
    const Tile tile = tile_at(t, work.columns, work.samples);
    const Unit* weights = work.weights + tile.panel * kPanel * work.outputs;
    with_rows<kTileRows>(tile.rows, [&](auto rows) {
      with_columns(tile.width, [&](auto vectors, std::int64_t first) {
        constexpr int R = rows.value, N = vectors.value;
        Vector sum[R][N];
        multiply(sum, work.dy + tile.row * work.dy_stride, work.dy_stride, 1, weights + first, tile.width,
                 work.outputs);
        const std::int64_t column = tile.panel * kPanel + first;
        for (int r = 0; r < R; ++r) {
          const Unit* y = work.y + (tile.row + r) * work.y_stride;
          for (int n = 0; n < N; ++n) {
            const std::int64_t place = column + n * kLanes;
            sum[r][n] = sum[r][n] * slope(work.function, load_values(y, place));
            if (work.rows != nullptr) store_values(work.rows + (tile.row + r) * work.stride, place, sum[r][n]);
          }
        }
        Unit* panel = work.panels + tile.panel * kPanel * sample_units + tile.row / kUnitValues * tile.width + first;
        if constexpr (kPairs) {
          store_pairs(panel, tile.width, sum);
        } else {
          for (int r = 0; r < R; ++r) {
            for (int n = 0; n < N; ++n) store(panel + r * tile.width + n * kLanes, sum[r][n]);
          }
        }
      });
    });
  }
}

[[gnu::always_inline]] inline Vector updated(const UpdateRule& rule, Vector value, Vector gradient, float* velocity) {
  gradient = gradient + rule.decay * value;
  if (velocity == nullptr) return value - rule.rate * gradient;
  const Vector moved = rule.momentum * load(velocity) + gradient;
  store(velocity, moved);
  return value - rule.rate * (rule.nesterov ? gradient + rule.momentum * moved : moved);
}

/// Sums of the derivatives over the samples, for the panel's part of the bias.
void bias_gradient(const WeightGradient& work, const Tile& tile) {
  const std::int64_t first = tile.panel * kPanel;
  const Unit* dy = work.dy + first * work.samples;
  const bool updates = work.gradient == nullptr;
  if ((updates ? work.bias : work.bias_gradient) == nullptr) return;
  Unit one = 1;
  if constexpr (kPairs) {
    const std::uint32_t ones = 0x3f803f80;
    __builtin_memcpy(&one, &ones, sizeof(one));
  }
  for (std::int64_t c = 0; c < tile.width; c += kLanes) {
    Vector sum{};
    for (std::int64_t k = 0; k < work.samples; ++k) sum = multiply_add(sum, one, load(dy + k * tile.width + c));
    if (updates) {
      float* velocity = work.bias_momentum != nullptr ? work.bias_momentum + first + c : nullptr;
      store(work.bias + first + c, updated(work.rule, load(work.bias + first + c), sum, velocity));
    } else {
      float* to = work.bias_gradient + first + c;
      store(to, work.add ? load(to) + sum : sum);
    }
  }
}

template <int R, int N>
[[gnu::always_inline]] inline void use_gradient(const WeightGradient& work, std::int64_t place, std::int64_t width,
                                                Vector (&sum)[R][N]) {
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) {
      const std::int64_t at = place + r * width + n * kLanes;
      if (work.gradient != nullptr) {
        store(work.gradient + at, work.add ? load(work.gradient + at) + sum[r][n] : sum[r][n]);
        continue;
      }
      float* velocity = work.momentum != nullptr ? work.momentum + at : nullptr;
      sum[r][n] = updated(work.rule, load(work.weights + at), sum[r][n], velocity);
      store(work.weights + at, sum[r][n]);
    }
  }
}

/// Prefetches the cache lines that a tile's results will be written to. Other replicas may have read them, and getting
/// them back takes longer than the stores, which would have to wait; the tile's product hides that time.
[[gnu::always_inline]] inline void expect_writes(const float* to, std::int64_t values) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t i = 0; i < values; i += kLine) __builtin_prefetch(to + i, 1);
}

void weight_gradient(const WeightGradient& work, std::int64_t begin, std::int64_t end) {
  const std::int64_t input_units = (work.inputs + kUnitValues - 1) / kUnitValues;
  for (std::int64_t t = begin; t < end; ++t) {
    const Tile tile = tile_at(t, work.columns, work.inputs);
    if (tile.row == 0) bias_gradient(work, tile);
    const Unit* dy = work.dy + tile.panel * kPanel * work.samples;
    const std::int64_t panel = tile.panel * kPanel * work.inputs;
    float* results = work.gradient != nullptr ? work.gradient : work.weights;
    expect_writes(results + panel + tile.row * tile.width, tile.rows * tile.width);
    with_rows<kTileRows>(tile.rows, [&](auto rows) {
      with_columns(tile.width, [&](auto vectors, std::int64_t first) {
        constexpr int R = rows.value, N = vectors.value;
        Vector sum[R][N];
        multiply(sum, work.x + tile.row, 1, work.x_stride, dy + first, tile.width, work.samples);
        use_gradient(work, panel + tile.row * tile.width + first, tile.width, sum);
        if constexpr (kPairs) {
          if (work.gradient != nullptr) return;
          store_pairs(work.rounded + tile.panel * kPanel * input_units + tile.row / 2 * tile.width + first, tile.width,
                      sum);
        }
      });
    });
  }
}

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
