#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/precision.h"
#include "base/simd_level.h"
#include "data/each_index.h"
#include "engine/kernels/block_products.h"
#include "engine/kernels/kernels.h"
#include "faces/persons/compare.h"

// Each pair is looked at once, for both of its rows: a block of rows is multiplied with all rows from itself on, some
// of these at a time, and what comes out is looked at while it is in the cache. Of many rows the products are first
// computed in bf16 where the processor has tile registers; those that may matter, by what rounding may have changed,
// are computed again.
namespace evener::faces {
namespace {

constexpr std::size_t kLeastRows = 32, kMostRows = 1024;    // of a block
constexpr std::size_t kOthers = 96;                         // rows of the other side that a thread takes at a time
constexpr std::size_t kMostCounted = std::size_t{1} << 32;  // pairs that the histogram is made of
constexpr float kRounding = 1e-5F, kLeastProduct = -2;      // of products; less than any
constexpr double kLargestDistance = 2;

/// Of two rows of length 1; of near ones to some three digits, which is enough to count them.
float rough_distance(float product) {
  return std::sqrt(std::max(0.0F, 2 - 2 * product));
}

float product_at(float distance) {
  return 1 - distance * distance / 2;
}

bool nearer_pair(const NearPair& a, const NearPair& b) {
  return std::tie(a.distance, a.first, a.second) < std::tie(b.distance, b.first, b.second);
}

/// Keeps the nearest.
void keep(std::vector<NearPair>& pairs, std::size_t most) {
  if (pairs.size() <= most) return;
  std::ranges::nth_element(pairs, pairs.begin() + static_cast<std::ptrdiff_t>(most), nearer_pair);
  pairs.resize(most);
}

/// Some of the other rows for each row: the nearest so far.
class NearestOfRows {
 public:
  struct Other {
    float distance = 0;
    std::uint32_t row = 0;
    bool operator<(const Other& other) const {  // nearer; of equally near ones the first
      return std::tie(distance, row) < std::tie(other.distance, other.row);
    }
  };

  /// Products below `least` are of no use.
  NearestOfRows(std::size_t rows, std::size_t count, float least)
      : count_(count), others_(rows * count), found_(rows), least_(rows, count == 0 ? -kLeastProduct : least) {}

  /// The least dot product that another row needs to become a neighbour of `row`. May be called while another thread
  /// adds.
  float least(std::size_t row) { return std::atomic_ref(least_[row]).load(std::memory_order_relaxed); }

  /// One thread at a time for each row.
  void add(std::size_t row, Other other) {
    if (product_at(other.distance) < least_[row]) return;
    Other* const first = others_.data() + row * count_;  // a heap, the farthest on top
    if (found_[row] == count_) {
      if (!(other < *first)) return;
      std::pop_heap(first, first + count_);
      first[count_ - 1] = other;
    } else {
      first[found_[row]++] = other;
    }
    std::push_heap(first, first + found_[row]);
    if (found_[row] < count_) return;
    std::atomic_ref(least_[row]).store(product_at(first->distance) - kRounding, std::memory_order_relaxed);
  }

  /// Nearest first.
  std::vector<Other> of(std::size_t row) const {
    const auto first = others_.begin() + static_cast<std::ptrdiff_t>(row * count_);
    std::vector<Other> others(first, first + static_cast<std::ptrdiff_t>(found_[row]));
    std::ranges::sort(others, std::less<>());
    return others;
  }

 private:
  const std::size_t count_;
  std::vector<Other> others_;
  std::vector<std::uint16_t> found_;
  std::vector<float> least_;
};

class AllWithAll {
 public:
  AllWithAll(const Embeddings& embeddings, const CompareOptions& options)
      : embeddings_(embeddings),
        options_(options),
        precision_(embeddings.size() > options.most_in_fp32 && has_bfloat16_tiles() ? Precision::kBf16
                                                                                    : Precision::kFp32),
        least_of_pairs_(product_at(options.limit) - kRounding),
        nearest_(embeddings.size(), std::max(options.neighbours, options.most_of_each_face),
                 options.neighbours > 0 ? kLeastProduct : least_of_pairs_),
        pairs_of_rows_(kMostRows),
        locks_(kMostRows) {
    result_.histogram.assign(options.bins, 0);
    near_.assign(options.bins, 0);
  }

  Comparison run() {
    const std::size_t all = embeddings_.size();
    for (std::size_t begin = 0, end = 0; begin < all; begin = end) {
      end = begin + rows_from(begin);
      const Block block{begin, end, {rows(begin, end), static_cast<std::int64_t>(embeddings_.dimensions), precision_}};
      data::for_each_index((all - begin + kOthers - 1) / kOthers, options_.threads, [&](std::size_t part) {
        const std::size_t first = begin + part * kOthers;
        look_at(block, first, std::min(all, first + kOthers));
      });
      tell(begin, end);
      if (options_.on_progress) {
        // The rows that are left form a triangle, so the work falls with the square.
        const double left = static_cast<double>(all - end) / static_cast<double>(all);
        options_.on_progress(static_cast<std::size_t>(static_cast<double>(all) * (1 - left * left)), all);
      }
    }
    count_for_all();
    keep(result_.pairs, options_.most_pairs);
    std::ranges::sort(result_.pairs, nearer_pair);
    result_.to_group = result_.pairs.size() == result_.pairs_within ? result_.pairs : nearest_pairs();
    return std::move(result_);
  }

 private:
  using Other = NearestOfRows::Other;
  using Histogram = std::vector<std::size_t>;

  /// Rows begin..end-1.
  struct Block {
    std::size_t begin, end;
    engine::kernels::BlockProducts products;
  };

  std::span<const float> rows(std::size_t begin, std::size_t end) const {
    return std::span(embeddings_.values)
        .subspan(begin * embeddings_.dimensions, (end - begin) * embeddings_.dimensions);
  }

  std::size_t pairs_up_to(std::size_t begin) const { return begin * (2 * embeddings_.size() - begin - 1) / 2; }

  /// How many rows the block that begins here has: as many as have been, since what the next one is compared with is
  /// no better than what these have found, and not so many that their pairs within the limit fill the memory.
  std::size_t rows_from(std::size_t begin) const {
    const std::size_t left = embeddings_.size() - begin;
    const std::size_t rows = std::min(std::clamp(begin, kLeastRows, kMostRows), left);
    if (rows * left <= options_.most_pairs_at_once) return rows;
    const double pairs = std::max(1.0, pairs_of_row(begin, rows));
    return std::clamp(static_cast<std::size_t>(static_cast<double>(options_.most_pairs_at_once) / pairs),
                      std::min(rows, kLeastRows), rows);
  }

  /// Estimates by a sample how many pairs within the limit each of these rows has with later rows.
  double pairs_of_row(std::size_t begin, std::size_t count) const {
    constexpr std::size_t kParts = 64;
    const std::size_t all = embeddings_.size(), dimensions = embeddings_.dimensions;
    std::vector<float> sample;
    for (std::size_t i = 0; i < kLeastRows; ++i) {
      const std::span<const float> row = embeddings_[begin + i * count / kLeastRows];
      sample.insert(sample.end(), row.begin(), row.end());
    }
    const engine::kernels::BlockProducts block(sample, static_cast<std::int64_t>(dimensions), precision_);
    engine::kernels::AlignedVector<float> products;
    const std::size_t step = std::max(kOthers, (all - begin) / kParts);
    std::size_t seen = 0, within = 0;
    for (std::size_t first = begin; first < all; first += step) {
      const std::size_t last = std::min(all, first + kOthers);
      block.multiply(rows(first, last), kLeastRows, products);
      for (std::size_t other = 0; other < last - first; ++other) {
        const auto of = std::span(products).subspan(other * static_cast<std::size_t>(block.stride()), kLeastRows);
        within += static_cast<std::size_t>(std::ranges::count_if(of, [&](float p) { return p >= least_of_pairs_; }));
        seen += kLeastRows;
      }
    }
    return static_cast<double>(within) / static_cast<double>(seen) * static_cast<double>(all - begin);
  }

  /// Compares the rows of the block with those rows of first..last-1 that come after them.
  void look_at(const Block& block, std::size_t first, std::size_t last) {
    const std::size_t before_last = std::min(block.end, last) - block.begin;
    const auto stride = static_cast<std::size_t>(block.products.stride());
    engine::kernels::AlignedVector<float> products;
    std::vector<float> least(before_last);
    block.products.multiply(rows(first, last), static_cast<std::int64_t>(before_last), products);
    const float error = engine::kernels::BlockProducts::largest_error(precision_);
    for (std::size_t i = 0; i < before_last; ++i) {
      least[i] = std::min(nearest_.least(block.begin + i), least_of_pairs_) - error;
    }
    std::vector<std::int32_t> places(before_last);
    const bool counts = (block.begin / kLeastRows + first / kOthers) % one_counted_of_ == 0;
    Histogram histogram(options_.bins);
    for (std::size_t other = first; other < last; ++other) {
      const std::span<const float> of =
          std::span(products).subspan((other - first) * stride, std::min(block.end, other) - block.begin);
      if (counts) count(of, histogram);
      const std::int64_t found = engine::kernels::product_kernels().places_not_below(
          of.data(), least.data(), nearest_.least(other) - error, static_cast<std::int64_t>(of.size()), places.data());
      for (const std::int32_t place : std::span(places).first(static_cast<std::size_t>(found))) {
        const std::size_t row = block.begin + static_cast<std::size_t>(place);
        // Pairs taken before may have raised the threshold.
        const float wanted = std::min({nearest_.least(row), nearest_.least(other), least_of_pairs_}) - error;
        if (of[static_cast<std::size_t>(place)] >= wanted) take(block, row, other);
      }
    }
    if (!counts) return;
    const std::scoped_lock lock(mutex_);
    for (std::size_t bin = 0; bin < histogram.size(); ++bin) result_.histogram[bin] += histogram[bin];
  }

  int bin_of(float distance) const {
    return std::min(static_cast<int>(distance * bins_a_unit_), static_cast<int>(options_.bins) - 1);
  }

  void count(std::span<const float> products, Histogram& histogram) const {
    std::array<int, kMostRows> bins{};
    for (std::size_t i = 0; i < products.size(); ++i) bins[i] = bin_of(rough_distance(products[i]));
    for (std::size_t i = 0; i < products.size(); ++i) ++histogram[static_cast<std::size_t>(bins[i])];
  }

  /// From the pairs that were counted to all; those within the limit are known.
  void count_for_all() {
    const std::size_t counted = std::accumulate(result_.histogram.begin(), result_.histogram.end(), std::size_t{0});
    const double scale = static_cast<double>(pairs_up_to(embeddings_.size())) / static_cast<double>(counted);
    for (std::size_t bin = 0; bin < options_.bins; ++bin) {
      std::size_t& count = result_.histogram[bin];
      const double end = static_cast<double>(bin + 1) * kLargestDistance / static_cast<double>(options_.bins);
      if (end <= options_.limit) {
        count = near_[bin];
      } else if (one_counted_of_ > 1) {
        count = static_cast<std::size_t>(std::llround(static_cast<double>(count) * scale));
      }
    }
  }

  /// Takes a pair of a row of the block and a later row that may be near enough for either. No other thread has the
  /// same later rows.
  void take(const Block& block, std::size_t row, std::size_t other) {
    const float product = engine::kernels::product_kernels().product(embeddings_[row].data(), embeddings_[other].data(),
                                                                     static_cast<std::int64_t>(embeddings_.dimensions));
    const float distance = distance_of_rows(embeddings_[row], embeddings_[other], product);
    {
      const std::scoped_lock lock(locks_[row - block.begin]);
      if (distance <= options_.limit) {
        pairs_of_rows_[row - block.begin].push_back({distance, static_cast<std::uint32_t>(other)});
      }
      nearest_.add(row, {distance, static_cast<std::uint32_t>(other)});
    }
    std::unique_lock<std::mutex> lock;
    if (other < block.end) lock = std::unique_lock(locks_[other - block.begin]);
    nearest_.add(other, {distance, static_cast<std::uint32_t>(row)});
  }

  /// Nobody will find anything for these rows any more.
  void tell(std::size_t begin, std::size_t end) {
    std::vector<NearPair> of_row;
    for (std::size_t row = begin; row < end; ++row) {
      std::vector<PairOfRow>& pairs = pairs_of_rows_[row - begin];
      std::ranges::sort(pairs, {}, &PairOfRow::other);
      of_row.clear();
      for (const PairOfRow& pair : pairs) {
        of_row.push_back({row, pair.other, pair.distance});
        ++near_[static_cast<std::size_t>(bin_of(pair.distance))];
      }
      pairs = {};
      result_.pairs_within += of_row.size();
      if (options_.on_pairs) options_.on_pairs(of_row);
      result_.pairs.insert(result_.pairs.end(), of_row.begin(), of_row.end());
      if (result_.pairs.size() > 2 * options_.most_pairs) keep(result_.pairs, options_.most_pairs);
    }
    const std::size_t count = options_.neighbours;
    if (count == 0) return;
    Neighbours neighbours{begin, count, {}, {}};
    for (std::size_t row = begin; row < end; ++row) {
      const std::vector<Other> others = nearest_.of(row);
      for (std::size_t k = 0; k < count; ++k) {
        neighbours.rows.push_back(others[k].row);
        neighbours.distances.push_back(others[k].distance);
      }
    }
    options_.on_neighbours(neighbours);
  }

  /// The nearest pairs of each row within the limit.
  std::vector<NearPair> nearest_pairs() const {
    std::vector<NearPair> pairs;
    for (std::size_t row = 0; row < embeddings_.size(); ++row) {
      std::vector<Other> others = nearest_.of(row);
      if (others.size() > options_.most_of_each_face) others.resize(options_.most_of_each_face);
      for (const Other& other : others) {
        if (other.distance > options_.limit) break;
        pairs.push_back({std::min<std::size_t>(row, other.row), std::max<std::size_t>(row, other.row), other.distance});
      }
    }
    std::ranges::sort(pairs, nearer_pair);
    const auto same = [](const NearPair& a, const NearPair& b) { return a.first == b.first && a.second == b.second; };
    pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
    return pairs;
  }

  struct PairOfRow {
    float distance = 0;
    std::uint32_t other = 0;
  };

  const Embeddings& embeddings_;
  const CompareOptions& options_;
  const Precision precision_;  // of products that are looked at first
  const float least_of_pairs_;
  const float bins_a_unit_ = static_cast<float>(static_cast<double>(options_.bins) / kLargestDistance);
  const std::size_t one_counted_of_ = 1 + pairs_up_to(embeddings_.size()) / kMostCounted;
  NearestOfRows nearest_;
  std::vector<std::vector<PairOfRow>> pairs_of_rows_;  // within the limit, of each row of the block
  std::vector<std::mutex> locks_;                      // likewise
  std::mutex mutex_;                                   // of the histogram
  Histogram near_;                                     // of the pairs within the limit
  Comparison result_;
};

}  // namespace

Comparison compare_all(const Embeddings& embeddings, const CompareOptions& options) {
  if (options.neighbours > 0 && options.neighbours >= embeddings.size()) {
    throw Error("the " + std::to_string(options.neighbours) + " nearest of " + std::to_string(embeddings.size()) +
                " rows were asked for, of which each has fewer others");
  }
  try {
    return AllWithAll(embeddings, options).run();
  } catch (const Interrupted&) {
    throw Interrupted("interrupted while faces were compared");
  }
}

}  // namespace evener::faces
