#include "infer/model/trained_model.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "infer/model/class_output.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/quantization.h"
#include "network/weight_names.h"
#include "network/zoo.h"
#include "weights/weights_file.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

int weight_bits(const network::Op& op) {
  if (const auto* conv = std::get_if<network::Conv2d>(&op)) return conv->weight_bits;
  const auto* linear = std::get_if<network::Linear>(&op);
  return linear == nullptr ? 0 : linear->weight_bits;
}

constexpr const char* kSource = "it";  // the file, in notes

/// The file's tensors without their values.
weights::SafetensorsFile outline_of(const weights::SafetensorsFile& file) {
  weights::SafetensorsFile outline;
  for (const auto& [name, tensor] : file.tensors) outline.tensors[name] = {tensor.dtype, tensor.shape, {}};
  outline.passed_over = file.passed_over;
  return outline;
}

/// Absent where the file isn't of that network with such images. `channels`: absent = the network's own.
std::optional<FittingNetwork> fitted(const std::string& model, const weights::SafetensorsFile& file,
                                     std::optional<std::int64_t> channels) {
  network::ModelOptions options;
  const network::Shape usual = network::build(model, {}).input_shape();
  if (channels && (usual.size() != 3 || usual.front() == *channels)) return std::nullopt;
  if (channels) options.input = network::Shape{*channels, usual[1], usual[2]};
  const NetworkBuilder build = [&](const network::ModelOptions& asked) { return network::build(model, asked); };
  try {
    weights::SafetensorsFile outline = outline_of(file);
    const network::Network plain = build(options);
    network::adapt_names(plain, outline, kSource);
    if (!network::has_all_names(plain, outline.tensors)) return std::nullopt;
    const network::HeadOutputs outputs = network::head_outputs(plain, outline.tensors);
    WeightedNetwork weighted = with_weights(build, options, /*keeps_classes=*/false, file, kSource, 1);
    return FittingNetwork{.model = model,
                          .outputs = outputs.of_file,
                          .channels = channels.value_or(0),
                          .notes = std::move(weighted.notes)};
  } catch (const Error&) {  // it doesn't fit
    return std::nullopt;
  }
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

fs::path weights_in(const fs::path& run) {
  for (const char* name : {kQuantizedWeights, "best.safetensors", "last.safetensors"}) {
    if (fs::exists(run / name)) return run / name;
  }
  for (const char* name : {kQuantizedForeign, kQuantizedGraph}) {
    if (!fs::exists(run / name)) continue;
    throw Error(
        fmt::format("'{}' holds {}, which 'evener infer' runs and other software takes as it is; weights of a network "
                    "of ours are not in it",
                    run.string(), name));
  }
  throw Error(
      fmt::format("'{}' holds no weights: neither best.safetensors nor last.safetensors is there. Name the --out "
                  "folder of a training that has finished an epoch",
                  run.string()));
}

TensorMap packed(const network::Network& network, TensorMap state) {
  for (const network::Layer& layer : network.layers()) {
    const int bits = weight_bits(layer.op);
    if (bits == 0) continue;
    HostTensor& weight = state.at(layer.name + ".weight");
    weight = network::quantized_weights(weight, state.at(layer.name + ".weight_scale"), bits);
  }
  return state;
}

void unpack(TensorMap& state) {
  for (auto& [name, tensor] : state) {
    if (tensor.dtype != DType::kI8) continue;
    const auto scale = state.find(name + "_scale");
    if (scale == state.end()) throw Error("the int8 tensor '" + name + "' has no scales '" + name + "_scale'");
    tensor = network::dequantized_weights(tensor, scale->second);
  }
}

network::Network quantized_network(const network::Network& network, const network::QuantizationScheme& scheme) {
  return scheme.empty() ? network : network::with_quantization(network::fold_batch_norm(network), scheme);
}

WeightedNetwork with_weights(const NetworkBuilder& build, network::ModelOptions options, bool keeps_classes,
                             weights::SafetensorsFile file, const std::string& source, std::uint64_t seed) {
  network::Network network = build(options);
  std::vector<std::string> notes = network::adapt_names(network, file, source);
  // A file without class names: its last layer tells how many there are.
  const network::HeadOutputs outputs = network::head_outputs(network, file.tensors);
  if (!keeps_classes && outputs.of_file > 0 && outputs.of_file != outputs.of_network) {
    options.classes = outputs.of_file;
    network = build(options);
  }
  network::FittedState fitted = network::fit_state(network, std::move(file.tensors), source, seed);
  if (!fitted.new_head.empty()) {
    const char* what = network.anchors().empty() ? "outputs" : "classes";
    if (fitted.file_outputs == 0)
      throw Error(fmt::format("{} has other anchors or scores than {}", source, network.model()));
    throw Error(fmt::format("{} has {} {}, not {}: leave out --classes", source, fitted.file_outputs, what,
                            outputs.of_network));
  }
  return {std::move(network), std::move(fitted.state), std::move(notes)};
}

std::string FittingNetwork::usage(const std::filesystem::path& file) const {
  return fmt::format("{} --weights {}{}", model, file.string(),
                     channels > 0 ? fmt::format(" --channels {}", channels) : "");
}

std::vector<FittingNetwork> fitting_networks(const weights::SafetensorsFile& file) {
  constexpr std::int64_t kGrey = 1;
  std::vector<FittingNetwork> fitting;
  for (const network::ModelInfo& model : network::known_models()) {
    if (model.name.find(':') != std::string::npos) continue;
    for (const auto channels : {std::optional<std::int64_t>(), std::optional(kGrey)}) {
      if (auto one = fitted(model.name, file, channels)) fitting.push_back(std::move(*one));
    }
  }
  return fitting;
}

std::string fitting_text(const std::vector<FittingNetwork>& fitting, const std::filesystem::path& file) {
  if (fitting.empty())
    return fmt::format("they fit no network of the zoo; 'evener info {}' lists its tensors", file.string());
  return fmt::format("they fit {}: name it, as in '{}'", fitting.front().model, fitting.front().usage(file));
}

bool names_a_path(const std::string& model) {
  std::error_code ignored;
  return fs::exists(model, ignored) || model.find('/') != std::string::npos || model.ends_with(".safetensors") ||
         model.ends_with(".pth") || model.ends_with(".pt");
}

TrainedModel open_trained_model(const ModelRequest& request) {
  const bool is_path = names_a_path(request.model);
  if (!is_path && request.weights.empty()) return random_model(request);
  if (is_path && !request.weights.empty()) {
    throw UsageError(fmt::format(
        "'{}' brings its own weights; --weights goes with a network of the zoo, such as resnet18", request.model));
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

}  // namespace evener::inference
