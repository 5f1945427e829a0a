#include "data/dataset.h"

#include "base/content_hash.h"
#include "base/error.h"

namespace evener::data {

std::optional<std::uint64_t> Dataset::content(std::size_t index) const {
  std::vector<std::uint8_t> made;
  const std::uint8_t* values = pixels(index);
  if (values == nullptr) {
    made.resize(shape().bytes());
    read(index, made);
    values = made.data();
  }
  return content_hash({reinterpret_cast<const char*>(values), shape().bytes()});
}

std::int32_t label_of(const Dataset& dataset, std::size_t index) {
  const SampleTargets targets = dataset.targets(index);
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return *label;
  throw Error("'" + dataset.source(index) + "' has boxes, not one class; this needs data with a class for each image");
}

}  // namespace evener::data
