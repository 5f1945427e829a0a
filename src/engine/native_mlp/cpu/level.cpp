// All kernels for one instruction set and precision. Compiled once per level, with EVENER_NATIVE_LEVEL naming it. What
// is in here has internal linkage: each level is compiled for another instruction set.
#include <immintrin.h>

#include "engine/best_class.h"
#include "engine/kernels/tile_product.h"
#include "engine/native_mlp/cpu/kernels.h"

namespace evener::engine::native_mlp {
namespace {

// Registers of the level.

constexpr bool kPairs = EVENER_NATIVE_PAIRS;    // operands are pairs of bfloat16
constexpr int kLanes = EVENER_NATIVE_LANES;     // float32 in a register
constexpr int kTileRows = EVENER_NATIVE_ROWS;   // of a tile, as many as registers allow
constexpr int kWidest = EVENER_NATIVE_VECTORS;  // registers of a tile's row
constexpr std::int64_t kUnitValues = kPairs ? 2 : 1;

using Vector = float __attribute__((vector_size(4 * kLanes)));
using Bits = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using Half = std::uint16_t __attribute__((vector_size(2 * kLanes)));

[[gnu::always_inline]] inline Vector load(const float* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  __builtin_memcpy(to, &value, sizeof(value));
}
/// Bytes as values. By intrinsics: g++ 12 converts vectors of bytes one by one.
template <int Lanes>
[[gnu::always_inline]] inline auto load_bytes(const std::uint8_t* from) {
  if constexpr (Lanes == 16) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  } else if constexpr (Lanes == 8) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadu_si64(from)));
  } else {
    const __m128i words = _mm_unpacklo_epi8(_mm_loadu_si32(from), __m128i{});
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, __m128i{}));
  }
}
[[gnu::always_inline]] inline Vector all(float value) {
  return value - Vector{};
}
[[gnu::always_inline]] inline Bits bits_of(Vector value) {
  Bits bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
[[gnu::always_inline]] inline Vector vector_of(Bits bits) {
  Vector value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// The operations that depend on the precision: on units of two bfloat16 (AVX512-BF16), or of one float32.

#if EVENER_NATIVE_PAIRS
/// sum + the products of the units' two values; `a` is one unit for all lanes.
[[gnu::always_inline]] inline Vector multiply_add(Vector sum, Unit a, Vector b) {
  const __m512i unit = _mm512_castps_si512(_mm512_set1_ps(a));
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(unit), reinterpret_cast<__m512bh>(b));
}

/// The nearest bfloat16 of each value in the lower half of its lane; ties to even.
[[gnu::always_inline]] inline Bits rounded(Vector value) {
  return reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value))));
}

/// One register's values as consecutive bfloat16.
[[gnu::always_inline]] inline void store_rounded(void* to, Vector value) {
  const auto half = _mm512_cvtneps_pbh(value);
  __builtin_memcpy(to, &half, sizeof(half));
}
#else
/// sum + a * b; `a` is one unit for all lanes.
[[gnu::always_inline]] inline Vector multiply_add(Vector sum, Unit a, Vector b) {
  return sum + a * b;
}

/// The nearest bfloat16 of each value in the lower half of its lane; ties to even. NaNs that arithmetic makes stay so.
[[gnu::always_inline]] inline Bits rounded(Vector value) {
  const Bits bits = bits_of(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

/// One register's values as consecutive bfloat16.
[[gnu::always_inline]] inline void store_rounded(void* to, Vector value) {
  const Half half = __builtin_convertvector(rounded(value), Half);
  __builtin_memcpy(to, &half, sizeof(half));
}
#endif

// Units of a row, and the product of one tile.

/// Combines two values into a unit, in each lane.
[[gnu::always_inline]] inline Vector pair_of(Vector first, Vector second) {
  return vector_of(rounded(first) | (rounded(second) << 16));
}
[[gnu::always_inline]] inline Vector load_rounded(const void* from) {
  Half half;
  __builtin_memcpy(&half, from, sizeof(half));
  return vector_of(__builtin_convertvector(half, Bits) << 16);
}

/// kLanes values at `place` of a row, as the kernels' operands hold them.
[[gnu::always_inline]] inline void store_values(Unit* row, std::int64_t place, Vector value) {
  if constexpr (kPairs) {
    store_rounded(reinterpret_cast<std::uint16_t*>(row) + place, value);
  } else {
    store(row + place, value);
  }
}
[[gnu::always_inline]] inline Vector load_values(const Unit* row, std::int64_t place) {
  if constexpr (kPairs) return load_rounded(reinterpret_cast<const std::uint16_t*>(row) + place);
  return load(row + place);
}

/// e to the power of each value: 2^n * e^r with |r| <= ln(2) / 2, whose series is cut off below half a unit in the last
/// place. Held between the smallest and largest normal numbers; a NaN stays one.
[[gnu::always_inline]] inline Vector exponential(Vector x) {
  const Vector low = all(-87.3f), high = all(88.3f);
  const Vector held = x < low ? low : x > high ? high : x;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves the nearest integer in the last bits
  const Vector shifted = held * 1.44269504f + kRound;
  const Vector n = shifted - kRound;
  const Vector r = held - n * 0.693359375f + n * 2.12194440e-4f;  // ln(2) in two parts, the first with few bits
  Vector sum = all(1.0f / 5040);
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  const Vector power = vector_of(bits_of(sum) + (bits_of(shifted) << 23));
  return x == x ? power : x;  // NOLINT(misc-redundant-expression): NaN is unlike itself
}

[[gnu::always_inline]] inline Vector apply(Function function, Vector x) {
  const Vector zero{};
  switch (function) {
    case Function::kIdentity:
      return x;
    case Function::kRelu:
      return x < zero ? zero : x;
    case Function::kRelu6: {
      const Vector six = all(6);
      x = x < zero ? zero : x;
      return x > six ? six : x;
    }
    case Function::kSigmoid:
      return 1 / (1 + exponential(-x));
    case Function::kTanh:
      return 1 - 2 / (1 + exponential(2 * x));
  }
  return x;
}

/// The function's derivative, from its value.
[[gnu::always_inline]] inline Vector slope(Function function, Vector y) {
  const Vector zero{}, one = all(1);
  switch (function) {
    case Function::kIdentity:
      return one;
    case Function::kRelu:
      return y > zero ? one : zero;
    case Function::kRelu6:
      return (y > zero) & (y < all(6)) ? one : zero;
    case Function::kSigmoid:
      return y * (1 - y);
    case Function::kTanh:
      return 1 - y * y;
  }
  return one;
}

struct TileMath {
  using Vector = native_mlp::Vector;
  using Unit = native_mlp::Unit;
  static constexpr int kLanes = native_mlp::kLanes;
  [[gnu::always_inline]] static Vector load(const Unit* from) { return native_mlp::load(from); }
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, Unit a, Vector b) {
    return native_mlp::multiply_add(sum, a, b);
  }
};

/// multiply_tile (engine/kernels/tile_product.h) for this level and precision.
template <int R, int N>
[[gnu::always_inline]] inline void multiply(Vector (&sum)[R][N], const Unit* a, std::int64_t a_row, std::int64_t a_step,
                                            const Unit* b, std::int64_t b_step, std::int64_t k) {
  multiply_tile<TileMath>(sum, a, a_row, a_step, b, b_step, k);
}

/// Calls body(Constant<registers>, first column) for groups of registers that cover all columns of a panel.
template <class Body>
[[gnu::always_inline]] inline void with_columns(std::int64_t width, Body body) {
  constexpr std::int64_t kAtOnce = kWidest * kLanes;
  if constexpr (kAtOnce == kPanel) {
    switch (width) {
      case 16:
        return body(Constant<1>(), 0);
      case 32:
        return body(Constant<2>(), 0);
      case 48:
        return body(Constant<3>(), 0);
      default:
        return body(Constant<4>(), 0);
    }
  } else {
    for (std::int64_t c = 0; c < width; c += kAtOnce) body(Constant<kWidest>(), c);
  }
}

/// One panel and block of rows of the tiles that a product is divided into.
struct Tile {
  std::int64_t panel, width;  // columns from 64 * panel on
  std::int64_t row, rows;
};

[[gnu::always_inline]] inline Tile tile_at(std::int64_t index, std::int64_t columns, std::int64_t all_rows) {
  const std::int64_t blocks = (all_rows + kTileRows - 1) / kTileRows;
  const std::int64_t panel = index / blocks, row = index % blocks * kTileRows;
  const std::int64_t left = columns - panel * kPanel, rows = all_rows - row;
  return {panel, left < kPanel ? left : kPanel, row, rows < kTileRows ? rows : kTileRows};
}

// Softmax cross-entropy and squared error, with their derivatives.

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

// The three products of a layer, the packing of their operands, and updates of weights in a pass of their own.

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

namespace EVENER_NATIVE_LEVEL {
constinit const MlpKernels table = {kUnitValues,
                                    kTileRows,
                                    pack_input,
                                    native_mlp::forward,
                                    native_mlp::loss,
                                    input_gradient,
                                    weight_gradient,
                                    transpose,
                                    kPairs ? round_weights : nullptr,
                                    update};
}  // namespace EVENER_NATIVE_LEVEL

}  // namespace evener::engine::native_mlp
