// Inside engine/kernels: the transforms of Winograd's algorithms, for a vector of channels at a time. A transform of a
// tile is one along its rows and then the same along its columns; each of the functions here is one of those.
//
// The matrices follow from points p (Toom and Cook): with M(t) the product of all t - p, a row of the input's matrix
// has the coefficients of M(t) / (t - p), a row of the outputs' the powers of p, and a row of the weights' these
// divided by M'(p). Infinity is a point of each.
#pragma once

#include "engine/kernels/vectors.h"

namespace evener::engine::kernels {
namespace {

constexpr int kTaps = 3;

/// F(4x4, 3x3). The points 0, +-a and +-b with a = sqrt(1/2), b = sqrt(2) have powers near 1: the rounding error is
/// less than with the usual 1 and 2.
struct FourByFour {
  static constexpr int kTileIn = 6, kTileOut = 4;

  static constexpr float kA = 0.707106781186547524f, kB = 1.41421356237309505f;
  static constexpr float kA2 = 0.5f, kB2 = 2;                      // a * b = 1
  static constexpr float kAScale = -2.0f / 3, kBScale = 1.0f / 6;  // 1 / M'(a), 1 / M'(b); of 0 and infinity it is 1

  /// The values of a polynomial at a, -a, b and -b, from its even and odd parts there.
  template <class F>
  [[gnu::always_inline]] static void spread(const F& even_a, const F& odd_a, const F& even_b, const F& odd_b,
                                            F (&values)[kTileIn]) {
    values[1] = even_a + odd_a;
    values[2] = even_a - odd_a;
    values[3] = even_b + odd_b;
    values[4] = even_b - odd_b;
  }

  /// 6 inputs -> 6 values.
  template <class F>
  [[gnu::always_inline]] static void transform_inputs(const F (&d)[kTileIn], F (&v)[kTileIn]) {
    const F even_a = d[4] - kB2 * d[2], odd_a = kA * (d[3] - kB2 * d[1]);
    const F even_b = d[4] - kA2 * d[2], odd_b = kB * (d[3] - kA2 * d[1]);
    v[0] = d[0] + d[4] - (kA2 + kB2) * d[2];
    spread(even_a, odd_a, even_b, odd_b, v);
    v[5] = d[1] + d[5] - (kA2 + kB2) * d[3];
  }

  /// 6 values -> 4 outputs.
  template <class F>
  [[gnu::always_inline]] static void transform_outputs(const F (&m)[kTileIn], F (&y)[kTileOut]) {
    const F sum_a = m[1] + m[2], difference_a = m[1] - m[2];
    const F sum_b = m[3] + m[4], difference_b = m[3] - m[4];
    y[0] = m[0] + sum_a + sum_b;
    y[1] = kA * difference_a + kB * difference_b;
    y[2] = kA2 * sum_a + kB2 * sum_b;
    y[3] = kA * kA2 * difference_a + (kB * kB2 * difference_b + m[5]);
  }

  /// 4 gradients of outputs -> 6 values: the transpose of transform_outputs.
  template <class F>
  [[gnu::always_inline]] static void transform_gradients(const F (&g)[kTileOut], F (&v)[kTileIn]) {
    const F even_a = g[0] + kA2 * g[2], odd_a = kA * (g[1] + kA2 * g[3]);
    const F even_b = g[0] + kB2 * g[2], odd_b = kB * (g[1] + kB2 * g[3]);
    v[0] = g[0];
    spread(even_a, odd_a, even_b, odd_b, v);
    v[5] = g[3];
  }

  /// 3 weights -> 6 values.
  template <class F>
  [[gnu::always_inline]] static void transform_taps(const F (&w)[kTaps], F (&u)[kTileIn]) {
    const F even_a = kAScale * (w[0] + kA2 * w[2]), odd_a = kAScale * kA * w[1];
    const F even_b = kBScale * (w[0] + kB2 * w[2]), odd_b = kBScale * kB * w[1];
    u[0] = w[0];
    spread(even_a, odd_a, even_b, odd_b, u);
    u[5] = w[2];
  }

  /// 6 values -> 3 gradients of weights: the transpose of transform_taps.
  template <class F>
  [[gnu::always_inline]] static void gather_taps(const F (&u)[kTileIn], F (&w)[kTaps]) {
    const F sum_a = kAScale * (u[1] + u[2]), difference_a = kAScale * kA * (u[1] - u[2]);
    const F sum_b = kBScale * (u[3] + u[4]), difference_b = kBScale * kB * (u[3] - u[4]);
    w[0] = u[0] + sum_a + sum_b;
    w[1] = difference_a + difference_b;
    w[2] = kA2 * sum_a + (kB2 * sum_b + u[5]);
  }
};

/// F(2x2, 3x3) with the points 0, 1 and -1, whose transforms of images only add: what is then rounded to bfloat16 is
/// off by little more than the images themselves.
struct TwoByTwo {
  static constexpr int kTileIn = 4, kTileOut = 2;

  /// 4 inputs -> 4 values.
  template <class F>
  [[gnu::always_inline]] static void transform_inputs(const F (&d)[kTileIn], F (&v)[kTileIn]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }

  /// 4 values -> 2 outputs.
  template <class F>
  [[gnu::always_inline]] static void transform_outputs(const F (&m)[kTileIn], F (&y)[kTileOut]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }

  /// 2 gradients of outputs -> 4 values: the transpose of transform_outputs.
  template <class F>
  [[gnu::always_inline]] static void transform_gradients(const F (&g)[kTileOut], F (&v)[kTileIn]) {
    v[0] = g[0];
    v[1] = g[0] + g[1];
    v[2] = g[0] - g[1];
    v[3] = g[1];
  }

  /// 3 weights -> 4 values.
  template <class F>
  [[gnu::always_inline]] static void transform_taps(const F (&w)[kTaps], F (&u)[kTileIn]) {
    const F even = 0.5F * (w[0] + w[2]), odd = 0.5F * w[1];
    u[0] = w[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = w[2];
  }

  /// 4 values -> 3 gradients of weights: the transpose of transform_taps.
  template <class F>
  [[gnu::always_inline]] static void gather_taps(const F (&u)[kTileIn], F (&w)[kTaps]) {
    const F sum = 0.5F * (u[1] + u[2]);
    w[0] = u[0] + sum;
    w[1] = 0.5F * (u[1] - u[2]);
    w[2] = sum + u[3];
  }
};

/// A transform along both axes: from(i, j) gives the values of a square of `In` by `In`, to(i, j, value) takes those of
/// `Out` by `Out`. The square lies in registers as far as they reach.
template <class L, int In, int Out, class Transform, class From, class To>
[[gnu::always_inline]] inline void transform_square(Transform transform, From from, To to) {
  using Float = typename L::Float;
  Float half[In][Out];
  for (int i = 0; i < In; ++i) {
    Float row[In];
    for (int j = 0; j < In; ++j) row[j] = from(i, j);
    transform(row, half[i]);
  }
  for (int j = 0; j < Out; ++j) {
    Float column[In], result[Out];
    for (int i = 0; i < In; ++i) column[i] = half[i][j];
    transform(column, result);
    for (int i = 0; i < Out; ++i) to(i, j, result[i]);
  }
}

}  // namespace
}  // namespace evener::engine::kernels
