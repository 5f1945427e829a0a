#include "infer/run/probe.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/stop.h"

namespace evener::inference {
namespace {

constexpr std::int64_t kBatch = 16;
/// What the results of a layer are called, so that no output of the network has that name.
constexpr const char* kResult = "result of ";

/// The network with the results of `layers` given out. The input's are those of a layer that does nothing to it.
network::Network giving_out(network::Network network, const std::vector<std::string>& layers) {
  network.set_anchors({});  // its further outputs are about no anchors
  network.mark_last_layer();
  for (const std::string& name : layers) {
    const auto found = std::ranges::find(network.layers(), name, &network::Layer::name);
    auto index = static_cast<int>(found - network.layers().begin());
    if (index == 0) index = network.add(name + ".seen", network::Scale{1}, {0});
    network.set_output(kResult + name, index);
  }
  return network;
}

/// Without what fills the batch up, and under the layers' own names.
TensorMap first_images(TensorMap outputs, std::size_t images) {
  TensorMap results;
  for (auto& [name, tensor] : outputs) {
    const std::size_t each = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape.front());
    tensor.bytes.resize(each * images);
    tensor.shape.front() = static_cast<std::int64_t>(images);
    const std::string prefix = kResult;
    results.emplace(name.starts_with(prefix) ? name.substr(prefix.size()) : name, std::move(tensor));
  }
  return results;
}

}  // namespace

void each_spread_sample(const data::Samples& samples, std::size_t images,
                        const std::function<void(SampleValues sample, std::size_t index)>& take) {
  const std::size_t wanted = std::min(images, samples.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    if (stop_requested()) throw Interrupted("interrupted while the network was looked at");
    const std::size_t index = i * samples.size() / wanted;
    SampleValues sample;
    try {
      sample = read_values(samples, index);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // an unreadable picture, which the command that listed them tells
      continue;
    }
    take(std::move(sample), index);
  }
}

std::set<std::string> layers_named(const std::string& pattern, const std::vector<std::string>& layers,
                                   const std::map<std::string, std::string>& other_names, const std::string& model) {
  const auto fits = [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
  std::set<std::string> found;
  for (const std::string& layer : layers) {
    const auto other = other_names.find(layer);
    const bool is_named = pattern == "first"  ? layer == layers.front()
                          : pattern == "last" ? layer == layers.back()
                                              : fits(layer) || (other != other_names.end() && fits(other->second));
    if (is_named) found.insert(layer);
  }
  if (found.empty()) {
    throw UsageError(fmt::format("--keep '{}' names no layer with weights of {}; they are {}", pattern, model,
                                 fmt::join(layers, ", ")));
  }
  return found;
}

std::size_t observe_results(const Probe& probe, const network::Network& network, const TensorMap& state,
                            const std::vector<std::string>& layers, const data::Samples& samples, std::size_t images,
                            const ResultsObserver& observer) {
  const network::Network observed = giving_out(network, layers);
  engine::RunnerOptions options;
  options.threads = probe.threads;
  options.mean = probe.normalization.mean;
  options.standard_deviation = probe.normalization.standard_deviation;
  options.batch = kBatch;
  options.values = samples.is_bytes() ? engine::ImageValues::kBytes : engine::ImageValues::kFloats;
  const auto runner = probe.engine.make_runner(observed, state, options);
  std::vector<SampleValues> batch;
  std::vector<std::size_t> indices;
  std::size_t done = 0;
  const auto run_batch = [&] {
    if (batch.empty()) return;
    std::vector<const SampleValues*> pointers;
    for (const SampleValues& sample : batch) pointers.push_back(&sample);
    const SampleValues values = gathered(pointers, kBatch);
    start(*runner, values);
    observer(first_images(runner->wait(), batch.size()), indices);
    done += batch.size();
    batch.clear();
    indices.clear();
  };
  each_spread_sample(samples, images, [&](SampleValues sample, std::size_t index) {
    batch.push_back(std::move(sample));
    indices.push_back(index);
    if (std::ssize(batch) == kBatch) run_batch();
  });
  run_batch();
  return done;
}

std::span<const float> values_of(const HostTensor& results, std::size_t index) {
  const auto each = static_cast<std::size_t>(element_count(results.shape) / results.shape.front());
  return {results.floats() + index * each, each};
}

double accuracy_of(const Probe& probe, const network::Network& network, const TensorMap& state,
                   const data::Samples& samples) {
  std::size_t correct = 0, seen = 0;
  const std::string output = network.outputs().front().name;
  observe_results(probe, network, state, {}, samples, samples.size(),
                  [&](const TensorMap& results, std::span<const std::size_t> indices) {
                    for (std::size_t i = 0; i < indices.size(); ++i) {
                      const auto scores = values_of(results.at(output), i);
                      const auto best = std::ranges::max_element(scores) - scores.begin();
                      correct += samples.label(indices[i]) == best ? 1 : 0;
                    }
                    seen += indices.size();
                  });
  return seen == 0 ? std::numeric_limits<double>::quiet_NaN()
                   : static_cast<double>(correct) / static_cast<double>(seen);
}

}  // namespace evener::inference
