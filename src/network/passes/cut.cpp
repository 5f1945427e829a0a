#include "network/passes/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"
#include "network/steps.h"

namespace evener::network {
namespace {

/// For each layer, the last layer that reads its result; outputs of the network count as read after the last layer.
std::vector<int> last_readers(const Network& network) {
  const auto& layers = network.layers();
  std::vector<int> last(layers.size(), -1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const int input : layers[i].inputs) last[static_cast<std::size_t>(input)] = static_cast<int>(i);
  }
  for (const Output& output : network.outputs()) {
    last[static_cast<std::size_t>(output.layer)] = static_cast<int>(layers.size());
  }
  return last;
}

/// The layers before `begin` whose results are read from there on.
std::vector<int> crossing(const std::vector<int>& last, int begin) {
  std::vector<int> layers;
  for (int i = 0; i < begin; ++i) {
    if (last[static_cast<std::size_t>(i)] >= begin) layers.push_back(i);
  }
  return layers;
}

/// Layers first..last of `whole`, fed with `received`.
NetworkStage stage_of(const Network& whole, int first, int last, std::vector<int> received) {
  const auto& layers = whole.layers();
  const auto at = [&layers](int index) -> const Layer& { return layers[static_cast<std::size_t>(index)]; };
  const bool gets_images = received.empty();
  NetworkStage stage{
      Network(whole.model(), at(gets_images ? 0 : received.front()).shape), first, last, std::move(received), {}};
  std::vector<int> place(layers.size(), -1);  // index of each layer in the stage
  for (std::size_t i = 0; i < stage.received.size(); ++i) {
    const Layer& from = at(stage.received[i]);
    place[static_cast<std::size_t>(stage.received[i])] =
        i == 0 ? 0 : stage.network.add_input("input:" + from.name, from.shape);
  }
  if (gets_images) place[0] = 0;
  for (int i = std::max(first, 1); i <= last; ++i) {
    std::vector<int> inputs;
    for (const int input : at(i).inputs) inputs.push_back(place[static_cast<std::size_t>(input)]);
    const int index = stage.network.add(at(i).name, at(i).op, std::move(inputs));
    stage.network.set_number(index, at(i).number);
    place[static_cast<std::size_t>(i)] = index;
  }
  const auto give_out = [&](const std::string& name, int layer) {
    const int index = place[static_cast<std::size_t>(layer)];
    const bool computed = !std::holds_alternative<Input>(stage.network.layers()[static_cast<std::size_t>(index)].op);
    computed ? stage.network.set_output(name, index) : stage.network.hand_on(name, index);
  };
  if (last + 1 == static_cast<int>(layers.size())) {
    for (const Output& output : whole.outputs()) give_out(output.name, output.layer);
    return stage;
  }
  stage.sent = crossing(last_readers(whole), last + 1);
  for (const int layer : stage.sent) give_out(at(layer).name, layer);
  return stage;
}

/// A depthwise convolution is joined with the batch normalisation before it (network/steps.h).
bool may_begin(const Network& network, int index) {
  const Layer& layer = network.layers()[static_cast<std::size_t>(index)];
  if (std::holds_alternative<Linear>(layer.op)) return true;
  const auto* convolution = std::get_if<Conv2d>(&layer.op);
  if (convolution == nullptr) return false;
  const Shape& input = network.layers()[static_cast<std::size_t>(layer.inputs.front())].shape;
  return !is_depthwise(*convolution, input.front());
}

/// The costs of a stage with the layers [begin, end).
class StretchCosts {
 public:
  StretchCosts(const Network& network, const StageCosts& costs) : costs_(costs) {
    for (const std::vector<double>& layers : costs.of_layers) {
      std::vector<double>& sums = sums_.emplace_back(1, 0.0);
      for (const double cost : layers) sums.push_back(sums.back() + cost);
    }
    const std::vector<int> last = last_readers(network);
    const int count = static_cast<int>(network.layers().size());
    for (int begin = 0; begin <= count; ++begin) {
      double numbers = 0;
      // Inputs of the first stage and outputs of the last one cross no cut.
      for (const int layer : begin == 0 || begin == count ? std::vector<int>() : crossing(last, begin)) {
        numbers += static_cast<double>(element_count(network.layers()[static_cast<std::size_t>(layer)].shape));
      }
      crossing_.push_back(numbers * costs.of_number);
    }
  }

  double of(std::size_t stage, int begin, int end) const {
    const auto from = static_cast<std::size_t>(begin), to = static_cast<std::size_t>(end);
    const std::vector<double>& sums = sums_[sums_.size() == 1 ? 0 : stage];
    return (sums[to] - sums[from] + crossing_[from] + crossing_[to]) / costs_.speeds[stage];
  }

 private:
  const StageCosts& costs_;
  std::vector<std::vector<double>> sums_;
  std::vector<double> crossing_;
};

/// The cheapest first layers of later stages, each one of `places`, whose last element is the number of layers; nothing
/// where no cut fits the memory.
std::optional<std::vector<int>> cheapest_begins(const Network& network, const StageCosts& costs,
                                                std::span<const int> places) {
  const StretchCosts stretches(network, costs);
  const std::size_t stages = costs.speeds.size();
  const auto fits = [&costs](std::size_t stage, int begin, int end) {
    return !costs.fits || costs.fits(stage, begin, end);
  };
  // best[p]: the time of the slowest of the stages so far, if the next one begins at places[p].
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> best(places.size(), kNever);
  std::vector<std::vector<std::size_t>> chosen(stages, std::vector<std::size_t>(places.size(), 0));
  for (std::size_t p = 0; p < places.size() && fits(0, 0, places[p]); ++p) {
    best[p] = stretches.of(0, 0, places[p]);
  }
  for (std::size_t stage = 1; stage < stages; ++stage) {
    std::vector<double> next(places.size(), kNever);
    for (std::size_t p = stage; p < places.size(); ++p) {
      for (std::size_t before = p; before-- > stage - 1;) {
        const double own = stretches.of(stage, places[before], places[p]);
        const double slowest = std::max(best[before], own);
        if (slowest > next[p] || slowest == kNever) continue;
        if (!fits(stage, places[before], places[p])) break;
        next[p] = slowest;
        chosen[stage][p] = before;
      }
    }
    best = std::move(next);
  }
  if (best.back() == kNever) return std::nullopt;
  std::vector<int> begins(stages - 1);
  std::size_t p = places.size() - 1;
  for (std::size_t stage = stages - 1; stage > 0; --stage) {
    p = chosen[stage][p];
    begins[stage - 1] = places[p];
  }
  return begins;
}

}  // namespace

std::vector<NetworkStage> cut(const Network& network, std::span<const int> begins) {
  const int count = static_cast<int>(network.layers().size());
  std::vector<NetworkStage> stages;
  int first = 0;
  for (std::size_t stage = 0; stage <= begins.size(); ++stage) {
    const int end = stage < begins.size() ? begins[stage] : count;
    if (end <= std::max(first, 1) || end > count) {
      throw Error(fmt::format("{}: stage {} would have layers {} to {} of 1 to {}", network.model(), stage,
                              std::max(first, 1), end - 1, count - 1));
    }
    stages.push_back(stretch(network, first, end));
    first = end;
  }
  return stages;
}

NetworkStage stretch(const Network& network, int begin, int end) {
  NetworkStage stage =
      stage_of(network, begin, end - 1, begin == 0 ? std::vector<int>() : crossing(last_readers(network), begin));
  stage.network.learn_as(network);
  return stage;
}

std::vector<int> begins_of(const Network& network, const std::vector<std::string>& names) {
  std::vector<int> begins;
  const auto& layers = network.layers();
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(
        layers, [&name](const Layer& layer) { return layer.name == name || layer.name.starts_with(name + "."); });
    const int index = static_cast<int>(found - layers.begin());
    if (found == layers.end()) {
      std::vector<std::string> known;  // the parts of names before the dot: "layer2"
      for (const Layer& layer : layers) {
        std::string part = layer.name.substr(0, layer.name.find('.'));
        if (known.empty() || known.back() != part) known.push_back(std::move(part));
      }
      throw UsageError(unknown_name_message("--cut", name, known));
    }
    const int least = begins.empty() ? 2 : begins.back() + 1;
    if (index < least) {
      throw UsageError(fmt::format(
          "--cut: a stage is to begin with '{}', but the stage before it would have no layer then; name the first "
          "layers of the second and later stages in the order of the network (evener info {} lists it)",
          name, network.model()));
    }
    begins.push_back(index);
  }
  return begins;
}

std::vector<int> balanced_begins(const Network& network, const StageCosts& costs) {
  const int count = static_cast<int>(network.layers().size());
  const std::size_t stages = costs.speeds.size();
  std::vector<int> places;  // where a stage may begin
  for (int i = 2; i < count; ++i) {
    if (may_begin(network, i)) places.push_back(i);
  }
  if (places.size() + 1 < stages) {
    throw UsageError(
        fmt::format("{} can be divided into no more than {} stages, not {}: each later one begins with a "
                    "convolution that isn't depthwise, or a linear layer",
                    network.model(), places.size() + 1, stages));
  }
  places.push_back(count);
  std::optional<std::vector<int>> begins = cheapest_begins(network, costs, places);
  if (begins) return *std::move(begins);
  StageCosts anywhere = costs;
  anywhere.fits = {};
  return cheapest_begins(network, anywhere, places).value();
}

}  // namespace evener::network
