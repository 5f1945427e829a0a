#include "task/inference/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/random.h"
#include "engine/engine.h"
#include "engine/trainer_options.h"
#include "network/onnx_file.h"
#include "network/passes/quantize.h"
#include "task/inference/model_metadata.h"

namespace evener::task {
namespace {

namespace fs = std::filesystem;

// The network's own engine, and one that reads files of ONNX.
constexpr const char* kOurs = "torch";
constexpr const char* kOther = "openvino";

constexpr std::int64_t kCheckedImages = 2;  // the batch that the file leaves open
// Of the largest output. Two engines are some 1e-6 apart in float32; a layer that is computed otherwise shows in the
// first digits.
constexpr double kMostDifference = 1e-3;
// Where values are quantised, those that lie between two levels may become either, a step apart; later layers carry on.
constexpr double kMostDifferenceQuantized = 5e-2;

bool takes_images(const network::Network& network) {
  return network.input_shape().size() == 3;
}

std::vector<float> random_values(const network::Network& network) {
  std::vector<float> values(static_cast<std::size_t>(kCheckedImages * element_count(network.input_shape())));
  Random random(1, Purpose::kSynthetic);
  // Pixels, or for a network of vectors numbers about 0.
  for (float& value : values) {
    value = takes_images(network) ? static_cast<float>(random.below(256)) : static_cast<float>(random.normal());
  }
  return values;
}

/// The outputs of the network, by our own engine, or of the file.
TensorMap outputs_for(const TrainedModel& model, const ExportOptions& options, const std::vector<float>& values,
                      bool of_file) {
  const network::Shape& input = model.network.input_shape();
  engine::RunnerOptions runner;
  runner.threads = usable_cores();
  runner.batch = kCheckedImages;
  runner.values = engine::ImageValues::kFloats;
  if (of_file && options.normalize_inside) {  // the pixels as they are
    runner.standard_deviation.assign(static_cast<std::size_t>(input.front()), 1.0F / 255);
  } else if (options.normalization) {
    runner.mean = options.normalization->mean;
    runner.standard_deviation = options.normalization->standard_deviation;
  }
  const auto engine = engine::open_engine(of_file ? kOther : kOurs);
  const auto file = of_file ? engine->open_model_file(options.onnx) : nullptr;
  const engine::ModelInput fed{.shape = input, .is_image = takes_images(model.network)};
  const auto made = of_file ? std::move(file->make_runners(fed, runner, 1).front())
                            : engine->make_runner(model.network, model.state, runner);
  made->start(std::span(values));
  return made->wait();
}

std::optional<network::OnnxDistance> distance_of(const network::Network& network,
                                                 const ClassifierCalibration& calibration) {
  const std::optional<int> layer = feature_layer(network);
  if (!calibration.unknown || !layer) return std::nullopt;
  const FeatureStatistics& unknown = *calibration.unknown;
  return network::OnnxDistance{.output = kUnknownOutput,
                               .layer = *layer,
                               .whitening = unknown.whitening,
                               .points = unknown.centres,
                               .limit = unknown.threshold};
}

}  // namespace

void require_export(const fs::path& onnx) {
  require_module("onnx");
  if (fs::is_directory(onnx)) throw Error("'" + onnx.string() + "' is a folder; name the file to write in it");
  const fs::path folder = onnx.has_parent_path() ? onnx.parent_path() : ".";
  if (std::error_code unreadable; !fs::is_directory(folder, unreadable)) {
    throw Error("the folder '" + folder.string() + "' doesn't exist: make it first, or write '" +
                onnx.filename().string() + "' elsewhere");
  }
  require_writable_directory(folder);
}

void write_export(const TrainedModel& model, const ExportOptions& options) {
  const network::Network& network = model.network;
  network::OnnxOptions onnx;
  if (options.calibration != nullptr) onnx.distance = distance_of(network, *options.calibration);
  const ModelFacts facts{.model = network.model(),
                         .classes = model.classes,
                         .input = network.input_shape(),
                         .normalization = options.normalization,
                         .crop = model.crop,
                         .normalizes_inside = options.normalize_inside,
                         .unknown_inside = onnx.distance.has_value()};
  onnx.metadata = model_metadata(facts);
  onnx.metadata["format"] = "evener-onnx-1";
  if (options.normalize_inside) {
    if (!takes_images(network)) {
      throw UsageError(
          network.model() +
          " takes vectors here, which have no channels to normalise; give it images with --size WIDTHxHEIGHT");
    }
    if (!options.normalization) {
      throw UsageError("nothing tells how " + network.model() +
                       " wants its images normalised; say so with --normalize, e.g. --normalize imagenet");
    }
    engine::PixelScale pixels = engine::make_pixel_scale(
        options.normalization->mean, options.normalization->standard_deviation, network.input_shape().front());
    onnx.pixel_scale = std::move(pixels.scale);
    onnx.pixel_shift = std::move(pixels.shift);
  }
  network::write_onnx(options.onnx, network, model.state, onnx);
}

std::string export_check_refusal() {
  for (const char* name : {kOurs, kOther}) {
    const ModuleStatus status = module_status(name);
    if (status.state != ModuleState::kUsable) {
      return fmt::format("the module '{}' is missing ({})", name, status.reason);
    }
  }
  return "";
}

ExportCheck check_export(const TrainedModel& model, const ExportOptions& options) {
  const std::vector<float> values = random_values(model.network);
  const TensorMap expected = outputs_for(model, options, values, false);
  const TensorMap found = outputs_for(model, options, values, true);
  ExportCheck check;
  bool all_there = true, numbers = true;
  for (const auto& [name, ours] : expected) {
    const auto other = found.find(name);
    if (other == found.end() || other->second.shape != ours.shape) {
      all_there = false;
      continue;
    }
    for (std::int64_t i = 0; i < element_count(ours.shape); ++i) {
      const double value = ours.floats()[i], difference = std::abs(value - other->second.floats()[i]);
      numbers = numbers && std::isfinite(difference);
      check.largest_difference = std::max(check.largest_difference, difference);
      check.largest_output = std::max(check.largest_output, std::abs(value));
    }
  }
  if (!all_there) throw Error("'" + options.onnx.string() + "' has not the outputs that the network has");
  const double most = network::is_quantized(model.network) ? kMostDifferenceQuantized : kMostDifference;
  if (!numbers || check.largest_difference > most * check.largest_output) {
    throw Error(
        fmt::format("'{}' was written, but OpenVINO's answers to it are up to {:.2g} away from the network's, of which "
                    "the largest is {:.2g}; don't use it before it is known why",
                    options.onnx.string(), check.largest_difference, check.largest_output));
  }
  return check;
}

}  // namespace evener::task
