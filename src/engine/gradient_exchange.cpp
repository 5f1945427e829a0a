#include "engine/gradient_exchange.h"

namespace evener::engine {
namespace {

constexpr std::size_t kFirstBucket_bytes = std::size_t{1} << 20;
constexpr std::size_t kBucket_bytes = std::size_t{25} << 20;

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<std::size_t>& sizes) {
  std::vector<Bucket> buckets;
  std::size_t bytes = 0;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::size_t limit = buckets.size() <= 1 ? kFirstBucket_bytes : kBucket_bytes;
    const std::size_t more = sizes[i] * sizeof(float);
    if (buckets.empty() || bytes + more > limit) {
      buckets.push_back({i, i});
      bytes = 0;
    }
    buckets.back().first = i;
    bytes += more;
  }
  return buckets;
}

BucketProgress::BucketProgress(const std::vector<std::size_t>& sizes)
    : buckets_(make_buckets(sizes)), bucket_of_(sizes.size()), missing_(buckets_.size()) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (std::size_t i = buckets_[b].first; i <= buckets_[b].last; ++i) bucket_of_[i] = b;
  }
}

void BucketProgress::begin() {
  taken_ = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) missing_[b] = buckets_[b].last - buckets_[b].first + 1;
}

const Bucket* BucketProgress::take_complete() {
  return taken_ < buckets_.size() && missing_[taken_] == 0 ? take_next() : nullptr;
}

const Bucket* BucketProgress::take_next() {
  return taken_ < buckets_.size() ? &buckets_[taken_++] : nullptr;
}

}  // namespace evener::engine
