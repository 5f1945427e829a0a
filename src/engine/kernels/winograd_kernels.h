// Inside engine/kernels: convolutions by Winograd's algorithm (winograd.h). Transformed weights lie in panels of 64
// output channels, of which each has a matrix (in channels, panel's channels) for each frequency; so do products and
// the sums of gradients. `Scheme` is the algorithm: its transforms (winograd_transforms.h), and how operands are stored
// and multiplied.
#pragma once

#include "engine/kernels/tile_product.h"
#include "engine/kernels/winograd.h"
#include "engine/kernels/winograd_transforms.h"

namespace evener::engine::kernels {
namespace {

/// The registers of this level: a tile of products is kTileRows times kTileVectors of them.
constexpr int kTileRows = 6, kTileVectors = kAvx512 ? 4 : 2;

/// F(4x4, 3x3) with products of float32.
struct FloatProducts : FourByFour {
  static constexpr WinogradProducts kProducts = WinogradProducts::kFloat32;
  static constexpr int kInUnit = 1;  // values of an operand in a unit of four bytes
  using Math = WidestMath;           // on units

  /// Stores the values of the channels from `channel` on, where all channels follow each other.
  [[gnu::always_inline]] static void put_channels(float* to, std::int64_t channel, WidestFloat values) {
    store<WidestLanes>(to + channel, values);
  }
  /// Stores a vector of values as the `place`-th ones of units.
  [[gnu::always_inline]] static void put(float* to, WidestFloat value, std::int64_t /*place*/) {
    store<WidestLanes>(to, value);
  }
};

template <class Scheme>
constexpr int kFrequencies = Scheme::kTileIn* Scheme::kTileIn;

/// Math for values that lie outside the caches: it prefetches those needed soon.
template <class Math>
struct MathAhead : Math {
  [[gnu::always_inline]] static typename Math::Vector load(const float* from) {
    constexpr int kAhead = 512;
    __builtin_prefetch(from + kAhead);
    return Math::load(from);
  }
};

/// The right operands of products, (rows, width) each, lie in strips of columns, so that what a tile of products reads
/// is one piece of memory: element (r, c) at strip(c) + r * strip_width + c % strip_width.
struct Strips {
  std::int64_t rows, width;

  static constexpr std::int64_t kWidest = kTileVectors * kWidestLanes;

  std::int64_t strip_width() const { return width < kWidest ? width : kWidest; }
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    if (width < kWidest) return row * width + column;
    return column / kWidest * rows * kWidest + row * kWidest + column % kWidest;  // by a constant: no division
  }
};

/// c (rows, width) = a (rows, k) b (k, width), or c += that, over k units. Unit (r, i) of a lies at r * a_row + i *
/// a_step. `b` has at least k rows.
template <class Math, bool kAdd>
void multiply_matrices(std::int64_t rows, std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_step,
                       const float* b, const Strips& strips, float* c) {
  const std::int64_t width = strips.width, strip = strips.strip_width();
  const auto tile = [&](auto math, auto vectors, std::int64_t row, std::int64_t first) {
    with_rows<kTileRows>(rows - row < kTileRows ? rows - row : kTileRows, [&](auto tile_rows) {
      constexpr int R = decltype(tile_rows)::value, N = decltype(vectors)::value;
      WidestFloat sum[R][N];
      multiply_tile<decltype(math)>(sum, a + row * a_row, a_row, a_step, b + strips.at(0, first), strip, k);
      for (int r = 0; r < R; ++r) {
        for (int n = 0; n < N; ++n) {
          float* const to = c + (row + r) * width + first + n * kWidestLanes;
          if constexpr (kAdd) sum[r][n] += load<WidestLanes>(to);
          store<WidestLanes>(to, sum[r][n]);
        }
      }
    });
  };
  const auto columns = [&](auto vectors, std::int64_t first) {
    tile(MathAhead<Math>(), vectors, 0, first);
    for (std::int64_t row = kTileRows; row < rows; row += kTileRows) tile(Math(), vectors, row, first);
  };
  std::int64_t column = 0;
  for (; column + kTileVectors * kWidestLanes <= width; column += kTileVectors * kWidestLanes) {
    columns(Constant<kTileVectors>(), column);
  }
  for (; column < width; column += kWidestLanes) columns(Constant<1>(), column);
}

/// The position of a tile.
struct TilePlace {
  std::int64_t image, row, column;  // of its first output pixel
};
template <class Scheme>
TilePlace tile_place(const WinogradShape& s, std::int64_t tile) {
  const std::int64_t columns = s.tile_columns(), of_image = s.tile_rows() * columns;
  const std::int64_t left = tile % of_image;
  return {tile / of_image, left / columns * Scheme::kTileOut, left % columns * Scheme::kTileOut};
}

/// Loads the pixels of a square whose first one is (row, column); pixels outside the image are zeros.
template <class T, int Side>
struct Square {
  const T* at[Side][Side];

  Square(const T* image, std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t row,
         std::int64_t column, const T* zeros) {
    for (int i = 0; i < Side; ++i) {
      const bool row_counts = row + i >= 0 && row + i < height;
      for (int j = 0; j < Side; ++j) {
        const bool counts = row_counts && column + j >= 0 && column + j < width;
        at[i][j] = counts ? image + ((row + i) * width + column + j) * channels : zeros;
      }
    }
  }
};

/// Transforms the square of inputs of a tile: to(f, c, value) takes a vector of channels from c on of frequency f.
template <class Scheme, class T, class To>
[[gnu::always_inline]] inline void transform_input_tile(const WinogradShape& s, const T* x, const TilePlace& place,
                                                        const T* zeros, To to) {
  constexpr int kTileIn = Scheme::kTileIn;
  const Square<T, kTileIn> square(x + place.image * s.height * s.width * s.in_channels, s.height, s.width,
                                  s.in_channels, place.row - s.padding, place.column - s.padding, zeros);
  for (std::int64_t c = 0; c < s.in_channels; c += kWidestLanes) {
    transform_square<WidestLanes, kTileIn, kTileIn>(
        [](const auto& d, auto& v) __attribute__((always_inline)) { Scheme::transform_inputs(d, v); },
        [&](int i, int j) __attribute__((always_inline)) { return load<WidestLanes>(square.at[i][j] + c); },
        [&](int i, int j, WidestFloat value) __attribute__((always_inline)) { to(i * kTileIn + j, c, value); });
  }
}

/// A panel of output channels: [first, first + width).
struct WinogradPanel {
  std::int64_t first, width;
};
inline WinogradPanel winograd_panel(std::int64_t out_channels, std::int64_t panel) {
  const std::int64_t first = panel * kWinogradPanel, left = out_channels - first;
  return {first, left < kWinogradPanel ? left : kWinogradPanel};
}

/// Computes a tile's output pixels from its products.
template <class Scheme, class T>
void finish_tile(const WinogradForward<T>& work, const TilePlace& place, const WinogradPanel& panel,
                 const float* products, std::int64_t step) {
  constexpr int kTileIn = Scheme::kTileIn;
  const WinogradShape& s = work.shape;
  const std::int64_t height = s.out_height(), width = s.out_width();
  const std::int64_t rows = height - place.row, columns = width - place.column;
  const std::int64_t at = ((place.image * height + place.row) * width + place.column) * s.out_channels + panel.first;
  for (std::int64_t c = 0; c < panel.width; c += kWidestLanes) {
    WidestFloat bias{};
    if (work.bias != nullptr) bias = load<WidestLanes>(work.bias + panel.first + c);
    transform_square<WidestLanes, kTileIn, Scheme::kTileOut>(
        [](const auto& m, auto& y) __attribute__((always_inline)) { Scheme::transform_outputs(m, y); },
        [&](int i, int j)
            __attribute__((always_inline)) { return load<WidestLanes>(products + (i * kTileIn + j) * step + c); },
        [&](int i, int j, WidestFloat value) __attribute__((always_inline)) {
          if (i >= rows || j >= columns) return;
          const std::int64_t pixel = at + (i * width + j) * s.out_channels + c;
          value += bias;
          if (work.residual != nullptr) value += load<WidestLanes>(work.residual + pixel);
          store<WidestLanes>(work.y + pixel, clamped<WidestLanes>(value, work.clamp));
        });
  }
}

/// Fills the first values of `scratch` with zeros, and returns them as values of any type.
template <class T>
const T* zeros_in(float* scratch, std::int64_t count) {
  zero(scratch, count);
  return reinterpret_cast<const T*>(scratch);
}

template <class Scheme, class T>
void winograd_forward(const WinogradForward<T>& work, float* scratch, const WinogradPart& part) {
  const WinogradShape& s = work.shape;
  constexpr int kFrequencies = kernels::kFrequencies<Scheme>;
  const std::int64_t depth = s.in_channels / Scheme::kInUnit;
  const WinogradPanels weights{kFrequencies, depth};
  const std::int64_t block = winograd_block_tiles(s), input_step = winograd_input_step(s, block);
  const T* const zeros = zeros_in<T>(scratch, s.in_channels);
  float* const inputs = scratch + s.in_channels;
  float* const products = inputs + kFrequencies * input_step;
  const std::int64_t all = part.last_tile - part.first_tile;
  const std::int64_t blocks = (all + block - 1) / block;
  const WinogradPanels images{kFrequencies, block};
  const std::int64_t group = winograd_group_channels(s);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = part.first_tile + all * b / blocks;
    const std::int64_t tiles = part.first_tile + all * (b + 1) / blocks - first;
    for (std::int64_t t = 0; t < tiles; ++t) {
      float* const to = inputs + t * depth;
      transform_input_tile<Scheme>(
          s, work.x, tile_place<Scheme>(s, first + t),
          zeros, [&](int f, std::int64_t c, WidestFloat value) __attribute__((always_inline)) {
            Scheme::put_channels(to + f * input_step, c, value);
          });
    }
    for (std::int64_t g = part.first_channel; g < part.last_channel; g += group) {
      const std::int64_t end = g + group < part.last_channel ? g + group : part.last_channel;
      for (int f = 0; f < kFrequencies; ++f) {
        for (std::int64_t c = g; c < end; c += kWinogradPanel) {
          const WinogradPanel panel = winograd_panel(s.out_channels, c / kWinogradPanel);
          multiply_matrices<typename Scheme::Math, false>(
              tiles, depth, inputs + f * input_step, depth, 1,
              work.weights + weights.begin(panel.first) + f * weights.step(panel.width), {depth, panel.width},
              products + images.begin(c - g) + f * images.step(panel.width));
        }
      }
      for (std::int64_t c = g; c < end; c += kWinogradPanel) {
        const WinogradPanel panel = winograd_panel(s.out_channels, c / kWinogradPanel);
        for (std::int64_t t = 0; t < tiles; ++t) {
          finish_tile<Scheme>(work, tile_place<Scheme>(s, first + t), panel,
                              products + images.begin(c - g) + t * panel.width, images.step(panel.width));
        }
      }
    }
  }
}

/// The taps of 16 by 16 pairs of channels, between the order of the weights and vectors of output channels.
struct TapBlock {
  float at[kTaps * kTaps][16][16];  // [tap][input channel][output channel]
};

template <class Scheme>
void transform_weights(const WinogradWeights& from, float* transformed, std::int64_t begin, std::int64_t end) {
  const WeightSteps& steps = from.steps;
  for (std::int64_t first = begin * 16; first < end * 16; first += 16) {
    const WinogradPanel panel = winograd_panel(from.out_channels, first / kWinogradPanel);
    const std::int64_t depth = from.in_channels / Scheme::kInUnit;
    const WinogradPanels panels{kFrequencies<Scheme>, depth};
    const Strips strips{depth, panel.width};
    float* const matrices = transformed + panels.begin(panel.first);
    const std::int64_t step = panels.step(panel.width);
    for (std::int64_t channel = 0; channel < from.in_channels; channel += 16) {
      TapBlock taps;
      const float* const block = from.weights + first * steps.out + channel * steps.in;
      for (int tap = 0; tap < kTaps * kTaps; ++tap) {
        const float* const weights = block + tap / kTaps * steps.row + tap % kTaps * steps.column;
        for (int o = 0; o < 16; ++o) {
          for (int i = 0; i < 16; ++i) taps.at[tap][i][o] = weights[o * steps.out + i * steps.in];
        }
      }
      for (int i = 0; i < 16; ++i) {
        for (int o = 0; o < 16; o += kWidestLanes) {
          float* const to = matrices + strips.at((channel + i) / Scheme::kInUnit, first - panel.first + o);
          transform_square<WidestLanes, kTaps, Scheme::kTileIn>(
              [](const auto& w, auto& u) __attribute__((always_inline)) { Scheme::transform_taps(w, u); },
              [&](int r, int c)
                  __attribute__((always_inline)) { return load<WidestLanes>(&taps.at[r * kTaps + c][i][o]); },
              [&](int r, int c, WidestFloat value) __attribute__((always_inline)) {
                Scheme::put(to + (r * Scheme::kTileIn + c) * step, value, i % Scheme::kInUnit);
              });
        }
      }
    }
  }
}

/// Transforms the gradients of a tile's output pixels, for the channels of `work`. `tile` is its number in `to`.
template <class Scheme, class T>
void transform_gradient_tile(const WinogradGradient<T>& work, const TilePlace& place, const T* zeros, std::int64_t tile,
                             const WinogradPanels& panels, float* to) {
  constexpr int kTileIn = Scheme::kTileIn, kTileOut = Scheme::kTileOut;
  const WinogradShape& s = work.shape;
  const std::int64_t height = s.out_height(), width = s.out_width();
  const Square<T, kTileOut> square(work.dy + place.image * height * width * s.out_channels, height, width,
                                   s.out_channels, place.row, place.column, zeros);
  for (std::int64_t c = work.part.first_channel; c < work.part.last_channel; c += kWidestLanes) {
    const WinogradPanel panel = winograd_panel(s.out_channels, c / kWinogradPanel);
    float* const at = to + panels.begin(panel.first - work.part.first_channel) +
                      Strips{panels.rows, panel.width}.at(tile / Scheme::kInUnit, c - panel.first);
    const std::int64_t step = panels.step(panel.width);
    transform_square<WidestLanes, kTileOut, kTileIn>(
        [](const auto& g, auto& v) __attribute__((always_inline)) { Scheme::transform_gradients(g, v); },
        [&](int i, int j) __attribute__((always_inline)) { return load<WidestLanes>(square.at[i][j] + c); },
        [&](int i, int j, WidestFloat value) __attribute__((always_inline)) {
          Scheme::put(at + (i * kTileIn + j) * step, value, tile % Scheme::kInUnit);
        });
  }
}

template <class Scheme, class T>
void sum_gradient(const WinogradGradient<T>& work, float* scratch) {
  constexpr int kFrequencies = kernels::kFrequencies<Scheme>, kInUnit = Scheme::kInUnit;
  const WinogradShape& s = work.shape;
  const std::int64_t chunk = winograd_chunk_tiles(s, work.part.last_channel - work.part.first_channel);
  const std::int64_t input_step = winograd_input_step(s, chunk);
  const WinogradPanels images{kFrequencies, chunk / kInUnit}, weights{kFrequencies, s.in_channels};
  const std::int64_t most_channels = s.in_channels < s.out_channels ? s.out_channels : s.in_channels;
  const T* const zeros = zeros_in<T>(scratch, most_channels);
  float* const inputs = scratch + most_channels;
  float* const gradients = inputs + kFrequencies * input_step;
  if (work.part.first_tile == work.part.last_tile) {
    zero(work.sums + weights.begin(work.part.first_channel),
         weights.begin(work.part.last_channel) - weights.begin(work.part.first_channel));
  }
  for (std::int64_t first = work.part.first_tile; first < work.part.last_tile; first += chunk) {
    const std::int64_t tiles = work.part.last_tile - first < chunk ? work.part.last_tile - first : chunk;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const TilePlace place = tile_place<Scheme>(s, first + t);
      float* const to = inputs + t / kInUnit * s.in_channels;
      transform_input_tile<Scheme>(
          s, work.x, place, zeros, [&](int f, std::int64_t c, WidestFloat value) __attribute__((always_inline)) {
            Scheme::put(to + f * input_step + c, value, t % kInUnit);
          });
      transform_gradient_tile<Scheme>(work, place, zeros, t, images, gradients);
    }
    for (std::int64_t c = work.part.first_channel; c < work.part.last_channel; c += kWinogradPanel) {
      const WinogradPanel panel = winograd_panel(s.out_channels, c / kWinogradPanel);
      const Strips strips{chunk / kInUnit, panel.width};
      const std::int64_t depth = (tiles + kInUnit - 1) / kInUnit;
      for (int f = 0; f < kFrequencies; ++f) {
        const float* const x = inputs + f * input_step;
        const float* const dy = gradients + images.begin(c - work.part.first_channel) + f * images.step(panel.width);
        float* const sums = work.sums + weights.begin(c) + f * weights.step(panel.width);
        if (first == work.part.first_tile) {
          multiply_matrices<typename Scheme::Math, false>(s.in_channels, depth, x, 1, s.in_channels, dy, strips, sums);
        } else {
          multiply_matrices<typename Scheme::Math, true>(s.in_channels, depth, x, 1, s.in_channels, dy, strips, sums);
        }
      }
    }
  }
}

template <class Scheme>
void finish_gradient(const WinogradShape& s, const float* sums, float* gradient, const WeightSteps& steps,
                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t first = begin * 16; first < end * 16; first += 16) {
    const WinogradPanel panel = winograd_panel(s.out_channels, first / kWinogradPanel);
    const WinogradPanels panels{kFrequencies<Scheme>, s.in_channels};
    const float* const matrices = sums + panels.begin(panel.first) + first - panel.first;
    const std::int64_t step = panels.step(panel.width);
    for (std::int64_t channel = 0; channel < s.in_channels; channel += 16) {
      TapBlock taps;
      for (int i = 0; i < 16; ++i) {
        for (int o = 0; o < 16; o += kWidestLanes) {
          const float* const at = matrices + (channel + i) * panel.width + o;
          transform_square<WidestLanes, Scheme::kTileIn, kTaps>(
              [](const auto& u, auto& w) __attribute__((always_inline)) { Scheme::gather_taps(u, w); },
              [&](int r, int c)
                  __attribute__((always_inline)) { return load<WidestLanes>(at + (r * Scheme::kTileIn + c) * step); },
              [&](int r, int c, WidestFloat value)
                  __attribute__((always_inline)) { store<WidestLanes>(&taps.at[r * kTaps + c][i][o], value); });
        }
      }
      float* const block = gradient + first * steps.out + channel * steps.in;
      for (int tap = 0; tap < kTaps * kTaps; ++tap) {
        float* const weights = block + tap / kTaps * steps.row + tap % kTaps * steps.column;
        for (int o = 0; o < 16; ++o) {
          for (int i = 0; i < 16; ++i) weights[o * steps.out + i * steps.in] = taps.at[tap][i][o];
        }
      }
    }
  }
}

template <class Scheme, class T>
constexpr WinogradKernels<T> winograd_kernels_of() {
  return {Scheme::kProducts, winograd_forward<Scheme, T>, sum_gradient<Scheme, T>, transform_weights<Scheme>,
          finish_gradient<Scheme>};
}

}  // namespace
}  // namespace evener::engine::kernels
