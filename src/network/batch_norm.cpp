#include "network/batch_norm.h"

#include <algorithm>
#include <variant>

namespace evener::network {
namespace {

bool takes_statistics(const Layer& layer) {
  const auto* norm = std::get_if<BatchNorm>(&layer.op);
  return norm != nullptr && !norm->frozen;
}

}  // namespace

bool has_batch_norm(const Network& network) {
  return std::ranges::any_of(network.layers(), takes_statistics);
}

const Layer* norm_of_one_value(const Network& network) {
  const auto found = std::ranges::find_if(network.layers(), [](const Layer& layer) {
    const bool one_value = layer.shape.size() <= 1 || layer.shape[1] * layer.shape[2] == 1;
    return one_value && takes_statistics(layer);
  });
  return found != network.layers().end() ? &*found : nullptr;
}

}  // namespace evener::network
