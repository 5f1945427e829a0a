#include "data/batch.h"

namespace evener::data {
namespace {

template <class Value>
std::span<const Value> some_of(std::span<const Value> all, std::size_t first, std::size_t count) {
  return all.empty() ? all : all.subspan(first, count);
}

ImageChanges some_of(const ImageChanges& changes, std::size_t first, std::size_t count) {
  return {some_of(changes.moves, first, count), some_of(changes.colours, first, count)};
}

}  // namespace

Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  Batch part = batch;
  part.count = end - begin;
  if (!batch.images.empty()) {
    part.images = batch.images.subspan(first * batch.shape.bytes(), count * batch.shape.bytes());
  }
  part.targets = part_of(batch.targets, first, first + count);
  part.samples = batch.samples.subspan(first, count);
  part.changes = some_of(batch.changes, first, count);
  part.partners = some_of(batch.partners, first, count);
  part.partner_changes = some_of(batch.partner_changes, first, count);
  return part;
}

}  // namespace evener::data
