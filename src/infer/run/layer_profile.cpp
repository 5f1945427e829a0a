#include "infer/run/layer_profile.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/precision.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "network/cost.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"

namespace evener::inference {
namespace {

using engine::LayerTime;

constexpr int kFewestPasses = 5, kMostPasses = 100;
constexpr double kPasses_s = 1;

class Costs {
 public:
  Costs(const network::Network& network, std::int64_t batch, int bits)
      : network_(network), costs_(network::layer_costs(network)), batch_(batch), value_bytes_(bits / 8) {}

  /// Those that are this network's, in its order: engines have layers of their own beside them.
  std::vector<std::string> known_names(const std::vector<std::string>& names) const {
    std::vector<std::string> found;
    for (const int layer : known(names)) found.push_back(network_.layers()[static_cast<std::size_t>(layer)].name);
    return found;
  }

  /// Fills in what the layers of `profile` cost, where they are this network's.
  void fill(LayerProfile& profile) const {
    const std::vector<int> layers = known(profile.time.layers);
    if (layers.empty()) return;
    const bool trains = profile.time.backward_s.has_value();
    std::int64_t flops = 0, parameters = 0;
    for (const int layer : layers) {
      const network::LayerCost& cost = costs_[static_cast<std::size_t>(layer)];
      flops += cost.forward_flops + (trains ? cost.backward_flops : 0);
      parameters += cost.parameters;
    }
    const std::int64_t in = values_read(layers) * batch_ * value_bytes_;
    const std::int64_t out = values(layers.back()) * batch_ * value_bytes_;
    const std::int64_t weights = parameters * static_cast<std::int64_t>(sizeof(float));
    profile.flops = flops * batch_;
    profile.bytes = in + out + weights + (trains ? 2 * in + out + 2 * weights : 0);
  }

 private:
  std::vector<int> known(const std::vector<std::string>& names) const {
    std::vector<int> layers;
    for (std::size_t i = 0; i < network_.layers().size(); ++i) {
      if (std::ranges::find(names, network_.layers()[i].name) != names.end()) layers.push_back(static_cast<int>(i));
    }
    return layers;
  }

  std::int64_t values(int layer) const {
    return element_count(network_.layers()[static_cast<std::size_t>(layer)].shape);
  }

  /// The number of values that `layers` read from other layers.
  std::int64_t values_read(const std::vector<int>& layers) const {
    std::set<int> inputs;
    for (const int layer : layers) {
      for (const int input : network_.layers()[static_cast<std::size_t>(layer)].inputs) inputs.insert(input);
    }
    std::int64_t sum = 0;
    for (const int input : inputs) {
      if (std::ranges::find(layers, input) == layers.end()) sum += values(input);
    }
    return sum;
  }

  const network::Network& network_;
  const std::vector<network::LayerCost> costs_;
  const std::int64_t batch_, value_bytes_;
};

/// For each convolution that took over a batch normalisation, and has its name in the folded network, its own name.
std::map<std::string, std::string> folded_names(const network::Network& network, const network::Network& folded) {
  std::map<std::string, std::string> names;
  for (const network::Layer& layer : folded.layers()) {
    if (!std::holds_alternative<network::Conv2d>(layer.op)) continue;
    const auto original = std::ranges::find(network.layers(), layer.name, &network::Layer::name);
    if (original == network.layers().end() || !std::holds_alternative<network::BatchNorm>(original->op)) continue;
    names[layer.name] = network.layers()[static_cast<std::size_t>(original->inputs.front())].name;
  }
  return names;
}

}  // namespace

std::vector<std::vector<LayerTime>> repeated_passes(const std::function<std::vector<LayerTime>()>& pass) {
  pass();
  std::vector<std::vector<LayerTime>> passes;
  const Stopwatch clock;
  while (std::ssize(passes) < kFewestPasses || (clock.seconds() < kPasses_s && std::ssize(passes) < kMostPasses)) {
    if (stop_requested()) throw Interrupted("interrupted while layers were timed; the run itself is done and kept");
    passes.push_back(pass());
  }
  return passes;
}

std::vector<LayerTime> median_times(const std::vector<std::vector<LayerTime>>& passes) {
  std::vector<LayerTime> times = passes.front();
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<double> forward_s, backward_s;
    for (const auto& pass : passes) {
      if (i >= pass.size()) continue;
      forward_s.push_back(pass[i].forward_s);
      if (pass[i].backward_s) backward_s.push_back(*pass[i].backward_s);
    }
    times[i].forward_s = median(forward_s).value_or(0);
    times[i].backward_s = median(backward_s);
  }
  return times;
}

void fill_profile(const std::vector<std::vector<LayerTime>>& passes, const network::Network* network, Device device,
                  NetworkProfile& profile) {
  profile.passes = std::ssize(passes);
  for (LayerTime& time : median_times(passes)) profile.layers.push_back({std::move(time), {}, {}});
  if (network == nullptr) return;
  const Costs costs(*network, profile.batch, activation_bits(computed_precision(profile.precision, device.kind)));
  for (LayerProfile& layer : profile.layers) {
    layer.time.layers = costs.known_names(layer.time.layers);
    costs.fill(layer);
    if (profile.in_int8) layer.bytes = std::nullopt;  // which layers hand on bytes is the engine's matter
  }
}

void fill_inference_profile(const std::vector<std::vector<LayerTime>>& passes, const network::Network& network,
                            Device device, NetworkProfile& profile) {
  const network::Network folded = network::fold_batch_norm(network);
  const std::map<std::string, std::string> names = folded_names(network, folded);
  const bool is_folded = std::ranges::none_of(passes.front(), [&](const LayerTime& time) {
    return std::ranges::any_of(
        names, [&](const auto& name) { return std::ranges::find(time.layers, name.second) != time.layers.end(); });
  });
  fill_profile(passes, is_folded ? &folded : &network, device, profile);
  if (!is_folded) return;
  for (LayerProfile& layer : profile.layers) {
    for (auto name = layer.time.layers.begin(); name != layer.time.layers.end(); ++name) {
      const auto found = names.find(*name);
      if (found != names.end()) name = std::next(layer.time.layers.insert(name, found->second));
    }
  }
}

std::vector<parallel::StageTimes> times_by_layer(const NetworkProfile& profile, const network::Network& network) {
  const auto& layers = network.layers();
  std::vector<parallel::StageTimes> times(layers.size());
  for (const LayerProfile& each : profile.layers) {
    const engine::LayerTime& time = each.time;
    const auto found =
        time.layers.empty() ? layers.end() : std::ranges::find(layers, time.layers.front(), &network::Layer::name);
    const std::size_t place = found != layers.end() ? static_cast<std::size_t>(found - layers.begin())
                              : time.what == "loss" ? times.size() - 1
                                                    : 0;
    times[place].forward_s += time.forward_s;
    times[place].backward_s += time.backward_s.value_or(0);
  }
  return times;
}

NetworkProfile profile_inference(const InferenceModel& model, const InferSetup& setup, const data::Samples& samples,
                                 const InferOptions& options) {
  const auto& stage = options.plan.replicas.front().stages.front();
  engine::RunnerOptions runner = options_for_stage(stage, samples, options.precision, setup.batch);
  runner.times_layers = true;
  NetworkProfile profile;
  profile.engine = setup.engines.front();
  profile.batch = setup.batch;
  profile.precision = options.precision;
  if (stage.device.kind == DeviceKind::kCpu) profile.threads = runner.threads;
  const auto engine = engine::open_engine(profile.engine);
  const auto made = model.make_runners(*engine, samples.shape(), runner, 1);
  const SampleValues values = values_like(samples, setup.batch, 0.5F);
  const auto pass = [&] {
    start(*made.front(), values);
    made.front()->wait();
    return made.front()->layer_times();
  };
  const auto passes = repeated_passes(pass);
  profile.in_int8 = model.network() != nullptr && network::is_quantized(*model.network());
  if (model.network() == nullptr) {
    fill_profile(passes, nullptr, stage.device, profile);
  } else {
    fill_inference_profile(passes, *model.network(), stage.device, profile);
  }
  return profile;
}

}  // namespace evener::inference
