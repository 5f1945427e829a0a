// Units of a row, and the product of one tile, by the operations of fp32.h or bf16.h, which level.cpp includes before
// it.
#pragma once

#include "engine/kernels/tile_product.h"
#include "engine/native_mlp/cpu/registers.h"

namespace evener::engine::native_mlp {
namespace {

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

}  // namespace
}  // namespace evener::engine::native_mlp
