#include "data/copies.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "data/crop_hashes.h"
#include "data/each_index.h"

namespace evener::data {

namespace {

constexpr double kFirstStep = 0.02, kLastStep = 0.004;  // of a side
constexpr double kLeastExtent = 0.88;

/// GridSums over rectangles of a grid, of which edges may lie within cells.
class GridSums {
 public:
  explicit GridSums(const GreyGrid& grid) : edges_(grid.side + 1), sums_(static_cast<std::size_t>(edges_ * edges_)) {
    for (std::int64_t y = 1; y < edges_; ++y) {
      for (std::int64_t x = 1; x < edges_; ++x) {
        at(y, x) = at(y - 1, x) + at(y, x - 1) - at(y - 1, x - 1) + static_cast<double>(grid.at(y - 1, x - 1));
      }
    }
  }

  /// The means of a crop's side x side cells.
  GreyGrid cells_of(const Crop& crop, std::int64_t side) const {
    const auto length = static_cast<std::size_t>(side + 1);
    std::vector<double> corners(length * length);
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const auto row = static_cast<double>(i / length) / static_cast<double>(side);
      const auto column = static_cast<double>(i % length) / static_cast<double>(side);
      corners[i] = up_to(crop.top + row * (crop.bottom - crop.top), crop.left + column * (crop.right - crop.left));
    }
    const auto grid_cells = static_cast<double>((edges_ - 1) * (edges_ - 1));
    const double area =
        (crop.bottom - crop.top) * (crop.right - crop.left) * grid_cells / static_cast<double>(side * side);
    GreyGrid cells{side, {}};
    for (std::size_t y = 0; y + 1 < length; ++y) {
      for (std::size_t x = 0; x + 1 < length; ++x) {
        const std::size_t i = y * length + x;
        const double sum = corners[i + length + 1] - corners[i + length] - corners[i + 1] + corners[i];
        cells.cells.push_back(static_cast<float>(sum / area));
      }
    }
    return cells;
  }

 private:
  double& at(std::int64_t y, std::int64_t x) { return sums_[static_cast<std::size_t>(y * edges_ + x)]; }

  /// The sum over what lies above and to the left of a point, from 0 to 1 along each side.
  double up_to(double down, double right) const {
    const auto place = [&](double along) {
      const double edge = std::clamp(along, 0.0, 1.0) * static_cast<double>(edges_ - 1);
      const std::int64_t before = std::min(static_cast<std::int64_t>(edge), edges_ - 2);
      return std::pair(before, edge - static_cast<double>(before));
    };
    const auto [y, v] = place(down);
    const auto [x, h] = place(right);
    const double* const first = &sums_[static_cast<std::size_t>(y * edges_ + x)];
    const double* const second = first + edges_;
    return (1 - v) * ((1 - h) * first[0] + h * first[1]) + v * ((1 - h) * second[0] + h * second[1]);
  }

  std::int64_t edges_;
  std::vector<double> sums_;
};

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    sum_a += x, sum_b += y;
    aa += x * x, bb += y * y, ab += x * y;
  }
  const auto count = static_cast<double>(a.size());
  const double norm = (aa - sum_a * sum_a / count) * (bb - sum_b * sum_b / count);
  return norm > 0 ? (ab - sum_a * sum_b / count) / std::sqrt(norm) : 0;
}

/// Means of each cell and its eight neighbours, weighted 1-2-1 along both sides; the border's are repeated.
GreyGrid blurred(const GreyGrid& grid) {
  GreyGrid rows = grid, both = grid;
  const std::int64_t last = grid.side - 1;
  for (std::int64_t y = 0; y <= last; ++y) {
    for (std::int64_t x = 0; x <= last; ++x) {
      rows.at(y, x) =
          (grid.at(std::max<std::int64_t>(0, y - 1), x) + 2 * grid.at(y, x) + grid.at(std::min(last, y + 1), x)) / 4;
    }
  }
  for (std::int64_t y = 0; y <= last; ++y) {
    for (std::int64_t x = 0; x <= last; ++x) {
      both.at(y, x) =
          (rows.at(y, std::max<std::int64_t>(0, x - 1)) + 2 * rows.at(y, x) + rows.at(y, std::min(last, x + 1))) / 4;
    }
  }
  return both;
}

std::vector<float> details_of(const GreyGrid& grid) {
  std::vector<float> details = blurred(blurred(grid)).cells;
  for (std::size_t i = 0; i < details.size(); ++i) details[i] = grid.cells[i] - details[i];
  return details;
}

double mean_of_cells(const GreyGrid& grid) {
  double sum = 0;
  for (const float cell : grid.cells) sum += cell;
  return sum / static_cast<double>(grid.cells.size());
}

bool is_allowed(const Crop& crop) {
  constexpr double kRounding = 1e-9;
  return crop.top >= -kRounding && crop.left >= -kRounding && crop.bottom <= 1 + kRounding &&
         crop.right <= 1 + kRounding && crop.bottom - crop.top >= kLeastExtent &&
         crop.right - crop.left >= kLeastExtent;
}

/// What changes of top, bottom, left and right in a step: the place, the size, or one edge.
constexpr std::array<std::array<int, 4>, 8> kMoves = {
    {{1, 1, 0, 0}, {0, 0, 1, 1}, {1, -1, 0, 0}, {0, 0, 1, -1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};

constexpr int kMostBitsApart = 8;
constexpr double kLeastLikeness = 0.95, kLeastDetails = 0.95;
constexpr double kLeastDeviation = 12;  // of 255: flat pictures look the same, too
constexpr double kCropped = 0.98;       // one shows less of a side than this of the other
constexpr double kBrighter = 1.05;
constexpr std::size_t kMostLooks = 64;   // at pairs of one judged image whose hashes agree; the best of them
constexpr std::size_t kMostPairs = 100;  // of one judged image

/// Hashes to be found again, each with a number of its own.
class HashIndex {
 public:
  explicit HashIndex(std::vector<std::uint64_t> hashes) : hashes_(std::move(hashes)) {
    for (int band = 0; band < kBands; ++band) {
      std::vector<std::uint32_t>& begins = begins_[static_cast<std::size_t>(band)];
      begins.assign(kBuckets + 1, 0);
      for (const std::uint64_t hash : hashes_) ++begins[bucket_of(hash, band) + 1];
      for (std::size_t b = 0; b < kBuckets; ++b) begins[b + 1] += begins[b];
      std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
      std::vector<std::uint32_t>& members = members_[static_cast<std::size_t>(band)];
      members.resize(hashes_.size());
      for (std::size_t i = 0; i < hashes_.size(); ++i) {
        members[next[bucket_of(hashes_[i], band)]++] = static_cast<std::uint32_t>(i);
      }
    }
  }

  /// Calls back for each hash that agrees in a band and differs in few bits, once for each band that agrees.
  void find(std::uint64_t hash, const std::function<void(std::size_t number, int bits_apart)>& tell) const {
    for (int band = 0; band < kBands; ++band) {
      const std::size_t bucket = bucket_of(hash, band);
      const auto &begins = begins_[static_cast<std::size_t>(band)], &members = members_[static_cast<std::size_t>(band)];
      for (std::uint32_t i = begins[bucket]; i < begins[bucket + 1]; ++i) {
        const int apart = std::popcount(hashes_[members[i]] ^ hash);
        if (apart <= kMostBitsApart) tell(members[i], apart);
      }
    }
  }

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << kBandBits;
  static std::size_t bucket_of(std::uint64_t hash, int band) { return hash >> (band * kBandBits) & (kBuckets - 1); }

  std::vector<std::uint64_t> hashes_;
  std::array<std::vector<std::uint32_t>, kBands> begins_, members_;
};

/// What is kept of an image after it was read once.
struct Print {
  std::uint64_t pixels = 0;       // a hash
  bool is_compared = false;       // otherwise it is too small, or dull
  std::vector<CropHashes> crops;  // of its first orientations
};

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

std::vector<Print> prints_of(const Dataset& dataset, std::span<const std::uint32_t> samples,
                             std::size_t orientation_count, int threads) {
  std::vector<Print> prints(samples.size());
  for_each_index(samples.size(), threads, [&](std::size_t i) {
    with_pixels(dataset, samples[i], [&](std::span<const std::uint8_t> chw) {
      prints[i].pixels = hash_text({reinterpret_cast<const char*>(chw.data()), chw.size()});
      if (!near_copies_are_sought(dataset.shape())) return;
      const GreyGrid grid = grey_grid(chw, dataset.shape(), kHashedSide);
      prints[i].is_compared = deviation(grid) >= kLeastDeviation;
      if (!prints[i].is_compared) return;
      for (std::size_t o = 0; o < orientation_count; ++o) {
        prints[i].crops.push_back(crop_hashes(oriented(grid, orientations()[o])));
      }
    });
  });
  return prints;
}

/// A candidate pair of images, as indices into their parts.
struct Likely {
  int bits_apart = 0;
  std::size_t turned = 0, judged = 0, trained = 0;
  std::size_t crop = 0;
  bool judged_is_part = false;  // the crop is one of the training image, otherwise of the judged one

  auto order() const { return std::tuple(judged, bits_apart, trained, turned, judged_is_part, crop); }
};

/// The candidate pairs of each judged image, likeliest first. A pair may occur in each orientation, and with either
/// image as the cropped one.
std::vector<std::vector<Likely>> likely_pairs(const std::vector<Print>& known, const std::vector<Print>& asked,
                                              int threads) {
  const std::size_t turns = orientations().size();
  const auto wholes = [](const std::vector<Print>& prints, std::size_t count, std::vector<std::size_t>& of) {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < prints.size(); ++i) {
      for (std::size_t o = 0; o < count && prints[i].is_compared; ++o) {
        hashes.push_back(prints[i].crops[o].front());
        of.push_back(i * count + o);
      }
    }
    return HashIndex(std::move(hashes));
  };
  std::vector<std::size_t> of_known, of_asked;
  const HashIndex known_wholes = wholes(known, 1, of_known), asked_wholes = wholes(asked, turns, of_asked);
  std::vector<std::vector<Likely>> by_known(known.size()), by_asked(asked.size());
  for_each_index(known.size(), threads, [&](std::size_t i) {
    if (!known[i].is_compared) return;
    for (std::size_t w = 0; w < kCrops; ++w) {
      asked_wholes.find(known[i].crops.front()[w], [&](std::size_t number, int apart) {
        const std::size_t of = of_asked[number];
        by_known[i].push_back({apart, of % turns, of / turns, i, w, true});
        if (w == 0) by_known[i].push_back({apart, of % turns, of / turns, i, w, false});
      });
    }
  });
  for_each_index(asked.size(), threads, [&](std::size_t i) {
    for (std::size_t o = 0; o < asked[i].crops.size(); ++o) {
      for (std::size_t w = 1; w < kCrops; ++w) {
        known_wholes.find(asked[i].crops[o][w], [&](std::size_t number, int apart) {
          by_asked[i].push_back({apart, o, i, of_known[number], w, false});
        });
      }
    }
  });
  for (std::vector<Likely>& pairs : by_known) {
    for (const Likely& pair : pairs) by_asked[pair.judged].push_back(pair);
    pairs = {};
  }
  for_each_index(asked.size(), threads, [&](std::size_t i) {
    std::vector<Likely>& pairs = by_asked[i];
    std::ranges::sort(pairs, {}, &Likely::order);
    std::vector<Likely> single;
    for (const Likely& pair : pairs) {
      const bool is_known = std::ranges::any_of(single, [&](const Likely& other) {
        return other.trained == pair.trained && other.turned == pair.turned &&
               other.judged_is_part == pair.judged_is_part;
      });
      if (!is_known) single.push_back(pair);
      if (single.size() == kMostLooks) break;
    }
    pairs = std::move(single);
  });
  return by_asked;
}

GreyGrid grid_of(const Dataset& dataset, std::uint32_t sample) {
  const ImageShape shape = dataset.shape();
  const std::int64_t side = std::min(shape.height, shape.width) >= 2 * kHashedSide ? 2 * kHashedSide : kHashedSide;
  GreyGrid grid;
  with_pixels(dataset, sample, [&](std::span<const std::uint8_t> chw) { grid = grey_grid(chw, shape, side); });
  return grid;
}

CopyRelation relation_of(const Likely& pair, const Alignment& found) {
  const double shown = std::min(found.crop.bottom - found.crop.top, found.crop.right - found.crop.left);
  return {.is_exact = false,
          .turned = pair.turned,
          .is_cropped = shown < kCropped,
          .gain = pair.judged_is_part ? found.gain : 1 / std::max(1e-3, found.gain)};
}

/// Those candidate pairs of one judged image that really are near copies, each training image once.
std::vector<CopiedImage> near_copies(const Dataset& dataset, const std::vector<Likely>& pairs,
                                     std::span<const std::uint32_t> trained, std::uint32_t judged) {
  std::vector<CopiedImage> copies;
  const GreyGrid asked = grid_of(dataset, judged);
  for (const Likely& pair : pairs) {
    const GreyGrid turned = oriented(asked, orientations()[pair.turned]),
                   known = grid_of(dataset, trained[pair.trained]);
    const Alignment found =
        pair.judged_is_part ? align(known, turned, crops()[pair.crop]) : align(turned, known, crops()[pair.crop]);
    if (found.likeness < kLeastLikeness || found.details < kLeastDetails) continue;
    const CopiedImage copy{judged, trained[pair.trained], relation_of(pair, found), 1 - found.details};
    const auto same = std::ranges::find(copies, copy.trained, &CopiedImage::trained);
    if (same == copies.end()) {
      copies.push_back(copy);
    } else if (copy.distance < same->distance) {
      *same = copy;
    }
  }
  return copies;
}

}  // namespace

Alignment align(const GreyGrid& whole, const GreyGrid& part, const Crop& begin) {
  constexpr double kGained = 1e-5;
  const std::int64_t side = whole.side / 2;
  const GridSums sums(whole);
  const GreyGrid small = GridSums(part).cells_of({}, side);
  Alignment best{.crop = begin, .likeness = correlation(sums.cells_of(begin, side).cells, small.cells)};
  for (double step = kFirstStep; step >= kLastStep;) {
    bool has_moved = false;
    for (const auto& move : kMoves) {
      for (const double by : {step, -step}) {
        const Crop& at = best.crop;
        const Crop next{at.top + by * move[0], at.bottom + by * move[1], at.left + by * move[2],
                        at.right + by * move[3]};
        if (!is_allowed(next)) continue;
        const double likeness = correlation(sums.cells_of(next, side).cells, small.cells);
        if (likeness <= best.likeness + kGained) continue;
        best.likeness = likeness;
        best.crop = next;
        has_moved = true;
      }
    }
    if (!has_moved) step /= 2;
  }
  const GreyGrid shown = sums.cells_of(best.crop, side);
  best.details = correlation(details_of(shown), details_of(small));
  best.gain = mean_of_cells(small) / std::max(1.0, mean_of_cells(shown));
  return best;
}

bool near_copies_are_sought(const ImageShape& shape) {
  return std::min(shape.height, shape.width) >= kLeastComparedSide;
}

std::string CopyRelation::text() const {
  if (is_exact) return "the same";
  // How the judged image differs, by the index of the orientation that turns it back.
  static constexpr std::array<const char*, 8> kTurned = {"",
                                                         "mirrored",
                                                         "mirrored top to bottom",
                                                         "turned by 180 degrees",
                                                         "turned right by 90 degrees and mirrored",
                                                         "turned left by 90 degrees",
                                                         "turned right by 90 degrees",
                                                         "turned left by 90 degrees and mirrored"};
  std::string text = kTurned.at(turned);
  const auto add = [&text](const char* what) { text += (text.empty() ? "" : ", ") + std::string(what); };
  if (is_cropped) add("cropped");
  if (gain > kBrighter) add("brighter");
  if (gain < 1 / kBrighter) add("darker");
  return text.empty() ? "nearly the same" : text;
}

std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads) {
  const std::vector<Print> known = prints_of(dataset, trained, 1, threads);
  const std::vector<Print> asked = prints_of(dataset, judged, orientations().size(), threads);
  const std::vector<std::vector<Likely>> likely = likely_pairs(known, asked, threads);
  std::unordered_multimap<std::uint64_t, std::size_t> by_pixels;
  for (std::size_t i = 0; i < known.size(); ++i) by_pixels.emplace(known[i].pixels, i);
  std::vector<std::vector<CopiedImage>> found(judged.size());
  for_each_index(judged.size(), threads, [&](std::size_t i) {
    std::vector<CopiedImage> near;
    if (!likely[i].empty()) near = near_copies(dataset, likely[i], trained, judged[i]);
    std::ranges::stable_sort(near, {}, &CopiedImage::distance);
    const auto [first, last] = by_pixels.equal_range(asked[i].pixels);
    for (auto same = first; same != last; ++same) {
      found[i].push_back({judged[i], trained[same->second], {.is_exact = true}, 0});
    }
    std::ranges::sort(found[i], {}, &CopiedImage::trained);
    const std::size_t exact = found[i].size();
    for (const CopiedImage& copy : near) {
      const auto end = found[i].begin() + static_cast<std::ptrdiff_t>(exact);
      if (std::find_if(found[i].begin(), end,
                       [&](const CopiedImage& other) { return other.trained == copy.trained; }) == end) {
        found[i].push_back(copy);
      }
    }
    if (found[i].size() > kMostPairs) found[i].resize(kMostPairs);
  });
  std::vector<CopiedImage> copies;
  for (const std::vector<CopiedImage>& each : found) copies.insert(copies.end(), each.begin(), each.end());
  return copies;
}

}  // namespace evener::data
