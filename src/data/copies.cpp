#include "data/copies.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "data/each_index.h"

namespace evener::data {

namespace {

constexpr int kMostBitsApart = 8;
constexpr double kLeastLikeness = 0.95, kLeastDetails = 0.95;
// In drawn pictures, such as masks and digits, most cells are flat. What is left are edges, and outlines of one kind
// share these: details of others correlate by 0.99, those of copies by 0.997 and more.
constexpr double kLeastDrawnDetails = 0.996, kMostFlatCells = 0.45, kFlatDetail = 0.25;
constexpr double kLeastDeviation = 12;  // of 255: flat pictures look the same, too
constexpr double kBrighter = 1.05;
constexpr std::size_t kMostLooks = 64;   // at pairs of one judged image whose hashes agree; the best of them
constexpr std::size_t kMostPairs = 100;  // of one judged image
constexpr std::size_t kOrientations = 8;

/// Cells along a side of the grid from which hashes are computed.
constexpr std::size_t kHashedSide = 32;
/// The bits of a hash, divided into bands of consecutive bits.
constexpr std::size_t kHashBits = 60, kBands = 5, kBandBits = kHashBits / kBands;
constexpr std::size_t kFrequencies = 9;  // along a side; the 60 lowest lie among these

/// Means of the grey values, from 0 to 255, of side x side cells, row by row.
struct GreyGrid {
  std::size_t side = 0;
  std::vector<float> cells;

  float at(std::size_t row, std::size_t column) const { return cells[row * side + column]; }
};

/// Where a pixel of a row or column lies: `share` of it in a cell, and the rest in the next one.
struct CellOfPixel {
  std::size_t cell = 0;
  double share = 1;
};

std::vector<CellOfPixel> cells_of(std::int64_t pixels, std::size_t cells) {
  std::vector<CellOfPixel> all;
  const double width = static_cast<double>(cells) / static_cast<double>(pixels);
  for (std::size_t i = 0; i < static_cast<std::size_t>(pixels); ++i) {
    const std::size_t cell = i * cells / static_cast<std::size_t>(pixels);
    const double begin = static_cast<double>(i * cells) / static_cast<double>(pixels);
    all.push_back({cell, std::min(1.0, (static_cast<double>(cell + 1) - begin) / width)});
  }
  return all;
}

/// The grid of an image (C, H, W), with the mean of all channels as grey. Both sides of the image must have at least
/// `side` pixels.
GreyGrid grey_grid(std::span<const std::uint8_t> chw, const ImageShape& shape, std::size_t side) {
  const std::vector<CellOfPixel> rows = cells_of(shape.height, side), columns = cells_of(shape.width, side);
  const std::size_t stride = side + 1;  // what is left for a cell after the last is rounding
  std::vector<double> sums(stride * stride);
  for (std::size_t y = 0; y < rows.size(); ++y) {
    for (std::size_t x = 0; x < columns.size(); ++x) {
      int grey = 0;
      for (std::size_t i = y * columns.size() + x; i < chw.size(); i += rows.size() * columns.size()) grey += chw[i];
      const double upper = rows[y].share * grey, lower = grey - upper, left = columns[x].share;
      double* const at = &sums[rows[y].cell * stride + columns[x].cell];
      at[0] += upper * left, at[1] += upper * (1 - left);
      at[stride] += lower * left, at[stride + 1] += lower * (1 - left);
    }
  }
  const double pixels_of_cell = static_cast<double>(shape.bytes()) / static_cast<double>(side * side);
  GreyGrid grid{side, {}};
  for (std::size_t i = 0; i < side * side; ++i) {
    grid.cells.push_back(static_cast<float>(sums[i / side * stride + i % side] / pixels_of_cell));
  }
  return grid;
}

/// The grid in one of the orientations (CopyRelation::turned).
GreyGrid oriented(const GreyGrid& grid, std::size_t orientation) {
  GreyGrid turned{grid.side, {}};
  const std::size_t last = grid.side - 1;
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    const std::size_t row = i / grid.side, column = i % grid.side;
    const std::size_t y = (orientation & 2) != 0 ? last - row : row,
                      x = (orientation & 1) != 0 ? last - column : column;
    turned.cells.push_back((orientation & 4) != 0 ? grid.at(x, y) : grid.at(y, x));
  }
  return turned;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double covariance(const std::vector<float>& a, const std::vector<float>& b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(a.size());
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  const double norm = covariance(a, a) * covariance(b, b);
  return norm > 0 ? covariance(a, b) / std::sqrt(norm) : 0;
}

/// Means of each cell and its eight neighbours, weighted 1-2-1 along both sides; the border's are repeated.
GreyGrid blurred(const GreyGrid& grid) {
  GreyGrid blur{grid.side, {}};
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    const auto around = [&](std::size_t at) {
      return std::array{at - (at > 0 ? 1 : 0), at, at, std::min(at + 1, grid.side - 1)};
    };
    float sum = 0;
    for (const std::size_t row : around(i / grid.side)) {
      for (const std::size_t column : around(i % grid.side)) sum += grid.at(row, column);
    }
    blur.cells.push_back(sum / 16);
  }
  return blur;
}

GreyGrid halved(const GreyGrid& grid) {
  GreyGrid half{grid.side / 2, {}};
  for (std::size_t i = 0; i < half.side * half.side; ++i) {
    const std::size_t row = i / half.side * 2, column = i % half.side * 2;
    half.cells.push_back(
        (grid.at(row, column) + grid.at(row, column + 1) + grid.at(row + 1, column) + grid.at(row + 1, column + 1)) /
        4);
  }
  return half;
}

/// The structure finer than 5 cells.
std::vector<float> details_of(const GreyGrid& grid) {
  std::vector<float> details = blurred(blurred(grid)).cells;
  for (std::size_t i = 0; i < details.size(); ++i) details[i] = grid.cells[i] - details[i];
  return details;
}

/// Whether the picture of these details is drawn: those of most cells are far below the root of their mean square.
bool is_drawn(const std::vector<float>& details) {
  const double limit = kFlatDetail * std::sqrt(covariance(details, details));
  const auto flat = std::ranges::count_if(details, [limit](float detail) { return std::abs(detail) < limit; });
  return static_cast<double>(flat) > kMostFlatCells * static_cast<double>(details.size());
}

/// The frequencies (of rows, of columns) of the bits, lowest first.
std::vector<std::pair<std::size_t, std::size_t>> lowest_frequencies() {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t i = 1; i < kFrequencies * kFrequencies; ++i) {  // 0 is the mean
    all.emplace_back(i / kFrequencies, i % kFrequencies);
  }
  std::ranges::stable_sort(all, {}, [](const auto& f) { return f.first * f.first + f.second * f.second; });
  all.resize(kHashBits);
  return all;
}

/// A bit says whether a coefficient of the grid's cosine transform is positive: the 60 lowest frequencies but the mean,
/// so that brightness and contrast don't matter. Frequencies are dealt to the bands in turn, so that each band has low
/// ones. As in pHash and PDQ, but with zero in place of the median.
std::uint64_t hash_of(const GreyGrid& grid) {
  // A coefficient below this share of the length of all coefficients counts as zero, lest rounding decide its sign, as
  // in symmetric images.
  constexpr double kZero = 1e-3;
  static const auto frequencies = lowest_frequencies();
  static const auto cosines = [] {
    std::array<std::array<double, kHashedSide>, kFrequencies> made;
    for (std::size_t u = 0; u < kFrequencies; ++u) {
      for (std::size_t i = 0; i < kHashedSide; ++i) {
        const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(kHashedSide);
        made[u][i] = std::cos(std::numbers::pi * static_cast<double>(u) * place);
      }
    }
    return made;
  }();
  std::array<std::array<double, kHashedSide>, kFrequencies> rows{};
  for (std::size_t u = 0; u < kFrequencies; ++u) {
    for (std::size_t i = 0; i < grid.cells.size(); ++i) {
      rows[u][i % kHashedSide] += cosines[u][i / kHashedSide] * grid.cells[i];
    }
  }
  std::array<double, kHashBits> coefficients{};
  double squares = 0;
  for (std::size_t i = 0; i < kHashBits; ++i) {
    const auto& [u, v] = frequencies[i];
    for (std::size_t x = 0; x < kHashedSide; ++x) coefficients[i] += rows[u][x] * cosines[v][x];
    squares += coefficients[i] * coefficients[i];
  }
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kHashBits; ++i) {
    bits |= std::uint64_t{coefficients[i] > kZero * std::sqrt(squares)} << (i % kBands * kBandBits + i / kBands);
  }
  return bits;
}

void with_pixels(const Dataset& dataset, std::uint32_t sample,
                 const std::function<void(std::span<const std::uint8_t> chw)>& use) {
  const std::size_t bytes = dataset.shape().bytes();
  if (const std::uint8_t* const there = dataset.pixels(sample); there != nullptr) {
    use({there, bytes});
    return;
  }
  thread_local std::vector<std::uint8_t> pixels;
  pixels.resize(bytes);
  dataset.read(sample, pixels);
  use(pixels);
}

/// What is kept of an image after it was read once.
struct Print {
  std::uint64_t pixels = 0;           // a hash of all
  std::vector<std::uint64_t> hashes;  // of its first orientations; none: it is too small, or dull
};

std::vector<Print> prints_of(const Dataset& dataset, std::span<const std::uint32_t> samples,
                             std::size_t orientation_count, int threads) {
  std::vector<Print> prints(samples.size());
  for_each_index(samples.size(), threads, [&](std::size_t i) {
    with_pixels(dataset, samples[i], [&](std::span<const std::uint8_t> chw) {
      prints[i].pixels = hash_text({reinterpret_cast<const char*>(chw.data()), chw.size()});
      if (!near_copies_are_sought(dataset.shape())) return;
      const GreyGrid grid = grey_grid(chw, dataset.shape(), kHashedSide);
      if (std::sqrt(covariance(grid.cells, grid.cells)) < kLeastDeviation) return;
      for (std::size_t o = 0; o < orientation_count; ++o) prints[i].hashes.push_back(hash_of(oriented(grid, o)));
    });
  });
  return prints;
}

/// A training image that a judged one may be a copy of, as an index.
struct Likely {
  int bits_apart = 0;
  std::size_t trained = 0, turned = 0;

  auto operator<=>(const Likely&) const = default;
};

/// Finds training images by the bands of their hashes.
class HashIndex {
 public:
  explicit HashIndex(const std::vector<Print>& known) : known_(known), members_(kBands << kBandBits) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].hashes.empty()) continue;
      for (std::size_t band = 0; band < kBands; ++band) {
        members_[bucket_of(known[i].hashes.front(), band)].push_back(static_cast<std::uint32_t>(i));
      }
    }
  }

  /// The likeliest candidates for an image, likeliest first; of each as many orientations as agree.
  std::vector<Likely> find(const Print& asked) const {
    std::vector<Likely> found;
    for (std::size_t turned = 0; turned < asked.hashes.size(); ++turned) {
      for (std::size_t band = 0; band < kBands; ++band) {
        for (const std::uint32_t i : members_[bucket_of(asked.hashes[turned], band)]) {
          const int apart = std::popcount(known_[i].hashes.front() ^ asked.hashes[turned]);
          if (apart <= kMostBitsApart) found.push_back({apart, i, turned});
        }
      }
    }
    std::ranges::sort(found);
    const auto repeated = std::ranges::unique(found);
    found.erase(repeated.begin(), repeated.end());
    if (found.size() > kMostLooks) found.resize(kMostLooks);
    return found;
  }

 private:
  static std::size_t bucket_of(std::uint64_t hash, std::size_t band) {
    return band << kBandBits | (hash >> (band * kBandBits) & ((std::size_t{1} << kBandBits) - 1));
  }

  const std::vector<Print>& known_;
  std::vector<std::vector<std::uint32_t>> members_;
};

GreyGrid grid_of(const Dataset& dataset, std::uint32_t sample) {
  GreyGrid grid;
  with_pixels(dataset, sample,
              [&](std::span<const std::uint8_t> chw) { grid = grey_grid(chw, dataset.shape(), kHashedSide); });
  return grid;
}

/// The correlation of the details of two images, where it and that of their grey values are those of copies.
std::optional<double> details_if_copies(GreyGrid a, GreyGrid b, const ImageShape& shape) {
  const GreyGrid coarse_a = halved(a), coarse_b = halved(b);
  const bool are_drawn = is_drawn(details_of(coarse_a)) || is_drawn(details_of(coarse_b));
  const bool is_small = std::min(shape.height, shape.width) < 2 * static_cast<std::int64_t>(kHashedSide);
  if (is_small || are_drawn) a = coarse_a, b = coarse_b;  // scaling and encoding change single pixels and edges
  const double details = correlation(details_of(a), details_of(b));
  if (correlation(a.cells, b.cells) < kLeastLikeness || details < (are_drawn ? kLeastDrawnDetails : kLeastDetails)) {
    return {};
  }
  return details;
}

/// Those candidate pairs of one judged image that really are near copies, each training image once, nearest first.
std::vector<CopiedImage> near_copies(const Dataset& dataset, const std::vector<Likely>& pairs,
                                     std::span<const std::uint32_t> trained, std::uint32_t judged) {
  std::vector<CopiedImage> copies;
  if (pairs.empty()) return copies;
  const GreyGrid asked = grid_of(dataset, judged);
  for (const Likely& pair : pairs) {
    const GreyGrid turned = oriented(asked, pair.turned), known = grid_of(dataset, trained[pair.trained]);
    const auto details = details_if_copies(turned, known, dataset.shape());
    if (!details) continue;
    const double gain = mean_of(turned.cells) / std::max(1.0, mean_of(known.cells));
    const CopiedImage copy{judged, trained[pair.trained], {.turned = pair.turned, .gain = gain}, 1 - *details};
    const auto same = std::ranges::find(copies, copy.trained, &CopiedImage::trained);
    if (same == copies.end()) {
      copies.push_back(copy);
    } else if (copy.distance < same->distance) {
      *same = copy;
    }
  }
  std::ranges::stable_sort(copies, {}, &CopiedImage::distance);
  return copies;
}

}  // namespace

bool near_copies_are_sought(const ImageShape& shape) {
  return std::min(shape.height, shape.width) >= kLeastComparedSide;
}

std::string CopyRelation::text() const {
  if (is_exact) return "the same";
  // How the judged image differs, by the index of the orientation that turns it back.
  static constexpr std::array<const char*, kOrientations> kTurned = {"",
                                                                     "mirrored",
                                                                     "mirrored top to bottom",
                                                                     "turned by 180 degrees",
                                                                     "turned right by 90 degrees and mirrored",
                                                                     "turned left by 90 degrees",
                                                                     "turned right by 90 degrees",
                                                                     "turned left by 90 degrees and mirrored"};
  const std::string change = gain > kBrighter ? "brighter" : gain < 1 / kBrighter ? "darker" : "";
  const std::string turn = kTurned.at(turned);
  if (turn.empty() && change.empty()) return "nearly the same";
  return turn + (turn.empty() || change.empty() ? "" : ", ") + change;
}

std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads) {
  const std::vector<Print> known = prints_of(dataset, trained, 1, threads);
  const std::vector<Print> asked = prints_of(dataset, judged, kOrientations, threads);
  const HashIndex index(known);
  std::unordered_multimap<std::uint64_t, std::size_t> by_pixels;
  for (std::size_t i = 0; i < known.size(); ++i) by_pixels.emplace(known[i].pixels, i);
  std::vector<std::vector<CopiedImage>> found(judged.size());
  for_each_index(judged.size(), threads, [&](std::size_t i) {
    const auto [first, last] = by_pixels.equal_range(asked[i].pixels);
    for (auto same = first; same != last; ++same) {
      found[i].push_back({judged[i], trained[same->second], {.is_exact = true}, 0});
    }
    std::ranges::sort(found[i], {}, &CopiedImage::trained);
    const std::vector<CopiedImage> exact = found[i];
    for (const CopiedImage& copy : near_copies(dataset, index.find(asked[i]), trained, judged[i])) {
      if (std::ranges::find(exact, copy.trained, &CopiedImage::trained) == exact.end()) found[i].push_back(copy);
    }
    if (found[i].size() > kMostPairs) found[i].resize(kMostPairs);
  });
  std::vector<CopiedImage> copies;
  for (const std::vector<CopiedImage>& each : found) copies.insert(copies.end(), each.begin(), each.end());
  return copies;
}

}  // namespace evener::data
