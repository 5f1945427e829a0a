#include "task/quantize/search.h"

#include <algorithm>
#include <vector>

namespace evener::task {
namespace {

constexpr std::size_t kSensitivityImages = 64;

}  // namespace

KeptLayers keep_sensitive(const Quantizer& quantizer, const Quality& quality, const std::set<std::string>& kept,
                          double most_lost) {
  KeptLayers found{kept};
  found.float_quality = quality(quantizer.folded(), quantizer.folded_state());
  std::vector<std::string> order;
  const auto with_first = [&](std::size_t count) {
    std::set<std::string> layers = kept;
    layers.insert(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    return layers;
  };
  const auto suffices = [&](std::size_t count) {
    const QuantizedModel model = quantizer.quantized(with_first(count));
    const double reached = quality(model.network, model.state);
    ++found.trials;
    if (reached < found.float_quality - most_lost) return false;
    found.quality = reached;
    found.layers = with_first(count);
    return true;
  };
  if (suffices(0)) return found;
  order = quantizer.by_sensitivity(kSensitivityImages);
  std::size_t too_few = 0, enough = 1;
  while (enough < order.size() && !suffices(enough)) {
    too_few = enough;
    enough = std::min(2 * enough, order.size());
  }
  if (enough == order.size()) {  // all in float
    found.quality = found.float_quality;
    found.layers = with_first(enough);
  }
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    (suffices(middle) ? enough : too_few) = middle;
  }
  return found;
}

}  // namespace evener::task
