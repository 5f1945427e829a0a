#include "task/quantize/agreement.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/forked.h"
#include "base/module.h"
#include "base/statistics.h"
#include "network/cost.h"
#include "network/quantization.h"
#include "task/quantize/probe.h"

namespace evener::task {
namespace {

using network::Layer;

constexpr std::size_t kMostImages = 2000, kLeastImages = 32;
constexpr double kMostFlops = 1e12;  // about ten seconds of two cores

bool is_usable(const char* engine) {
  return module_status(engine).state == ModuleState::kUsable;
}

/// LibTorch's prediction on an image.
struct Scores {
  std::size_t best = 0;
  double gap = 0;  // to the second highest
};

Scores scores_of(std::span<const float> values) {
  Scores found{static_cast<std::size_t>(std::ranges::max_element(values) - values.begin())};
  double second = -INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != found.best) second = std::max(second, static_cast<double>(values[i]));
  }
  found.gap = static_cast<double>(values[found.best]) - second;
  return found;
}

/// Of the last layer with quantised weights: the step of what it reads, times its largest weight.
std::optional<double> last_step(const network::Network& network, const TensorMap& state) {
  const std::vector<Layer>& layers = network.layers();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto scales = state.find(layer->name + ".weight_scale");
    if (scales == state.end()) continue;
    const Layer* input = &layers[static_cast<std::size_t>(layer->inputs.front())];
    while (!std::holds_alternative<network::FakeQuantize>(input->op)) {
      if (input->inputs.empty()) return std::nullopt;
      input = &layers[static_cast<std::size_t>(input->inputs.front())];
    }
    const HostTensor weight = state.at(layer->name + ".weight").to_floats();
    float largest = 0;
    for (const float value : std::span(weight.floats(), static_cast<std::size_t>(element_count(weight.shape)))) {
      largest = std::max(largest, std::abs(value));
    }
    const float scale = std::max(state.at(input->name + ".scale").floats()[0], network::kLeastScale);
    return static_cast<double>(scale) * largest;
  }
  return std::nullopt;
}

/// What both engines find, one after the other; they pass over the same samples.
EngineAgreement compare_here(const InferenceModel& model, const data::Samples& samples, std::size_t images,
                             int threads) {
  const network::Network& network = *model.network();
  std::vector<Scores> torch;
  EngineAgreement found;
  std::vector<double> gaps;
  double widest = 0;
  for (const char* name : {"torch", "openvino"}) {
    const auto engine = engine::open_engine(name);
    const bool is_first = torch.empty();
    const auto look = [&](const TensorMap& results, std::span<const std::size_t> indices) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const Scores scores = scores_of(values_of(results.at(model.main_output()), i));
        if (is_first) {
          torch.push_back(scores);
          gaps.push_back(scores.gap);
          continue;
        }
        const Scores& before = torch.at(found.images++);
        found.same += before.best == scores.best ? 1 : 0;
        if (before.best != scores.best) widest = std::max(widest, before.gap);
      }
    };
    observe_results({*engine, model.normalization_of(samples.is_bytes()), threads}, network, *model.state(), {},
                    samples, images, look);
    if (torch.empty()) break;
  }
  const std::optional<double> step = last_step(network, *model.state());
  if (!step || *step <= 0 || gaps.empty()) return found;
  const auto in_steps = [&](double gap) {
    return std::isfinite(gap / *step) ? std::optional(gap / *step) : std::nullopt;
  };
  found.usual_gap = in_steps(*median(gaps));
  if (found.same < found.images) found.widest_gap = in_steps(widest);
  return found;
}

}  // namespace

std::optional<EngineAgreement> engine_agreement(const InferenceModel& model, const data::Samples& samples,
                                                int threads) {
  if (model.network() == nullptr || !is_usable("torch") || !is_usable("openvino")) return std::nullopt;
  const double flops = std::max<double>(1, static_cast<double>(network::total_cost(*model.network()).forward_flops));
  const auto images =
      std::clamp(static_cast<std::size_t>(std::min(kMostFlops / flops, 1e9)), kLeastImages, kMostImages);
  return answer_in_child([&] { return compare_here(model, samples, images, threads); });
}

}  // namespace evener::task
