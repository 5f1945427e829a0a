#include "parallel/buckets.h"

#include <span>

#include "base/phase.h"

namespace evener::parallel {
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

Exchange::Exchange(engine::ExchangesGradients& gradients, comm::Communicator& communicator,
                   const std::vector<std::size_t>& sizes, comm::Wire wire)
    : gradients_(gradients),
      communicator_(communicator),
      wire_(wire),
      buckets_(make_buckets(sizes)),
      bucket_of_(sizes.size()),
      missing_(buckets_.size()) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (std::size_t i = buckets_[b].first; i <= buckets_[b].last; ++i) bucket_of_[i] = b;
  }
}

void Exchange::begin() {
  launched_ = 0;
  pending_.clear();
  for (std::size_t b = 0; b < buckets_.size(); ++b) missing_[b] = buckets_[b].last - buckets_[b].first + 1;
}

void Exchange::ready(std::size_t parameter) {
  --missing_[bucket_of_[parameter]];
  if (buckets_.size() == 1) return;
  while (launched_ < buckets_.size() && missing_[launched_] == 0) launch(buckets_[launched_++]);
}

std::vector<std::span<float>> Exchange::gradients_of(const Bucket& bucket) const {
  std::vector<std::span<float>> parts;
  for (std::size_t i = bucket.first; i <= bucket.last; ++i) parts.push_back(gradients_.gradient(i));
  return parts;
}

void Exchange::launch(const Bucket& bucket) {
  pending_.push_back(thread_.run([this, parts = gradients_of(bucket)] {
    const PhaseMark mark(Phase::kExchange);
    communicator_.all_reduce(parts, wire_);
  }));
}

void Exchange::finish() {
  const PhaseMark mark(Phase::kExchange);
  if (buckets_.size() == 1) communicator_.all_reduce(gradients_of(buckets_.front()), wire_);
  while (buckets_.size() > 1 && launched_ < buckets_.size()) launch(buckets_[launched_++]);
  for (auto& pending : pending_) pending.wait();
  pending_.clear();
}

}  // namespace evener::parallel
