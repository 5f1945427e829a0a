#include "task/inference/trained_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/inference/fitting.h"
#include "task/inference/labels.h"
#include "task/inference/model_metadata.h"
#include "task/inference/packed_weights.h"
#include "weights/weights_file.h"

namespace evener::task {
namespace {

namespace fs = std::filesystem;

fs::path weights_in(const fs::path& run) {
  for (const char* name : {kQuantizedWeights, "best.safetensors", "last.safetensors"}) {
    if (fs::exists(run / name)) return run / name;
  }
  if (fs::exists(run / kQuantizedForeign)) {
    throw Error(
        fmt::format("'{}' holds {}, which 'evener infer' runs and other software takes as it is; weights of a network "
                    "of ours are not in it",
                    run.string(), kQuantizedForeign));
  }
  throw Error(
      fmt::format("'{}' holds no weights: neither best.safetensors nor last.safetensors is there. Name the "
                  "--out folder of a training that has finished an epoch",
                  run.string()));
}

/// The input shape that was asked for, completed from the file, or else from the model.
std::optional<network::Shape> input_of(const ModelRequest& request, const ModelFacts& facts, const std::string& model) {
  if (!request.width && !request.height && !request.channels) return facts.input;
  network::Shape shape = facts.input ? *facts.input : network::build(model, {}).input_shape();
  if (shape.size() != 3) {
    if (!request.width || !request.height) return facts.input;
    const std::int64_t pixels = *request.width * *request.height;
    shape = {shape.front() % pixels == 0 ? shape.front() / pixels : 1, *request.height, *request.width};
  }
  return network::Shape{request.channels.value_or(shape[0]), request.height.value_or(shape[1]),
                        request.width.value_or(shape[2])};
}

TrainedModel random_model(const ModelRequest& request) {
  network::ModelOptions options{.input = input_of(request, {}, request.model), .classes = request.classes};
  TrainedModel model(network::build(request.model, options));
  model.state = network::initial_state(model.network, request.seed);
  model.notes.push_back(
      fmt::format("{} has random weights: its predictions mean nothing, its speed does. Give it weights with --weights",
                  request.model));
  return model;
}

}  // namespace

bool names_a_path(const std::string& model) {
  std::error_code ignored;
  return fs::exists(model, ignored) || model.find('/') != std::string::npos || model.ends_with(".safetensors") ||
         model.ends_with(".pth") || model.ends_with(".pt");
}

TrainedModel open_trained_model(const ModelRequest& request) {
  const bool is_path = names_a_path(request.model);
  if (!is_path && request.weights.empty()) return random_model(request);
  if (is_path && !request.weights.empty()) {
    throw UsageError(
        fmt::format("'{}' brings its own weights; --weights goes with a network of the zoo, such as "
                    "resnet18",
                    request.model));
  }
  fs::path file = is_path ? fs::path(request.model) : request.weights;
  const fs::path run = is_path && fs::is_directory(file) ? file : fs::path();
  if (!run.empty()) file = weights_in(run);
  weights::SafetensorsFile read = weights::read_weights(file);
  if (!request.passed_over.empty()) {
    std::erase_if(read.tensors, [&](const auto& tensor) { return tensor.first.starts_with(request.passed_over); });
  }
  unpack(read.tensors);
  const ModelFacts facts = model_facts(read.metadata);
  const std::string name = is_path ? facts.model : request.model;
  if (name.empty()) {
    throw UsageError(fmt::format("'{}' doesn't say which network its weights are of; {}", file.string(),
                                 fitting_text(fitting_networks(read), file)));
  }
  network::ModelOptions options{.input = input_of(request, facts, name), .classes = request.classes};
  if (!options.classes && !facts.classes.empty()) options.classes = static_cast<std::int64_t>(facts.classes.size());
  WeightedNetwork weighted = with_weights(
      [&](const network::ModelOptions& asked) {
        return quantized_network(network::build(name, asked), facts.quantization);
      },
      options, request.classes.has_value(), std::move(read), "'" + file.string() + "'", request.seed);
  TrainedModel model(std::move(weighted.network));
  model.notes = std::move(weighted.notes);
  model.state = std::move(weighted.state);
  model.weights = file;
  model.run = run;
  model.classes = facts.classes;
  if (const fs::path beside = labels_beside(file); model.classes.empty() && fs::exists(beside)) {
    model.classes = read_labels(beside);
    model.classes_file = beside;
  }
  model.normalization = facts.normalization;
  model.trained_elsewhere = facts.trained_elsewhere;
  // Files of others don't tell; trainings here stretch pictures unless they are told otherwise.
  const bool trained_here = facts.normalization && !facts.trained_elsewhere;
  const bool was_whole = trained_here || network::sees_whole_pictures(name);
  model.crop = facts.crop || !was_whole ? facts.crop : data::CropMode::kStretch;
  model.quantization = facts.quantization;
  return model;
}

}  // namespace evener::task
