// The three products of a layer.
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

}  // namespace
}  // namespace evener::engine::native_mlp
