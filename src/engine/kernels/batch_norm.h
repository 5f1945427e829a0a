// Inside engine/kernels: batch normalisation over channels-last images, with the sum and the clamp that follow it.
#pragma once

#include "engine/kernels/vectors.h"

namespace evener::engine::kernels {
namespace {

// Sums over blocks of this many rows are kept in float32 and then added to totals in double, so that the rounding error
// stays that of a short sum.
constexpr std::int64_t kBlockRows = 128;
// Rows summed in registers before the running sum is read and written.
constexpr int kTogether = 4;

void flush(const float* block, std::int64_t count, double* total) {
  for (std::int64_t i = 0; i < count; ++i) total[i] += block[i];
}

/// Walks over rows in blocks: body(row, Rows<kTogether or 1>) for each group of rows, end() after each block.
template <int N>
struct Rows {
  static constexpr int count = N;
};
template <class Begin, class Body, class End>
[[gnu::always_inline]] inline void for_row_blocks(std::int64_t rows, Begin begin, Body body, End end) {
  for (std::int64_t block = 0; block < rows; block += kBlockRows) {
    const std::int64_t last = block + kBlockRows < rows ? block + kBlockRows : rows;
    begin();
    std::int64_t row = block;
    for (; row + kTogether <= last; row += kTogether) body(row, Rows<kTogether>());
    for (; row < last; ++row) body(row, Rows<1>());
    end();
  }
}

template <class T>
void moments(const T* x, std::int64_t rows, std::int64_t channels, const float* pivot, double* sum, double* square_sum,
             float* scratch) {
  float* const sums = scratch;
  float* const squares = scratch + channels;
  for_row_blocks(
      rows, [&] { zero(scratch, 2 * channels); },
      [&](std::int64_t row, auto group) {
        const T* const in = x + row * channels;
        for_channels(channels, [&](auto lanes, std::int64_t c) {
          using L = decltype(lanes);
          auto total = load<L>(sums + c), square = load<L>(squares + c);
          const auto middle = load<L>(pivot + c);
          for (int i = 0; i < decltype(group)::count; ++i) {
            const auto value = load<L>(in + i * channels + c) - middle;
            total += value;
            square += value * value;
          }
          store<L>(sums + c, total);
          store<L>(squares + c, square);
        });
      },
      [&] {
        flush(sums, channels, sum);
        flush(squares, channels, square_sum);
      });
}

template <bool kResidual, bool kStream, class T>
void normalize_rows(const T* x, const T* residual, T* y, std::int64_t rows, std::int64_t channels, const float* scale,
                    const float* shift, Clamp clamp) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * channels;
    for_channels(channels, [&](auto lanes, std::int64_t c) {
      using L = decltype(lanes);
      auto value = load<L>(x + at + c) * load<L>(scale + c) + load<L>(shift + c);
      if constexpr (kResidual) value += load<L>(residual + at + c);
      value = clamped<L>(value, clamp);
      if constexpr (kStream) {
        stream<L>(y + at + c, value);
      } else {
        store<L>(y + at + c, value);
      }
    });
  }
}

template <bool kStream, class T>
void normalize_to(const T* x, const T* residual, T* y, std::int64_t rows, std::int64_t channels, const float* scale,
                  const float* shift, Clamp clamp) {
  if (residual != nullptr) {
    normalize_rows<true, kStream>(x, residual, y, rows, channels, scale, shift, clamp);
  } else {
    normalize_rows<false, kStream>(x, residual, y, rows, channels, scale, shift, clamp);
  }
}

template <class T>
void normalize(const T* x, const T* residual, T* y, std::int64_t rows, std::int64_t channels, const float* scale,
               const float* shift, Clamp clamp) {
  if (!streams(y, rows, channels)) return normalize_to<false>(x, residual, y, rows, channels, scale, shift, clamp);
  normalize_to<true>(x, residual, y, rows, channels, scale, shift, clamp);
  end_stream();
}

/// The gradient that the clamp let pass, at value `at` of channel `c`.
template <class L, bool kStoredOutput, class T>
[[gnu::always_inline]] inline typename L::Float passed_gradient(const NormBackward<T>& in, std::int64_t at,
                                                                std::int64_t c, typename L::Float x) {
  typename L::Float y;
  if constexpr (kStoredOutput) {
    y = load<L>(in.y + at + c);
  } else {
    y = x * load<L>(in.scale + c) + load<L>(in.shift + c);
  }
  return passed_by<L>(in.clamp, y, load<L>(in.dy + at + c));
}

template <bool kStoredOutput, class T>
void gradient_sums_of(const NormBackward<T>& in, const float* mean, T* passed, double* sum, double* sum_x,
                      float* scratch) {
  const std::int64_t channels = in.channels;
  float* const sums = scratch;
  float* const sums_x = scratch + channels;
  for_row_blocks(
      in.rows, [&] { zero(scratch, 2 * channels); },
      [&](std::int64_t row, auto group) {
        for_channels(channels, [&](auto lanes, std::int64_t c) {
          using L = decltype(lanes);
          auto total = load<L>(sums + c), total_x = load<L>(sums_x + c);
          const auto middle = load<L>(mean + c);
          for (int i = 0; i < decltype(group)::count; ++i) {
            const std::int64_t at = (row + i) * channels;
            const auto x = load<L>(in.x + at + c);
            const auto g = passed_gradient<L, kStoredOutput>(in, at, c, x);
            total += g;
            total_x += g * (x - middle);
            if (passed != nullptr) store<L>(passed + at + c, g);
          }
          store<L>(sums + c, total);
          store<L>(sums_x + c, total_x);
        });
      },
      [&] {
        flush(sums, channels, sum);
        flush(sums_x, channels, sum_x);
      });
}

template <class T>
void gradient_sums(const NormBackward<T>& in, const float* mean, T* passed, double* sum, double* sum_x,
                   float* scratch) {
  if (in.y != nullptr) {
    gradient_sums_of<true>(in, mean, passed, sum, sum_x, scratch);
  } else {
    gradient_sums_of<false>(in, mean, passed, sum, sum_x, scratch);
  }
}

template <bool kStoredOutput, bool kStream, class T>
void input_gradient_of(const NormBackward<T>& in, const float* a, const float* b, const float* c0, T* dx) {
  for (std::int64_t row = 0; row < in.rows; ++row) {
    const std::int64_t at = row * in.channels;
    for_channels(in.channels, [&](auto lanes, std::int64_t c) {
      using L = decltype(lanes);
      const auto x = load<L>(in.x + at + c);
      const auto g = passed_gradient<L, kStoredOutput>(in, at, c, x);
      const auto value = load<L>(a + c) * g + (load<L>(b + c) * x + load<L>(c0 + c));
      if constexpr (kStream) {
        stream<L>(dx + at + c, value);
      } else {
        store<L>(dx + at + c, value);
      }
    });
  }
}

template <bool kStoredOutput, class T>
void input_gradient_to(const NormBackward<T>& in, const float* a, const float* b, const float* c, T* dx) {
  if (!streams(dx, in.rows, in.channels)) return input_gradient_of<kStoredOutput, false>(in, a, b, c, dx);
  input_gradient_of<kStoredOutput, true>(in, a, b, c, dx);
  end_stream();
}

template <class T>
void input_gradient(const NormBackward<T>& in, const float* a, const float* b, const float* c, T* dx) {
  if (in.y != nullptr) {
    input_gradient_to<true>(in, a, b, c, dx);
  } else {
    input_gradient_to<false>(in, a, b, c, dx);
  }
}

}  // namespace
}  // namespace evener::engine::kernels
