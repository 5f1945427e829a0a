#include "train/steps/start.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/open/samples.h"
#include "infer/model/trained_model.h"
#include "network/init.h"
#include "network/weight_names.h"
#include "network/zoo.h"
#include "quantize/values/quantizer.h"
#include "weights/metadata_json.h"
#include "weights/weights_file.h"

namespace evener::training {
namespace {

/// "conv1", "layer1", ...: the first parts of the parameters' names, each once.
std::vector<std::string> first_parts(const network::Network& network) {
  std::vector<std::string> parts;
  for (const auto& parameter : network.parameters()) {
    std::string part = parameter.name.substr(0, parameter.name.find('.'));
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  return parts;
}

[[noreturn]] void fail_pattern(const network::Network& network, const std::string& pattern) {
  std::vector<std::string> known = first_parts(network);
  const std::string parts = fmt::format("{}", fmt::join(known, ", "));
  for (const auto& parameter : network.parameters()) known.push_back(parameter.name);
  std::string plain = pattern;
  while (plain.ends_with('*') || plain.ends_with('.')) plain.pop_back();
  const std::string nearest = nearest_name(plain, known);
  throw UsageError(
      fmt::format("--freeze '{}' matches no parameter of {}{}. Names begin with {}; 'PART*' takes all of one", pattern,
                  network.model(), nearest.empty() ? "" : fmt::format("; did you mean '{}*'?", nearest), parts));
}

/// The file with what it says of its model, for messages.
std::string source_text(const TrainOptions& options, const weights::Metadata& metadata) {
  const auto model = metadata.find("model");
  const std::string of = model == metadata.end() ? "" : fmt::format(" (of model {})", printable(model->second));
  return fmt::format("'{}'{}", options.weights.string(), of);
}

void note_fit(const network::FittedState& fitted, const TrainOptions& options, TrainSetup& setup) {
  const std::size_t classes = setup.classes.size();
  const char* what = setup.network.anchors().empty() ? "outputs" : "classes";
  const std::string theirs =
      fitted.file_outputs > 0 ? fmt::format("{} {}", fitted.file_outputs, what) : "other anchors or scores";
  setup.notes.push_back(fmt::format("starting from {}", options.weights.string()));
  if (!fitted.new_head.empty()) {
    if (options.epochs == 0) {
      throw UsageError(
          fmt::format("'{}' has {}, but the data has {} classes: there is nothing to evaluate. Train a new head "
                      "(--epochs 1 or more), or use data with its classes",
                      options.weights.string(), theirs, classes));
    }
    const std::string names =
        fitted.new_head.size() > 2
            ? fmt::format("{} and {} tensors more", fitted.new_head.front(), fitted.new_head.size() - 1)
            : fmt::format("{}", fmt::join(fitted.new_head, " and "));
    setup.notes.push_back(
        fmt::format("the file has {}, the data {} classes: new first values for {}", theirs, classes, names));
  }
  if (fitted.new_counters > 0) {
    setup.notes.push_back(
        fmt::format("the file has no num_batches_tracked, as those of PyTorch before 0.4.1: {} counters begin at 0",
                    fitted.new_counters));
  }
  if (fitted.converted > 0)
    setup.notes.push_back(fmt::format("{} tensors were converted to float32", fitted.converted));
}

/// Tells the user where the file has as many classes as the data, but other ones: the head is taken over, which may not
/// be what the user wants.
void note_classes(const weights::Metadata& metadata, TrainSetup& setup) {
  const auto found = metadata.find("classes");
  if (found == metadata.end()) return;
  const auto theirs = nlohmann::json::parse(found->second, nullptr, false);
  if (!theirs.is_array() || theirs.size() != setup.classes.size()) return;
  if (found->second == weights::metadata_text(setup.classes)) return;
  setup.notes.push_back("the file's classes have other names than the data's; its last layer is kept as it is");
}

void set_normalization(const TrainOptions& options, const weights::Metadata& metadata, const data::OpenedData& data,
                       const data::Progress& progress, TrainSetup& setup) {
  const std::int64_t channels = data.dataset->shape().channels;
  if (options.normalization.source == inference::NormalizationRule::Source::kGiven) {
    setup.normalization = inference::for_channels(options.normalization, channels);
    setup.normalized_by = "given";
    return;
  }
  if (options.normalization.source == inference::NormalizationRule::Source::kDefault) {
    if (const auto of_file = inference::normalization_of(metadata, channels)) {
      setup.normalization = *of_file;
      setup.normalized_by = "weights";
      return;
    }
  }
  if (data.split.train.empty()) {
    throw UsageError(
        "how to normalise the images is unknown: there are no training images to take the mean and the standard "
        "deviation of, and the weights' file doesn't tell them. Give --normalize, such as imagenet");
  }
  if (options.data.look_only && !data.statistics) {
    const std::vector<float> channel_values(static_cast<std::size_t>(channels), 1);
    setup.normalization = {channel_values, channel_values};
    return;
  }
  setup.normalization = data.statistics
                            ? *data.statistics
                            : data::channel_statistics(*data.dataset, data.split.train, options.data.threads, progress);
  setup.normalized_by = "data";
  if (!options.weights.empty() && options.normalization.source == inference::NormalizationRule::Source::kDefault) {
    setup.notes.push_back(
        "images are normalised by the mean and the standard deviation of the training images; if the weights were "
        "trained with others, give them with --normalize (such as imagenet)");
  }
}

/// Builds the network as in the zoo, not quantised.
network::Network build_float_network(const TrainOptions& options, const data::Dataset& dataset) {
  const auto shape = dataset.shape();
  network::ModelOptions model;
  model.input = network::Shape{shape.channels, shape.height, shape.width};
  model.classes = static_cast<std::int64_t>(dataset.classes().size());
  return network::build(options.model, model);
}

/// Gives the weights scales, by a look at training images.
TensorMap calibrated(const TrainOptions& options, const data::OpenedData& data, const TrainSetup& setup,
                     const TensorMap& state) {
  const network::Network network = build_float_network(options, *data.dataset);
  if (data.split.train.empty()) throw UsageError("--quantize calibrates on training images, of which there are none");
  const auto samples = data::dataset_samples(data.dataset, data.split.train, {});
  return quantization::calibrated_state(network, state, options.quantize_bits, setup.normalization, *samples,
                                        placement::cpu_threads(options.plan));
}

/// The last layer, where it is asked for that it is fitted first, and possible.
std::optional<inference::LinearHead> head_to_fit(const TrainOptions& options, bool has_new_head, TrainSetup& setup) {
  const bool wanted = options.linear_probing == LinearProbing::kAlways ||
                      (options.linear_probing == LinearProbing::kNew && has_new_head);
  if (!wanted || options.epochs == 0 || options.weights.empty() || !setup.network.anchors().empty()) {
    return std::nullopt;
  }
  const auto skip = [&](const std::string& why) -> std::optional<inference::LinearHead> {
    setup.notes.push_back("no linear probing, all layers are trained from the first step on: " + why);
    return std::nullopt;
  };
  auto head = inference::linear_head(setup.network);
  if (!head || head->is_quantized)
    return skip(setup.network.model() + "'s can't be fitted by itself, as one linear layer could");
  if (!std::holds_alternative<network::CrossEntropy>(options.trainer.criterion.terms.front().op)) {
    return skip("by itself it could be fitted for cross-entropy alone");
  }
  if (placement::has_other_hosts(options.plan)) {
    return skip("several hosts would each come to slightly different weights");
  }
  return head;
}

void begin_with(const inference::LinearHead& head, const TrainOptions& options, const data::OpenedData& data,
                TensorMap& state, TrainSetup& setup) {
  setup.linear_probe = fit_linear_probe(setup.network, head, state, data,
                                        {.normalization = setup.normalization,
                                         .augment = options.augment,
                                         .seed = options.trainer.seed,
                                         .threads = std::max(1, placement::cpu_threads(options.plan))});
  const LinearProbe& fit = *setup.linear_probe;
  setup.notes.push_back(fmt::format(
      "epoch 1 is linear probing: the last layer, {}, was fitted to features of {} that were computed once{}, in {}",
      fit.layer, counted(fit.images, "image"), fit.copies > 1 ? fmt::format(", each in {} copies", fit.copies) : "",
      duration_text(fit.seconds)));
}

/// Weights from a file.
struct FileStart {
  weights::Metadata metadata;  // what the file says of itself
  TensorMap state;
  bool has_new_head = false;  // the last layer has first values: the file has none that fits
};

/// The start from a file that holds the network, or the part that it shares with a classifier. `network`: the one that
/// the file's weights are read for.
FileStart start_from_file(const TrainOptions& options, const network::Network& network, TrainSetup& setup) {
  weights::SafetensorsFile file = weights::read_weights(options.weights);
  FileStart start{std::move(file.metadata), {}};
  inference::unpack(file.tensors);
  const std::string source = source_text(options, start.metadata);
  std::ranges::move(adapt_to_network_or_backbone(network, file, source), std::back_inserter(setup.notes));
  if (is_of_backbone(network, file.tensors)) {
    // Weights without their last layers can't be judged.
    if (options.epochs == 0) {
      throw UsageError(
          fmt::format("'{}' has no last layers for {}: there is nothing to evaluate. Train them (--epochs 1 or more)",
                      options.weights.string(), options.model));
    }
    Backbone backbone = backbone_of_classifier(network, std::move(file.tensors), source, options.trainer.seed);
    setup.notes.push_back(fmt::format("starting from {}", options.weights.string()));
    setup.notes.insert(setup.notes.end(), backbone.notes.begin(), backbone.notes.end());
    start.state = std::move(backbone.state);
    return start;
  }
  network::FittedState fitted = network::fit_state(network, std::move(file.tensors), source, options.trainer.seed);
  note_fit(fitted, options, setup);
  start.has_new_head = !fitted.new_head.empty();
  if (!start.has_new_head) note_classes(start.metadata, setup);
  start.state = std::move(fitted.state);
  return start;
}

bool is_safetensors(const std::filesystem::path& file) {
  return file.extension() == ".safetensors" && std::filesystem::exists(file);
}

/// Scales that a file has are for weights of so many bits; they are learnt on, not made anew.
void require_bits(const network::QuantizationScheme& known, int asked, const std::filesystem::path& file) {
  for (const auto& [layer, bits] : known.weight_bits) {
    if (asked == 0 || bits == asked) continue;
    throw UsageError(
        fmt::format("'{}' is quantised already, with weights of {} bits, not {}: leave out --quantize to go on with "
                    "those, or start from the weights that it was made of",
                    file.string(), bits, asked));
  }
}

constexpr const char* kClassifiersPart = "features.";  // of a classifier

std::vector<const network::Parameter*> parameters_of(const network::Network& network, const char* part) {
  std::vector<const network::Parameter*> parameters;
  for (const network::Parameter& parameter : network.parameters()) {
    if (parameter.name.starts_with(part)) parameters.push_back(&parameter);
  }
  return parameters;
}

bool has_beginning(const TensorMap& tensors, const std::string& part) {
  const auto first = tensors.lower_bound(part);
  return first != tensors.end() && first->first.starts_with(part);
}

}  // namespace

inference::ModelFacts facts_in(const std::filesystem::path& file) {
  if (!is_safetensors(file)) return {};
  return inference::model_facts(weights::read_safetensors_metadata(file));
}

network::Network build_network(const TrainOptions& options, const data::Dataset& dataset) {
  return inference::quantized_network(build_float_network(options, dataset), options.quantization);
}

network::QuantizationScheme quantization_of(TrainOptions& options, const data::Dataset& dataset) {
  const std::filesystem::path file = options.resume ? options.out / "last.safetensors" : options.weights;
  if (is_safetensors(file)) {
    network::QuantizationScheme known = facts_in(file).quantization;
    if (!known.empty() && !options.resume) require_bits(known, options.quantize_bits, file);
    if (!known.empty() || options.resume) {
      options.quantize_bits = 0;
      return known;
    }
  }
  if (options.quantize_bits == 0) return {};
  if (options.weights.empty()) {
    throw UsageError("--quantize goes on with a trained network: give its weights with --weights");
  }
  return quantization::scheme_for(build_float_network(options, dataset), options.quantize_bits);
}

std::vector<std::string> matching_parameters(const network::Network& network,
                                             const std::vector<std::string>& patterns) {
  std::vector<bool> used(patterns.size());
  std::vector<std::string> names;
  for (const auto& parameter : network.parameters()) {
    if (!parameter.trained) continue;
    bool matches = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (fnmatch(patterns[i].c_str(), parameter.name.c_str(), 0) != 0) continue;
      used[i] = matches = true;
    }
    if (matches) names.push_back(parameter.name);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i]) fail_pattern(network, patterns[i]);
  }
  return names;
}

std::vector<std::string> backbone_parameters(const network::Network& network) {
  const bool is_detector = !network.anchors().empty();
  std::vector<std::string> names;
  for (const auto& parameter : network.parameters()) {
    const bool is_before_heads =
        is_detector ? parameter.name.starts_with(kDetectorsPart) : parameter.layer != network.outputs().front().layer;
    if (parameter.trained && is_before_heads) names.push_back(parameter.name);
  }
  return names;
}

std::string freeze_text(const network::Network& network) {
  std::int64_t trained = 0, all = 0, trained_values = 0, all_values = 0;
  for (const auto& parameter : network.parameters()) {
    if (parameter.buffer) continue;
    const std::int64_t values = element_count(parameter.shape);
    ++all;
    all_values += values;
    if (!parameter.trained) continue;
    ++trained;
    trained_values += values;
  }
  if (trained == all) return "";
  return fmt::format("{} of {} parameters are trained ({} of {} values)", trained, all, trained_values, all_values);
}

std::vector<std::string> adapt_to_network_or_backbone(const network::Network& network, weights::SafetensorsFile& file,
                                                      const std::string& source) {
  const std::string classifier = network::classifier_of(network.model());
  const bool may_be_classifiers =
      !classifier.empty() && !has_beginning(file.tensors, "backbone.") && !has_beginning(file.tensors, "head.");
  std::vector<std::string> notes = network::adapt_names(network, file, source);
  if (!may_be_classifiers || network::has_all_names(network, file.tensors)) return notes;
  return network::adapt_names(network::build(classifier, {}), file, source);
}

bool is_of_backbone(const network::Network& network, const TensorMap& given) {
  if (network.anchors().empty() || network::classifier_of(network.model()).empty()) return false;
  return has_beginning(given, kClassifiersPart) && !has_beginning(given, "backbone.") && !has_beginning(given, "head.");
}

Backbone backbone_of_classifier(const network::Network& network, TensorMap given, const std::string& source,
                                std::uint64_t seed) {
  const std::string model = network::classifier_of(network.model());
  const network::Network classifier = network::build(model, {.input = network.input_shape()});
  // Both are built by one function, so that their layers are the same in their order, if not in name and width.
  const auto ours = parameters_of(network, kDetectorsPart), theirs = parameters_of(classifier, kClassifiersPart);
  Backbone backbone{network::initial_state(network, seed), {}};
  std::size_t taken = 0, others = 0;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const auto found = given.find(theirs[i]->name);
    const bool is_counter = ours[i]->name.ends_with(".num_batches_tracked");
    if (found == given.end()) {
      if (!is_counter) missing.push_back(theirs[i]->name);
      continue;
    }
    if (found->second.shape != ours[i]->shape) {
      ++others;
      continue;
    }
    HostTensor& place = backbone.state.at(ours[i]->name);
    place = is_counter ? std::move(found->second) : found->second.to_floats();
    ++taken;
  }
  if (!missing.empty()) {
    throw Error(fmt::format("{} has no {} ({} of {} tensors are missing): it is no {}, which {} is built on", source,
                            missing.front(), missing.size(), theirs.size(), model, network.model()));
  }
  network::check_state(network, backbone.state, source);
  backbone.notes.push_back(
      fmt::format("{} tensors are those of the classifier {}; the levels after it and the heads begin with new values",
                  taken, model));
  if (others > 0) {
    backbone.notes.push_back(fmt::format(
        "{} more of the classifier's have another shape than the detector's, and begin with new values", others));
  }
  return backbone;
}

TensorMap make_start(const TrainOptions& options, TrainSetup& setup, const data::OpenedData& data,
                     const data::Progress& progress) {
  // Files have the weights of the network as the zoo has it, from which those with scales are made.
  const bool calibrates = options.quantize_bits > 0 && !options.quantization.empty();
  const network::Network read = calibrates ? build_float_network(options, *data.dataset) : setup.network;
  FileStart start = options.weights.empty() ? FileStart{{}, network::initial_state(setup.network, options.trainer.seed)}
                                            : start_from_file(options, read, setup);
  set_normalization(options, start.metadata, data, progress, setup);
  const std::optional<inference::LinearHead> head = head_to_fit(options, start.has_new_head, setup);
  if (options.data.look_only) {
    if (head)
      setup.notes.push_back("epoch 1 is linear probing: the last layer, " + head->layer +
                            ", is fitted to features that are computed once");
    return std::move(start.state);
  }
  if (calibrates) start.state = calibrated(options, data, setup, start.state);
  if (head) begin_with(*head, options, data, start.state, setup);
  return std::move(start.state);
}

}  // namespace evener::training
