// Inside engine/kernels: batch normalisation, with the sum and the clamp that follow it, and convolutions in which each
// channel is filtered alone, over channels-last images. The latter do some ten multiply-adds for each value read, so
// memory is their limit: depthwise_walk.h walks the rows in order, so that those under a window stay in the cache.
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

template <bool V>
struct Flag {
  static constexpr bool value = V;
};
/// Calls body(Flag<first>, Flag<second>).
template <class Body>
void with_flags(bool first, bool second, const Body& body) {
  if (first) return second ? body(Flag<true>(), Flag<true>()) : body(Flag<true>(), Flag<false>());
  second ? body(Flag<false>(), Flag<true>()) : body(Flag<false>(), Flag<false>());
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

template <class T>
void normalize(const T* x, const T* residual, T* y, std::int64_t rows, std::int64_t channels, const float* scale,
               const float* shift, Clamp clamp) {
  with_flags(residual != nullptr, streams(y, rows, channels), [&](auto has_residual, auto streamed) {
    normalize_rows<has_residual.value, streamed.value>(x, residual, y, rows, channels, scale, shift, clamp);
    if constexpr (streamed.value) end_stream();
  });
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
  if (in.y != nullptr) return gradient_sums_of<true>(in, mean, passed, sum, sum_x, scratch);
  gradient_sums_of<false>(in, mean, passed, sum, sum_x, scratch);
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

template <class T>
void input_gradient(const NormBackward<T>& in, const float* a, const float* b, const float* c, T* dx) {
  with_flags(in.y != nullptr, streams(dx, in.rows, in.channels), [&](auto stored_output, auto streamed) {
    input_gradient_of<stored_output.value, streamed.value>(in, a, b, c, dx);
    if constexpr (streamed.value) end_stream();
  });
}

/// Output columns whose window lies inside the image: [begin, end).
struct Interior {
  std::int64_t begin, end;
};

inline Interior interior_of(const DepthwiseShape& s) {
  std::int64_t begin = (s.padding + s.stride - 1) / s.stride;
  const std::int64_t room = s.width + s.padding - s.kernel;
  std::int64_t end = room < 0 ? 0 : room / s.stride + 1;
  if (end > s.out_width) end = s.out_width;
  if (begin > end) begin = end;
  return {begin, end};
}

/// The input rows under the window of one output row. For rows outside the image, which are given as null, it points to
/// a row inside, and notes that they don't count.
template <int K, class T>
struct Window {
  const T* rows[K];
  bool counts[K];

  explicit Window(const T* const* given) {
    const T* inside = nullptr;
    for (int kh = 0; kh < K; ++kh) inside = given[kh] != nullptr ? given[kh] : inside;
    for (int kh = 0; kh < K; ++kh) {
      counts[kh] = given[kh] != nullptr;
      rows[kh] = counts[kh] ? given[kh] : inside;
    }
  }
};

/// The K x K weights of a vector of channels; zeros for rows that don't count.
template <class L, int K, class T>
struct Taps {
  typename L::Float at[K][K];

  Taps(const DepthwiseShape& s, const Window<K, T>& window, const float* weight, std::int64_t c) {
    for (int kh = 0; kh < K; ++kh) {
      for (int kw = 0; kw < K; ++kw) {
        at[kh][kw] = window.counts[kh] ? load<L>(weight + (kh * K + kw) * s.channels + c) : typename L::Float{};
      }
    }
  }
};

/// A row of outputs at stride 1. Each input column is read once and added to the K outputs it belongs to, of which all
/// but the newest are sums begun before.
template <class L, int K, class T>
[[gnu::always_inline]] inline void filter_row(const DepthwiseShape& s, const Window<K, T>& window,
                                              const Taps<L, K, T>& taps, T* out, std::int64_t c) {
  using Float = typename L::Float;
  Float begun[K] = {};                    // begun[i]: the output that lacks the columns up to kw = i
  std::int64_t ow = s.padding - (K - 1);  // that begun[K - 1] belongs to
  const auto finish = [&](Float sum) {
    if (ow >= 0 && ow < s.out_width) store<L>(out + ow * s.channels + c, sum);
    ++ow;
  };
  for (std::int64_t iw = 0; iw < s.width; ++iw) {
    Float x[K];
    for (int kh = 0; kh < K; ++kh) x[kh] = load<L>(window.rows[kh] + iw * s.channels + c);
    for (int kw = K - 1; kw >= 0; --kw) {
      Float sum = kw == 0 ? Float{} : begun[kw];
      for (int kh = 0; kh < K; ++kh) sum += x[kh] * taps.at[kh][kw];
      if (kw == K - 1) {
        finish(sum);
      } else {
        begun[kw + 1] = sum;
      }
    }
  }
  while (ow < s.out_width) {
    finish(begun[K - 1]);
    for (int i = K - 1; i > 0; --i) begun[i] = i == 1 ? Float{} : begun[i - 1];
  }
}

/// A row of outputs at any stride.
template <class L, int K, class T>
[[gnu::always_inline]] inline void filter_row_strided(const DepthwiseShape& s, const Window<K, T>& window,
                                                      const Taps<L, K, T>& taps, T* out, std::int64_t c) {
  using Float = typename L::Float;
  const Interior interior = interior_of(s);
  const auto edge = [&](std::int64_t ow) {
    Float sum = Float{};
    for (int kw = 0; kw < K; ++kw) {
      const std::int64_t iw = ow * s.stride - s.padding + kw;
      if (iw < 0 || iw >= s.width) continue;
      for (int kh = 0; kh < K; ++kh) sum += load<L>(window.rows[kh] + iw * s.channels + c) * taps.at[kh][kw];
    }
    store<L>(out + ow * s.channels + c, sum);
  };
  for (std::int64_t ow = 0; ow < interior.begin; ++ow) edge(ow);
  for (std::int64_t ow = interior.begin; ow < interior.end; ++ow) {
    const std::int64_t first = (ow * s.stride - s.padding) * s.channels + c;
    Float sum = Float{};
    for (int kh = 0; kh < K; ++kh) {
      for (int kw = 0; kw < K; ++kw) sum += load<L>(window.rows[kh] + first + kw * s.channels) * taps.at[kh][kw];
    }
    store<L>(out + ow * s.channels + c, sum);
  }
  for (std::int64_t ow = interior.end; ow < s.out_width; ++ow) edge(ow);
}

template <int K, class T>
void depthwise_forward_of(const DepthwiseShape& s, const T* const* rows, const float* weight, T* y) {
  const Window<K, T> window(rows);
  for_channels(s.channels, [&](auto lanes, std::int64_t c) {
    using L = decltype(lanes);
    const Taps<L, K, T> taps(s, window, weight, c);
    if (s.stride == 1) {
      filter_row<L, K>(s, window, taps, y, c);
    } else {
      filter_row_strided<L, K>(s, window, taps, y, c);
    }
  });
}

/// dx at strides above 1: each value gathers from the outputs whose windows held it.
template <int K, int kStride, class T>
void gather_row(const DepthwiseShape& s, const T* const* dy, const float* weight, T* dx) {
  const std::int64_t stride = kStride == 0 ? s.stride : kStride;
  const T* rows[K];
  const float* weights[K];
  int count = 0;
  for (int kh = 0; kh < K; ++kh) {
    if (dy[kh] == nullptr) continue;
    rows[count] = dy[kh];
    weights[count++] = weight + kh * K * s.channels;
  }
  for_channels(s.channels, [&](auto lanes, std::int64_t c) {
    using L = decltype(lanes);
    using Float = typename L::Float;
    for (std::int64_t iw = 0; iw < s.width; ++iw) {
      Float sum = Float{};
      const std::int64_t at = iw + s.padding;
      for (std::int64_t kw = at % stride; kw < K; kw += stride) {
        const std::int64_t ow = (at - kw) / stride;
        if (at < kw || ow >= s.out_width) continue;
        for (int i = 0; i < count; ++i) {
          sum += load<L>(rows[i] + ow * s.channels + c) * load<L>(weights[i] + kw * s.channels + c);
        }
      }
      store<L>(dx + iw * s.channels + c, sum);
    }
  });
}

template <int K, class T>
void depthwise_input_gradient_of(const DepthwiseShape& s, const T* const* dy, const float* weight, const float* flipped,
                                 T* dx) {
  if (s.stride == 1) {  // the gradient is itself a filter, with the weights turned around
    const DepthwiseShape turned = {s.batch,  s.channels, s.out_height,     s.out_width, s.height, s.width,
                                   s.kernel, 1,          K - 1 - s.padding};
    const T* rows[K];
    for (int kh = 0; kh < K; ++kh) rows[kh] = dy[K - 1 - kh];
    return depthwise_forward_of<K>(turned, rows, flipped, dx);
  }
  if (s.stride == 2) return gather_row<K, 2>(s, dy, weight, dx);
  gather_row<K, 0>(s, dy, weight, dx);
}

/// Sums of one output row for the weights of a vector of channels.
template <class L, int K, class T>
struct TapSums {
  typename L::Float at[K][K] = {};

  /// At stride 1, with the last K output gradients kept at hand.
  [[gnu::always_inline]] void add_row(const DepthwiseShape& s, const Window<K, T>& window, const T* dy,
                                      std::int64_t c) {
    using Float = typename L::Float;
    const auto gradient = [&](std::int64_t ow) {
      return ow >= 0 && ow < s.out_width ? load<L>(dy + ow * s.channels + c) : Float{};
    };
    Float g[K];  // g[kw]: of the output that has the column under its tap kw
    for (int kw = 1; kw < K; ++kw) g[kw - 1] = gradient(s.padding - kw);
    for (std::int64_t iw = 0; iw < s.width; ++iw) {
      for (int kw = K - 1; kw > 0; --kw) g[kw] = g[kw - 1];
      g[0] = gradient(iw + s.padding);
      for (int kh = 0; kh < K; ++kh) {
        const Float x = load<L>(window.rows[kh] + iw * s.channels + c);
        for (int kw = 0; kw < K; ++kw) at[kh][kw] += x * g[kw];
      }
    }
  }

  [[gnu::always_inline]] void add_row_strided(const DepthwiseShape& s, const Window<K, T>& window, const T* dy,
                                              std::int64_t c) {
    const Interior interior = interior_of(s);
    const auto edge = [&](std::int64_t ow) {
      const auto g = load<L>(dy + ow * s.channels + c);
      for (int kw = 0; kw < K; ++kw) {
        const std::int64_t iw = ow * s.stride - s.padding + kw;
        if (iw < 0 || iw >= s.width) continue;
        for (int kh = 0; kh < K; ++kh) at[kh][kw] += load<L>(window.rows[kh] + iw * s.channels + c) * g;
      }
    };
    for (std::int64_t ow = 0; ow < interior.begin; ++ow) edge(ow);
    for (std::int64_t ow = interior.begin; ow < interior.end; ++ow) {
      const auto g = load<L>(dy + ow * s.channels + c);
      const std::int64_t first = (ow * s.stride - s.padding) * s.channels + c;
      for (int kh = 0; kh < K; ++kh) {
        for (int kw = 0; kw < K; ++kw) at[kh][kw] += load<L>(window.rows[kh] + first + kw * s.channels) * g;
      }
    }
    for (std::int64_t ow = interior.end; ow < s.out_width; ++ow) edge(ow);
  }
};

template <int K, class T>
void depthwise_weight_gradient_of(const DepthwiseShape& s, const T* const* rows, const T* dy, float* dweight) {
  const Window<K, T> window(rows);
  for_channels(s.channels, [&](auto lanes, std::int64_t c) {
    using L = decltype(lanes);
    TapSums<L, K, T> sums;
    if (s.stride == 1) {
      sums.add_row(s, window, dy, c);
    } else {
      sums.add_row_strided(s, window, dy, c);
    }
    for (int kh = 0; kh < K; ++kh) {
      if (!window.counts[kh]) continue;
      for (int kw = 0; kw < K; ++kw) {
        float* const total = dweight + (kh * K + kw) * s.channels + c;
        store<L>(total, load<L>(total) + sums.at[kh][kw]);
      }
    }
  });
}

template <class T>
void depthwise_forward(const DepthwiseShape& s, const T* const* rows, const float* weight, T* y) {
  if (s.kernel == 3) return depthwise_forward_of<3>(s, rows, weight, y);
  if (s.kernel == 5) return depthwise_forward_of<5>(s, rows, weight, y);
  depthwise_forward_of<7>(s, rows, weight, y);
}

template <class T>
void depthwise_input_gradient(const DepthwiseShape& s, const T* const* dy, const float* weight, const float* flipped,
                              T* dx) {
  if (s.kernel == 3) return depthwise_input_gradient_of<3>(s, dy, weight, flipped, dx);
  if (s.kernel == 5) return depthwise_input_gradient_of<5>(s, dy, weight, flipped, dx);
  depthwise_input_gradient_of<7>(s, dy, weight, flipped, dx);
}

template <class T>
void depthwise_weight_gradient(const DepthwiseShape& s, const T* const* rows, const T* dy, float* dweight) {
  if (s.kernel == 3) return depthwise_weight_gradient_of<3>(s, rows, dy, dweight);
  if (s.kernel == 5) return depthwise_weight_gradient_of<5>(s, rows, dy, dweight);
  depthwise_weight_gradient_of<7>(s, rows, dy, dweight);
}

}  // namespace

}  // namespace evener::engine::kernels
