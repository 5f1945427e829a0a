#include "data/dataset.h"

#include "base/error.h"

namespace evener::data {

std::int32_t label_of(const Dataset& dataset, std::size_t index) {
  const SampleTargets targets = dataset.targets(index);
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return *label;
  throw Error("'" + dataset.source(index) + "' has boxes, not one class; this needs data with a class for each image");
}

}  // namespace evener::data
