// Post-training quantisation of a network in another program's file that stays as it is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/forked.h"
#include "engine/engine.h"
#include "engine/model_file.h"
#include "infer/run/infer.h"
#include "infer/run/probe.h"
#include "quantize/values/quantize.h"

namespace evener::quantization {
namespace {

/// The extents of values over images: the farthest, or the means.
class ExtentsSoFar {
 public:
  explicit ExtentsSoFar(bool extremes) : extremes_(extremes) {}

  void add(const TensorMap& of_image) {
    for (const auto& [name, both] : of_image) {
      const float least = both.floats()[0], most = both.floats()[1];
      if (!std::isfinite(least) || !std::isfinite(most)) {
        throw Error(fmt::format("'{}' gives values that are not finite: it can't be quantised", name));
      }
      const auto [found, is_first] = of_.try_emplace(name, least, most);
      if (is_first) continue;
      auto& [low, high] = found->second;
      low = extremes_ ? std::min(low, double{least}) : low + double{least};
      high = extremes_ ? std::max(high, double{most}) : high + double{most};
    }
    ++images_;
  }

  std::size_t images() const { return images_; }
  std::map<std::string, engine::ValueExtent> extents() const {
    const double count = extremes_ ? 1 : static_cast<double>(images_);
    std::map<std::string, engine::ValueExtent> all;
    for (const auto& [name, both] : of_) {
      all[name] = {static_cast<float>(both.first / count), static_cast<float>(both.second / count)};
    }
    return all;
  }

 private:
  const bool extremes_;
  std::map<std::string, std::pair<double, double>> of_;  // least and most, or their sums
  std::size_t images_ = 0;
};

engine::ModelInput input_of(const inference::InferenceModel& model, const engine::ModelFile& file) {
  engine::ModelInput input{.shape = model.input_shape()};
  const std::vector<std::int64_t>& whole = file.inputs().front().shape;
  const bool is_last = whole.size() == 4 && whole[3] == input.shape.front() && whole[1] != input.shape.front();
  input.channels = is_last ? engine::ChannelPlace::kLast : engine::ChannelPlace::kFirst;
  input.is_image = model.takes_images();
  input.reverse_channels = model.reverses_channels();
  return input;
}

QuantizeOutcome quantize_file_here(const QuantizeRequest& request, const inference::ModelFacts& facts,
                                   const std::filesystem::path& xml) {
  const auto engine = engine::open_engine("openvino");
  const auto file = engine->open_model_file(request.model.weights());
  const auto* const quantizable = dynamic_cast<const engine::QuantizableFile*>(file.get());
  if (quantizable == nullptr) throw Error("the engine openvino can't quantise files");
  const std::vector<std::string> layers = quantizable->quantizable_layers();
  std::set<std::string> kept;
  for (const std::string& pattern : request.keep)
    kept.merge(inference::layers_named(pattern, layers, {}, request.model.name()));
  const data::Samples& samples = request.calibration;
  const data::ChannelStatistics& normalization = request.model.normalization_of(samples.is_bytes());
  engine::RunnerOptions options;
  options.threads = request.threads;
  options.mean = normalization.mean;
  options.standard_deviation = normalization.standard_deviation;
  options.values = samples.is_bytes() ? engine::ImageValues::kBytes : engine::ImageValues::kFloats;
  const auto runner = quantizable->make_range_runner(input_of(request.model, *file), options);
  ExtentsSoFar extents(request.options.ranges.calibration == Calibration::kMinMax);
  inference::each_spread_sample(samples, request.options.images, [&](inference::SampleValues sample, std::size_t) {
    inference::start(*runner, sample);
    extents.add(runner->wait());
  });
  if (extents.images() == 0) throw UsageError("there is no image to calibrate with");
  quantizable->write_quantized({.extents = extents.extents(),
                                .weight_bits = request.options.weight_bits,
                                .kept = {kept.begin(), kept.end()},
                                .facts = inference::model_metadata(facts)},
                               xml);
  QuantizeOutcome outcome{.images = extents.images(), .notes = {}, .layers = {}};
  for (const std::string& layer : layers) {
    outcome.layers.push_back({layer, std::numeric_limits<double>::infinity(), !kept.contains(layer)});
  }
  return outcome;
}

}  // namespace

QuantizeOutcome quantize_file(const QuantizeRequest& request, const inference::ModelFacts& facts,
                              const std::filesystem::path& xml) {
  return answer_in_child([&] { return quantize_file_here(request, facts, xml); });
}

}  // namespace evener::quantization
