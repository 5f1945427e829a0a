#include "data/codecs/colour.h"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace evener::data {

namespace {

/// a * b / 255, rounded.
std::uint8_t product_of_shares(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

#if defined(__x86_64__)

/// For the 48 bytes of 16 pixels in three registers: where the bytes of a channel go, 0x80 = nowhere.
struct PlaneShuffles {
  alignas(16) std::uint8_t bytes[3][3][16];

  constexpr PlaneShuffles() : bytes() {
    for (int channel = 0; channel < 3; ++channel) {
      for (int part = 0; part < 3; ++part) {
        for (int pixel = 0; pixel < 16; ++pixel) {
          const int from = 3 * pixel + channel;
          bytes[channel][part][pixel] = static_cast<std::uint8_t>(from / 16 == part ? from % 16 : 0x80);
        }
      }
    }
  }
};

/// Splits as many pixels as fill registers; returns how many.
__attribute__((target("ssse3"))) std::size_t split_by_sixteen(const std::uint8_t* in, std::size_t plane,
                                                              std::uint8_t* out) {
  static constexpr PlaneShuffles kShuffles;
  std::size_t i = 0;
  for (; i + 16 <= plane; i += 16, in += 48) {
    const auto* from = reinterpret_cast<const __m128i*>(in);
    const __m128i parts[3] = {_mm_loadu_si128(from), _mm_loadu_si128(from + 1), _mm_loadu_si128(from + 2)};
    for (std::size_t c = 0; c < 3; ++c) {
      const auto* shuffle = reinterpret_cast<const __m128i*>(kShuffles.bytes[c]);
      const __m128i first = _mm_shuffle_epi8(parts[0], _mm_load_si128(shuffle));
      const __m128i second = _mm_shuffle_epi8(parts[1], _mm_load_si128(shuffle + 1));
      const __m128i third = _mm_shuffle_epi8(parts[2], _mm_load_si128(shuffle + 2));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + c * plane + i),
                       _mm_or_si128(_mm_or_si128(first, second), third));
    }
  }
  return i;
}

std::size_t split_quickly(const std::uint8_t* in, std::size_t plane, std::uint8_t* out) {
  static const bool has_ssse3 = __builtin_cpu_supports("ssse3") != 0;
  return has_ssse3 ? split_by_sixteen(in, plane, out) : 0;
}

#else

std::size_t split_quickly(const std::uint8_t*, std::size_t, std::uint8_t*) {
  return 0;
}

#endif

}  // namespace

Picture to_grey(Picture picture) {
  if (picture.channels == 1) return picture;
  Picture grey = Picture::unset(1, picture.height, picture.width);
  const std::int64_t count = picture.height * picture.width;
  const std::uint8_t* in = picture.pixels.get();
  std::uint8_t* out = grey.pixels.get();
  for (std::int64_t i = 0; i < count; ++i, in += 3) out[i] = luma(in[0], in[1], in[2]);
  return grey;
}

void inverted_cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, cmyk += 4, rgb += 3) {
    const std::uint32_t paper = cmyk[3];
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(paper - product_of_shares(255u - cmyk[c], paper));
  }
}

void write_planes(const Picture& picture, std::int64_t channels, std::span<std::uint8_t> chw) {
  const std::size_t plane = static_cast<std::size_t>(picture.height * picture.width);
  assert(chw.size() >= plane * static_cast<std::size_t>(channels));
  const std::uint8_t* in = picture.pixels.get();
  if (picture.channels == 1) {
    for (std::int64_t c = 0; c < channels; ++c)
      std::memcpy(chw.data() + static_cast<std::size_t>(c) * plane, in, plane);
    return;
  }
  assert(picture.channels == 3 && channels == 3);
  std::uint8_t* red = chw.data();
  std::uint8_t* green = red + plane;
  std::uint8_t* blue = green + plane;
  const std::size_t done = split_quickly(in, plane, chw.data());
  in += 3 * done;
  for (std::size_t i = done; i < plane; ++i, in += 3) {
    red[i] = in[0];
    green[i] = in[1];
    blue[i] = in[2];
  }
}

Picture from_planes(std::span<const std::uint8_t> chw, std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(3, height, width);
  const auto plane = static_cast<std::size_t>(height * width);
  assert(chw.size() >= 3 * plane);
  std::uint8_t* out = picture.pixels.get();
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c) *out++ = chw[c * plane + i];
  }
  return picture;
}

}  // namespace evener::data
