#include "task/quantize/learn.h"

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/forked.h"
#include "base/module.h"
#include "network/passes/fold_batch_norm.h"
#include "task/quantize/quantizer.h"

namespace evener::task {
namespace {

/// Scales and corrected biases by their names: what differs from the folded network.
std::map<std::string, std::vector<float>> found_values(const QuantizedModel& model, const TensorMap& folded) {
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, tensor] : model.state) {
    const auto before = folded.find(name);
    if (before != folded.end() && before->second == tensor) continue;
    values[name].assign(tensor.floats(), tensor.floats() + element_count(tensor.shape));
  }
  return values;
}

}  // namespace

network::QuantizationScheme scheme_for(const network::Network& network, int weight_bits) {
  return network::choose_quantization(network::fold_batch_norm(network), weight_bits, {});
}

TensorMap calibrated_state(const network::Network& network, const TensorMap& state, int weight_bits,
                           const data::ChannelStatistics& normalization, const data::Samples& samples, int threads) {
  QuantizeOptions options;
  options.weight_bits = weight_bits;
  const auto found = answer_in_child([&] {
    const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
    const Quantizer quantizer({*engine, normalization, threads}, network, state, samples, options);
    const QuantizedModel model = quantizer.quantized({});
    // The first of them spoils those behind it.
    for (const network::Layer& layer : quantizer.folded().layers()) {
      if (!quantizer.not_finite().contains(layer.name)) continue;
      throw Error("'" + layer.name +
                  "' gives values that are not finite on the training images, so that it has no range to be "
                  "quantised in: look at the weights, and at how images are normalised (--normalize)");
    }
    return found_values(model, quantizer.folded_state());
  });
  network::NetworkWithState folded = network::fold_batch_norm(network, state);
  for (const auto& [name, floats] : found) {
    folded.state.insert_or_assign(name, HostTensor::of_floats({static_cast<std::int64_t>(floats.size())}, floats));
  }
  return std::move(folded.state);
}

}  // namespace evener::task
