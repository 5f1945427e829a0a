// The product of a small tile, which stays in registers: the innermost loop of matrix products. Everything has internal
// linkage: it is compiled once per instruction set.
#pragma once

#include <cstdint>

namespace evener::engine {
namespace {

template <int V>
struct Constant {
  static constexpr int value = V;
};

/// Calls body(Constant<rows>), with a number of rows from 1 to Most that is only known at run time.
template <int Most, class Body>
[[gnu::always_inline]] inline void with_rows(std::int64_t rows, Body body) {
  if constexpr (Most > 1) {
    if (rows < Most) return with_rows<Most - 1>(rows, body);
  }
  body(Constant<Most>());
}

/// sum[r][n] = products of row r of `a` with the n-th register of columns of `b`, over k units. `Math` says what a
/// register (Vector) and a unit of an operand (Unit) are, how many units a register has (kLanes), and how they are
/// loaded and multiplied (load, multiply_add).
template <class Math, int R, int N>
[[gnu::always_inline]] inline void multiply_tile(typename Math::Vector (&sum)[R][N], const typename Math::Unit* a,
                                                 std::int64_t a_row, std::int64_t a_step, const typename Math::Unit* b,
                                                 std::int64_t b_step, std::int64_t k) {
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) sum[r][n] = typename Math::Vector{};
  }
  for (; k > 0; --k, a += a_step, b += b_step) {
    typename Math::Vector column[N];
    for (int n = 0; n < N; ++n) column[n] = Math::load(b + n * Math::kLanes);
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) sum[r][n] = Math::multiply_add(sum[r][n], a[r * a_row], column[n]);
    }
  }
}

}  // namespace
}  // namespace evener::engine
