#include "data/copies.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/random.h"
#include "data/each_index.h"

namespace evener::data {
namespace {

constexpr std::int64_t kLeastComparedSide = 64;  // smaller pictures look the same when they aren't
constexpr std::int64_t kThumbnailSide = 16;
constexpr int kMostGradientsApart = 4;
constexpr double kMostApart = 3;        // of 255, in the mean
constexpr double kLeastDeviation = 12;  // of 255: flat pictures look the same, too

/// What is compared of an image.
struct Print {
  std::uint64_t pixels = 0;     // a hash
  std::uint64_t gradients = 0;  // whether each of 8x8 cells is brighter than its right neighbour
  std::array<std::uint8_t, kThumbnailSide * kThumbnailSide> thumbnail{};
  bool is_flat = true;
};

/// The mean over the cell (row, column) of a grid over the image, and over its channels.
double cell_mean(std::span<const std::uint8_t> chw, const ImageShape& shape, std::int64_t rows, std::int64_t columns,
                 std::int64_t row, std::int64_t column) {
  const std::int64_t top = row * shape.height / rows, bottom = (row + 1) * shape.height / rows;
  const std::int64_t left = column * shape.width / columns, right = (column + 1) * shape.width / columns;
  std::uint64_t sum = 0;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    for (std::int64_t y = top; y < bottom; ++y) {
      const std::uint8_t* const line = chw.data() + (c * shape.height + y) * shape.width;
      for (std::int64_t x = left; x < right; ++x) sum += line[x];
    }
  }
  return static_cast<double>(sum) / static_cast<double>(shape.channels * (bottom - top) * (right - left));
}

Print print_of(std::span<const std::uint8_t> chw, const ImageShape& shape) {
  constexpr std::int64_t kCells = 8;
  Print print;
  print.pixels = hash_text({reinterpret_cast<const char*>(chw.data()), chw.size()});
  if (std::min(shape.height, shape.width) < kLeastComparedSide) return print;
  for (std::int64_t row = 0; row < kCells; ++row) {
    double before = cell_mean(chw, shape, kCells, kCells + 1, row, 0);
    for (std::int64_t column = 1; column <= kCells; ++column) {
      const double mean = cell_mean(chw, shape, kCells, kCells + 1, row, column);
      print.gradients = print.gradients << 1 | (before > mean ? 1 : 0);
      before = mean;
    }
  }
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < std::ssize(print.thumbnail); ++i) {
    const double mean = cell_mean(chw, shape, kThumbnailSide, kThumbnailSide, i / kThumbnailSide, i % kThumbnailSide);
    print.thumbnail[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(mean);
    sum += mean;
    squares += mean * mean;
  }
  const auto cells = static_cast<double>(print.thumbnail.size());
  print.is_flat = squares / cells - (sum / cells) * (sum / cells) < kLeastDeviation * kLeastDeviation;
  return print;
}

/// `a` is not flat.
bool look_the_same(const Print& a, const Print& b) {
  if (b.is_flat || std::popcount(a.gradients ^ b.gradients) > kMostGradientsApart) return false;
  int apart = 0;
  for (std::size_t i = 0; i < a.thumbnail.size(); ++i) apart += std::abs(a.thumbnail[i] - b.thumbnail[i]);
  return apart < kMostApart * static_cast<double>(a.thumbnail.size());
}

std::vector<Print> prints_of(const Dataset& dataset, std::span<const std::uint32_t> samples, int threads) {
  std::vector<Print> prints(samples.size());
  const ImageShape shape = dataset.shape();
  for_each_index(samples.size(), threads, [&](std::size_t i) {
    if (const std::uint8_t* const there = dataset.pixels(samples[i]); there != nullptr) {
      prints[i] = print_of({there, shape.bytes()}, shape);
      return;
    }
    thread_local std::vector<std::uint8_t> pixels;
    pixels.resize(shape.bytes());
    dataset.read(samples[i], pixels);
    prints[i] = print_of(pixels, shape);
  });
  return prints;
}

}  // namespace

std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads) {
  const std::vector<Print> known = prints_of(dataset, trained, threads), asked = prints_of(dataset, judged, threads);
  std::unordered_map<std::uint64_t, std::size_t> by_pixels;
  for (std::size_t i = 0; i < known.size(); ++i) by_pixels.emplace(known[i].pixels, i);
  std::vector<std::optional<CopiedImage>> found(judged.size());
  for_each_index(judged.size(), threads, [&](std::size_t i) {
    if (const auto same = by_pixels.find(asked[i].pixels); same != by_pixels.end()) {
      found[i] = {judged[i], trained[same->second], true};
      return;
    }
    if (asked[i].is_flat) return;
    const auto near = std::ranges::find_if(known, [&](const Print& print) { return look_the_same(asked[i], print); });
    if (near != known.end()) found[i] = {judged[i], trained[static_cast<std::size_t>(near - known.begin())], false};
  });
  std::vector<CopiedImage> copies;
  for (const auto& one : found) {
    if (one) copies.push_back(*one);
  }
  return copies;
}

}  // namespace evener::data
