#include "task/training/start.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/open/samples.h"
#include "network/init.h"
#include "network/weight_names.h"
#include "network/zoo.h"
#include "task/inference/trained_model.h"
#include "task/quantize/quantizer.h"
#include "task/training/backbone.h"
#include "weights/metadata_json.h"
#include "weights/weights_file.h"

namespace evener::task {
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

void note_fit(const network::FittedState& fitted, const TrainOptions& options, const TrainSetup& setup, Start& start) {
  const std::size_t classes = setup.classes.size();
  const char* what = setup.network.anchors().empty() ? "outputs" : "classes";
  const std::string theirs =
      fitted.file_outputs > 0 ? fmt::format("{} {}", fitted.file_outputs, what) : "other anchors or scores";
  start.notes.push_back(fmt::format("starting from {}", options.weights.string()));
  if (!fitted.new_head.empty()) {
    if (options.epochs == 0) {
      throw UsageError(
          fmt::format("'{}' has {}, but the data has {} classes: there is nothing to evaluate. "
                      "Train a new head (--epochs 1 or more), or use data with its classes",
                      options.weights.string(), theirs, classes));
    }
    const std::string names =
        fitted.new_head.size() > 2
            ? fmt::format("{} and {} tensors more", fitted.new_head.front(), fitted.new_head.size() - 1)
            : fmt::format("{}", fmt::join(fitted.new_head, " and "));
    start.notes.push_back(
        fmt::format("the file has {}, the data {} classes: new first values for {}", theirs, classes, names));
  }
  if (fitted.new_counters > 0) {
    start.notes.push_back(
        fmt::format("the file has no num_batches_tracked, as those of PyTorch before 0.4.1: {} counters begin at 0",
                    fitted.new_counters));
  }
  if (fitted.converted > 0)
    start.notes.push_back(fmt::format("{} tensors were converted to float32", fitted.converted));
}

/// Tells the user where the file has as many classes as the data, but other ones: the head is taken over, which may not
/// be what the user wants.
void note_classes(const weights::Metadata& metadata, const std::vector<std::string>& classes, Start& start) {
  const auto found = metadata.find("classes");
  if (found == metadata.end()) return;
  const auto theirs = nlohmann::json::parse(found->second, nullptr, false);
  if (!theirs.is_array() || theirs.size() != classes.size()) return;
  if (found->second == weights::metadata_text(classes)) return;
  start.notes.push_back("the file's classes have other names than the data's; its last layer is kept as it is");
}

void set_normalization(const TrainOptions& options, const weights::Metadata& metadata, const data::OpenedData& data,
                       const data::Progress& progress, Start& start) {
  const std::int64_t channels = data.dataset->shape().channels;
  if (options.normalization.source == NormalizationRule::Source::kGiven) {
    start.normalization = for_channels(options.normalization, channels);
    start.normalized_by = "given";
    return;
  }
  if (options.normalization.source == NormalizationRule::Source::kDefault) {
    if (const auto of_file = normalization_of(metadata, channels)) {
      start.normalization = *of_file;
      start.normalized_by = "weights";
      return;
    }
  }
  if (data.split.train.empty()) {
    throw UsageError(
        "how to normalise the images is unknown: there are no training images to take the mean and the "
        "standard deviation of, and the weights' file doesn't tell them. Give --normalize, such as imagenet");
  }
  if (options.data.look_only && !data.statistics) {
    const std::vector<float> channel_values(static_cast<std::size_t>(channels), 1);
    start.normalization = {channel_values, channel_values};
    return;
  }
  start.normalization = data.statistics
                            ? *data.statistics
                            : data::channel_statistics(*data.dataset, data.split.train, options.data.threads, progress);
  start.normalized_by = "data";
  if (!options.weights.empty() && options.normalization.source == NormalizationRule::Source::kDefault) {
    start.notes.push_back(
        "images are normalised by the mean and the standard deviation of the training images; if the "
        "weights were trained with others, give them with --normalize (such as imagenet)");
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

/// Weights without their last layers can't be judged.
void require_training_of_head(const TrainOptions& options) {
  if (options.epochs > 0) return;
  throw UsageError(
      fmt::format("'{}' has no last layers for {}: there is nothing to evaluate. Train them (--epochs 1 or "
                  "more)",
                  options.weights.string(), options.model));
}

void take(Backbone backbone, const TrainOptions& options, Start& start) {
  start.notes.push_back(fmt::format("starting from {}", options.weights.string()));
  start.notes.insert(start.notes.end(), backbone.notes.begin(), backbone.notes.end());
  start.state = std::move(backbone.state);
}

/// Whether scales are calibrated here, as the weights in the file have none.
bool calibrates(const TrainOptions& options) {
  return options.quantize_bits > 0 && !options.quantization.empty();
}

/// Gives the weights scales, by a look at training images.
void calibrate(const TrainOptions& options, const data::OpenedData& data, Start& start) {
  const network::Network network = build_float_network(options, *data.dataset);
  if (data.split.train.empty()) throw UsageError("--quantize calibrates on training images, of which there are none");
  const auto samples = data::dataset_samples(data.dataset, data.split.train, {});
  start.state = calibrated_state(network, start.state, options.quantize_bits, start.normalization, *samples,
                                 placement::cpu_threads(options.plan));
}

/// The last layer, where it is asked for that it is fitted first, and possible.
std::optional<LinearHead> head_to_fit(const TrainOptions& options, const TrainSetup& setup, Start& start) {
  const bool wanted = options.linear_probing == LinearProbing::kAlways ||
                      (options.linear_probing == LinearProbing::kNew && start.has_new_head);
  if (!wanted || options.epochs == 0 || options.weights.empty() || !setup.network.anchors().empty()) {
    return std::nullopt;
  }
  const auto skip = [&](const std::string& why) -> std::optional<LinearHead> {
    start.notes.push_back("no linear probing, all layers are trained from the first step on: " + why);
    return std::nullopt;
  };
  auto head = linear_head(setup.network);
  if (!head) return skip(setup.network.model() + "'s can't be fitted by itself, as one linear layer could");
  if (!std::holds_alternative<network::CrossEntropy>(options.trainer.criterion.terms.front().op)) {
    return skip("by itself it could be fitted for cross-entropy alone");
  }
  if (placement::has_other_hosts(options.plan)) {
    return skip("several hosts would each come to slightly different weights");
  }
  return head;
}

void begin_with(const LinearHead& head, const TrainOptions& options, const TrainSetup& setup,
                const data::OpenedData& data, Start& start) {
  start.linear_probe = fit_linear_probe(setup.network, head, start.state, data,
                                        {.normalization = start.normalization,
                                         .augment = options.augment,
                                         .seed = options.trainer.seed,
                                         .threads = std::max(1, placement::cpu_threads(options.plan))});
  const LinearProbe& fit = *start.linear_probe;
  start.notes.push_back(fmt::format(
      "epoch 1 is linear probing: the last layer, {}, was fitted to features of {} that were computed once{}, in {}",
      fit.layer, counted(fit.images, "image"), fit.copies > 1 ? fmt::format(", each in {} copies", fit.copies) : "",
      duration_text(fit.seconds)));
}

/// Everything but the normalization: the start from a file that holds the network, or the part that it shares with a
/// classifier. What the file says of itself is put into `metadata`. `network`: the one that the file's weights are
/// read for.
void start_from_file(const TrainOptions& options, const TrainSetup& setup, const network::Network& network,
                     Start& start, weights::Metadata& metadata) {
  weights::SafetensorsFile file = weights::read_weights(options.weights);
  metadata = std::move(file.metadata);
  unpack(file.tensors);
  const std::string source = source_text(options, metadata);
  std::ranges::move(adapt_to_network_or_backbone(network, file, source), std::back_inserter(start.notes));
  if (is_of_backbone(network, file.tensors)) {
    require_training_of_head(options);
    take(backbone_of_classifier(network, std::move(file.tensors), source, options.trainer.seed), options, start);
    return;
  }
  network::FittedState fitted = network::fit_state(network, std::move(file.tensors), source, options.trainer.seed);
  note_fit(fitted, options, setup, start);
  start.has_new_head = !fitted.new_head.empty();
  if (!start.has_new_head) note_classes(metadata, setup.classes, start);
  start.state = std::move(fitted.state);
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

}  // namespace

ModelFacts facts_in(const std::filesystem::path& file) {
  if (!is_safetensors(file)) return {};
  return model_facts(weights::read_safetensors_metadata(file));
}

network::Network build_network(const TrainOptions& options, const data::Dataset& dataset) {
  return quantized_network(build_float_network(options, dataset), options.quantization);
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
  return scheme_for(build_float_network(options, dataset), options.quantize_bits);
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

Start make_start(const TrainOptions& options, const TrainSetup& setup, const data::OpenedData& data,
                 const data::Progress& progress) {
  Start start;
  weights::Metadata metadata;
  // Files have the weights of the network as the zoo has it, from which those with scales are made.
  const network::Network read = calibrates(options) ? build_float_network(options, *data.dataset) : setup.network;
  if (options.weights.empty()) {
    start.state = network::initial_state(setup.network, options.trainer.seed);
  } else {
    start_from_file(options, setup, read, start, metadata);
  }
  set_normalization(options, metadata, data, progress, start);
  const std::optional<LinearHead> head = head_to_fit(options, setup, start);
  if (options.data.look_only) {
    if (head)
      start.notes.push_back("epoch 1 is linear probing: the last layer, " + head->layer +
                            ", is fitted to features that are computed once");
    return start;
  }
  if (calibrates(options)) calibrate(options, data, start);
  if (head) begin_with(*head, options, setup, data, start);
  return start;
}

}  // namespace evener::task
