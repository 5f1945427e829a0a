#include "data/batch.h"

namespace evener::data {

Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  Batch part = batch;
  part.count = end - begin;
  if (!batch.images.empty()) {
    part.images = batch.images.subspan(first * batch.shape.bytes(), count * batch.shape.bytes());
  }
  part.targets = part_of(batch.targets, first, first + count);
  part.samples = batch.samples.subspan(first, count);
  return part;
}

}  // namespace evener::data
