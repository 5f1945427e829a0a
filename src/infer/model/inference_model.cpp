#include "infer/model/inference_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "infer/model/class_output.h"
#include "infer/model/metadata.h"
#include "infer/model/trained_model.h"
#include "infer/model/trial_run.h"
#include "network/zoo.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;
using engine::ChannelPlace;

/// What the last linear layer reads; absent where there is none.
std::optional<int> read_by_last_linear(const network::Network& network) {
  const auto& layers = network.layers();
  for (auto i = static_cast<int>(layers.size()) - 1; i > 0; --i) {
    const network::Layer& layer = layers[static_cast<std::size_t>(i)];
    if (std::holds_alternative<network::Linear>(layer.op)) return layer.inputs.front();
  }
  return std::nullopt;
}

/// The place of the channels in (N, a, b, c): that of the extent which is a number of channels.
ChannelPlace place_in(const std::vector<std::int64_t>& shape) {
  const auto is_channels = [](std::int64_t extent) { return extent == 1 || extent == 3; };
  return is_channels(shape[3]) && !is_channels(shape[1]) ? ChannelPlace::kLast : ChannelPlace::kFirst;
}

StudyMaker& registered_maker() {
  static StudyMaker maker = nullptr;
  return maker;
}

}  // namespace

RegisteredStudy::RegisteredStudy(StudyMaker maker) {
  registered_maker() = maker;
}

FileStudy registered_study(const std::string& decoder) {
  const StudyMaker make = registered_maker();
  return make != nullptr ? make(decoder) : FileStudy();
}

bool is_foreign_model(const std::string& model) {
  return std::ranges::any_of(std::initializer_list<const char*>{".onnx", ".tflite", ".xml"},
                             [&](const char* ending) { return model.ends_with(ending); });
}

fs::path foreign_file(const std::string& model) {
  if (is_foreign_model(model)) return model;
  std::error_code unreadable;
  for (const char* name : {kQuantizedForeign, kQuantizedGraph}) {
    if (const fs::path inside = fs::path(model) / name; fs::exists(inside, unreadable)) return inside;
  }
  return {};
}

InferenceModel::InferenceModel(const InferenceRequest& request) {
  if (const fs::path file = foreign_file(request.model.model); !file.empty()) {
    InferenceRequest of_file = request;
    of_file.model.model = file.string();
    if (of_file.model.model != request.model.model) run_ = request.model.model;
    is_foreign_ = true;
    take_file(of_file);
    take_classes(request);
    if (request.describe && !habits_.decoder) {
      try {
        describe_file();
      } catch (const Error& error) {
        if (habits_.doubt.empty() || no_classes().empty()) throw;
        throw UsageError(fmt::format("{}. As a detector it isn't taken either: {}", error.what(), habits_.doubt));
      }
    }
  } else {
    take_trained(request);
    take_classes(request);
  }
  take_meaning(request);
  if (request.calibrated && !weights_.empty()) take_calibration(request);
}

/// A softmax at the end of a file that was described is left to its caller, so that our networks give logits unless
/// they end in a sigmoid.
void InferenceModel::take_meaning(const InferenceRequest& request) {
  using engine::MadeBy;
  MadeBy made_by = MadeBy::kProduct;
  if (trained_) {
    const network::Network& network = trained_->network;
    const auto last = static_cast<std::size_t>(network.outputs().front().layer);
    if (std::holds_alternative<network::Activation>(network.layers()[last].op)) made_by = MadeBy::kOther;
  } else {
    made_by = file_->outputs()[class_output_.index].made_by;
  }
  const bool says_one = made_by == MadeBy::kSigmoid || input_.one_is_probability;
  const bool are_shares = class_output_.from_one_value ? says_one : made_by == MadeBy::kSoftmax;
  const bool are_logits = class_output_.from_one_value ? !says_one : made_by == MadeBy::kProduct;
  holds_ = are_shares ? OutputType::kProbabilities : are_logits ? OutputType::kLogits : OutputType::kAuto;
  if (!are_shares || request.output_type != OutputType::kLogits) return;
  notes_.push_back(fmt::format(
      "'{}' gives probabilities, not logits, and they are told as they are; --output-type prob names them so", name_));
}

/// Before the engine compiles it: features are an output of the network then.
void InferenceModel::take_features(const InferenceRequest& request) {
  network::Network& network = trained_->network;
  std::optional<int> layer;
  if (request.features) {
    layer = read_by_last_linear(network);
    if (!layer) throw UsageError("--features gives what the last linear layer reads, and " + name_ + " has none");
  } else if (request.features_if_any || (calibration_ && calibration_->unknown)) {
    if (const auto head = linear_head(network)) layer = head->input;
  }
  if (!layer) return;
  network.mark_last_layer();
  network.set_output(kFeaturesOutput, *layer);
  features_shape_ = network.output_shape(network.outputs().back());
}

void InferenceModel::take_calibration(const InferenceRequest& request) {
  if (!no_classes().empty()) return;
  FoundCalibration found = read_calibration(weights_);
  if (!found.note.empty()) notes_.push_back(std::move(found.note));
  if (!found.calibration) return;
  calibration_ = std::move(found.calibration);
  if (!calibration_->unknown) return;
  if (trained_ && !features_shape_) take_features(request);
  const FeatureStatistics& unknown = *calibration_->unknown;
  if (!features_shape_ || element_count(*features_shape_) != unknown.features) {
    notes_.push_back(fmt::format("'{}' is about {} features, which '{}' doesn't have: nothing is called unknown",
                                 calibration_file(weights_).string(), unknown.features, name_));
    calibration_->unknown.reset();
    return;
  }
  distance_.emplace(unknown);
  outputs_.push_back({.name = kUnknownOutput, .shape = {1}});
}

bool InferenceModel::tells_unknown() const {
  return std::ranges::find(outputs_, kUnknownOutput, &NetworkOutput::name) != outputs_.end() &&
         (distance_.has_value() || knows_unknown_inside_);
}

TensorMap InferenceModel::answers(TensorMap outputs) const {
  if (calibration_) {
    if (const auto scores = outputs.find(main_output()); scores != outputs.end()) {
      apply_temperature(scores->second, calibration_->temperature, holds_);
    }
  }
  const auto features = outputs.find(kFeaturesOutput);
  if (features == outputs.end()) return outputs;
  if (distance_) {
    const std::int64_t images = features->second.shape.front();
    std::vector<float> distances = distance_->of(features->second.floats(), images);
    for (float& distance : distances) distance = static_cast<float>(distance / calibration_->unknown->threshold);
    outputs.insert_or_assign(kUnknownOutput, HostTensor::of_floats({images, 1}, distances));
  }
  if (!tells_features_) outputs.erase(kFeaturesOutput);
  return outputs;
}

void InferenceModel::take_classes(const InferenceRequest& request) {
  if (!request.tells_classes) return;
  if (is_detector()) {  // who knows it counts its names
    if (trained_ && !request.labels.empty()) classes_ = read_labels(request.labels);
    return;
  }
  if (!request.labels.empty()) {
    classes_ = read_labels(request.labels);
    named_by_ = request.labels;
  }
  const std::size_t named = classes_.size() - static_cast<std::size_t>(std::ranges::count(classes_, ""));
  for (const std::size_t labels : {named, classes_.size()}) {
    class_output_ = choose_class_output(outputs_, labels, request.output);
    if (std::cmp_equal(class_output_.classes, labels)) break;
  }
  auto of_classes = names_of_classes(
      classes_, class_output_.classes > 1 ? static_cast<std::size_t>(class_output_.classes) : classes_.size());
  if (!of_classes.empty()) classes_ = std::move(of_classes);
  const NetworkOutput& output = outputs_[class_output_.index];
  if (const std::string why = label_mismatch(class_output_, output, classes_); !why.empty()) {
    if (!named_by_.empty()) throw UsageError(fmt::format("'{}' doesn't fit '{}': {}", named_by_.string(), name_, why));
    notes_.push_back(fmt::format("'{}' itself names other classes than it has, which are not used: {}", name_, why));
    classes_.clear();
    class_output_ = choose_class_output(outputs_, 0, request.output);
  }
  if (!class_output_.note.empty() && !request.features) notes_.push_back(class_output_.note);
  if (!classes_.empty() || weights_.empty() || class_output_.classes < 0 || names_are_unread_) return;
  classes_ = imagenet_names(static_cast<std::size_t>(class_output_.classes));
  names_are_assumed_ = !classes_.empty();
  if (!names_are_assumed_) return;
  notes_.push_back(fmt::format(
      "the names of classes are ImageNet's, assumed because '{}' tells {} apart and doesn't name them; --labels FILE "
      "gives others",
      name_, classes_.size()));
}

std::string InferenceModel::no_classes() const {
  if (is_detector()) {
    return "'" + name_ + "' finds boxes, not one class for each image; 'evener detect' and 'evener serve' tell them";
  }
  std::string why = class_output_.refusal;
  if (why.empty() && class_output_.from_one_value && trained_) {
    why = fmt::format("its output {} is one value for each image, not a score for each class",
                      output_text(outputs_[class_output_.index]));
  }
  return why.empty() ? "" : fmt::format("'{}' tells no classes: {}", name_, why);
}

std::vector<engine::ModelLayer> InferenceModel::file_layers() const {
  return file_ ? file_->layers() : std::vector<engine::ModelLayer>();
}

void InferenceModel::take_trained(const InferenceRequest& request) {
  if (request.reverse_channels.value_or(false) || request.layout) {
    throw UsageError("--channel-order and --layout are for networks in files (.onnx, .tflite, .xml), not for '" +
                     request.model.model + "'");
  }
  trained_ = open_trained_model(request.model);
  name_ = trained_->network.model();
  tells_features_ = request.features || request.features_if_any;
  weights_ = trained_->weights;
  run_ = trained_->run;
  classes_ = trained_->classes;
  named_by_ = trained_->classes_file;
  notes_ = trained_->notes;
  input_.shape = trained_->network.input_shape();
  input_.is_image = input_.shape.size() == 3;
  for (const network::Output& output : trained_->network.outputs()) {
    outputs_.push_back({.name = output.name, .shape = trained_->network.output_shape(output)});
  }
  if (tells_features_) take_features(request);
  crop_ = trained_->crop;
  if (!crop_ && is_detector()) crop_ = data::CropMode::kStretch;
  take_normalization(request, trained_->normalization);
}

void InferenceModel::take_file(const InferenceRequest& request) {
  const ModelRequest& asked = request.model;
  if (!asked.weights.empty()) {
    throw UsageError(fmt::format("'{}' has its weights inside; leave out --weights", asked.model));
  }
  if (request.features) throw UsageError("--features is for networks of the zoo; a file gives the outputs that it has");
  if (!fs::exists(asked.model)) throw Error(fmt::format("'{}' doesn't exist", asked.model));
  require_opens(asked.model);
  reader_ = engine::open_engine("openvino");
  file_ = reader_->open_model_file(asked.model);
  name_ = fs::path(asked.model).filename().string();
  weights_ = asked.model;
  const ModelFacts facts = model_facts(file_->metadata());
  knows_unknown_inside_ = facts.unknown_inside;
  classes_ = facts.classes;
  crop_ = facts.crop;
  if (const fs::path beside = labels_beside(asked.model); classes_.empty() && fs::exists(beside)) {
    classes_ = read_labels(beside);
    named_by_ = beside;
  }
  names_are_unread_ = classes_.empty() && request.labels.empty() && !facts.unread_names.empty();
  if (names_are_unread_ && request.tells_classes) {
    notes_.push_back(fmt::format(
        "the names of classes in '{}' can't be read, {}: they are called by number; --labels FILE names them",
        asked.model, quoted_text(facts.unread_names)));
  }
  take_outputs_of_file();
  input_.one_is_probability = request.output_type == OutputType::kProbabilities;
  input_.reverse_channels = request.reverse_channels.value_or(facts.reverses_channels);
  const std::vector<std::int64_t>& shape = file_->inputs().front().shape;
  if (shape.empty()) throw Error(fmt::format("'{}' doesn't say what shape its input has", asked.model));
  if (shape.front() > 0) fixed_batch_ = shape.front();
  input_.is_image = shape.size() == 4;
  input_.shape.assign(shape.begin() + 1, shape.end());
  if (!input_.is_image) return;
  input_.channels = request.layout.value_or(place_in(shape));
  if (input_.channels == ChannelPlace::kLast)
    std::rotate(input_.shape.begin(), input_.shape.end() - 1, input_.shape.end());
  const std::optional<std::int64_t> given[] = {asked.channels, asked.height, asked.width};
  for (std::size_t i = 0; i < 3; ++i) {
    if (given[i]) input_.shape[i] = *given[i];
    if (input_.shape[i] < 1 && facts.input) input_.shape[i] = (*facts.input)[i];
    if (input_.shape[i] < 1 && i == 0) input_.shape[i] = 3;
  }
  if (input_.shape[1] < 1 || input_.shape[2] < 1) {
    throw UsageError(fmt::format("'{}' takes images of any size; say which with --size WIDTHxHEIGHT", asked.model));
  }
  if (input_.shape[0] != 1 && input_.shape[0] != 3) {
    input_.is_image = false;  // feature maps, or images of many bands: they come as arrays
    input_.shape.assign(shape.begin() + 1, shape.end());
    return;
  }
  if (request.study) study_file(request);
  const data::ChannelStatistics as_it_is = for_channels(parse_normalization("pixels"), input_.shape.front());
  if (request.normalization.source == NormalizationRule::Source::kDefault) float_normalization_ = as_it_is;
  const std::string& type = file_->inputs().front().type;
  const bool takes_bytes = type == "u8" || type == "i8";
  if (!takes_bytes && !facts.normalizes_inside) {
    std::optional<data::ChannelStatistics> of_file = facts.normalization;
    if (!of_file && file_->scales_pixels()) {
      of_file = as_it_is;
      if (float_normalization_) {
        notes_.push_back(fmt::format(
            "'{}' scales pixels itself, and is shown them from 0 to 255; --normalize RULE shows it others", name_));
      }
    } else if (!of_file && !habits_.normalization.empty()) {
      of_file = for_channels(parse_normalization(habits_.normalization), input_.shape.front());
    }
    return take_normalization(request, of_file);
  }
  if (request.normalization.source != NormalizationRule::Source::kDefault) {
    throw UsageError(fmt::format("'{}' {}; leave out --normalize", asked.model,
                                 takes_bytes ? "takes bytes as they are" : "normalises images itself"));
  }
  normalization_ = as_it_is;
}

void InferenceModel::take_outputs_of_file() {
  for (const engine::ModelPort& port : file_->outputs()) {
    NetworkOutput output{.name = port.name, .shape = port.shape, .type = port.type};
    output.rank_is_known = !port.shape.empty();
    if (output.rank_is_known) output.shape.erase(output.shape.begin());
    outputs_.push_back(std::move(output));
  }
}

void InferenceModel::study_file(const InferenceRequest& request) {
  if (!request.labels.empty()) classes_ = read_labels(request.labels);
  const ModelFacts facts = model_facts(file_->metadata());
  const bool takes_pixels = file_->inputs().front().type == "u8" || facts.normalizes_inside || file_->scales_pixels();
  const float grey = takes_pixels ? 127 : 0.5F;
  habits_ = request.study({.name = name_,
                           .metadata = file_->metadata(),
                           .outputs = outputs_,
                           .image = input_.shape,
                           .classes = classes_,
                           .names_are_unread = names_are_unread_,
                           // A quantised one is OpenVINO's file, and tells which it was made of.
                           .is_lite = name_.ends_with(".tflite") || facts.model.ends_with(".tflite"),
                           .trial = [&] { return trial_run(*file_, input_, fixed_batch_.value_or(1), grey); }});
  if (!habits_.decoder) return;
  classes_ = habits_.classes;
  names_are_assumed_ = !habits_.named_by.empty();
  if (!request.reverse_channels && habits_.reverse_channels) input_.reverse_channels = true;
  if (!crop_) crop_ = habits_.crop;
}

void InferenceModel::describe_file() {
  if (input_.reverse_channels) {
    throw UsageError("'" + name_ +
                     "' takes blue, green, red, which a network of ours doesn't; leave out "
                     "--channel-order bgr and give it pictures whose channels are reversed");
  }
  engine::DescribedNetwork described = file_->describe(input_);
  if (knows_unknown_inside_) std::erase_if(outputs_, [](const auto& output) { return output.name == kUnknownOutput; });
  knows_unknown_inside_ = false;
  if (described.pixels) normalization_ = normalization_before(*described.pixels, normalization_);
  if (described.pixels && float_normalization_) {
    float_normalization_ = normalization_before(*described.pixels, *float_normalization_);
  }
  trained_.emplace(std::move(described.network));
  trained_->state = std::move(described.state);
  trained_->trained_elsewhere = true;
  if (described.was_quantized) {
    notes_.push_back("'" + weights_.string() +
                     "' is quantised already: its ranges are left out, and its weights are "
                     "taken as the numbers that they stand for");
  }
  fixed_batch_.reset();
  input_.channels = ChannelPlace::kFirst;
  file_.reset();
  reader_.reset();
}

void InferenceModel::take_normalization(const InferenceRequest& request,
                                        const std::optional<data::ChannelStatistics>& of_file) {
  using Source = NormalizationRule::Source;
  if (!input_.is_image) return;
  if (request.normalization.source == Source::kData) {
    throw UsageError("--normalize data is for trainings; give imagenet, or MEAN/STD such as 0.5/0.5");
  }
  const std::int64_t channels = input_.shape.front();
  if (request.normalization.source == Source::kGiven) {
    normalization_ = for_channels(request.normalization, channels);
    return;
  }
  if (of_file) {
    normalization_ = *of_file;
    return;
  }
  // The normalisation with which most networks were trained whose files name none.
  const bool is_tflite = name_.ends_with(".tflite");
  std::string of_most = is_tflite || channels == 1 ? "0.5/0.5" : "imagenet";
  if (network::embeds_faces(name_)) of_most = "0.5/0.502";  // as `evener faces` shows them faces, whatever files say
  const std::string usual = request.usual_normalization.empty() ? of_most : request.usual_normalization;
  normalization_ = for_channels(parse_normalization(usual), channels);
  if (!weights_.empty()) {
    notes_.push_back(
        fmt::format("'{}' doesn't say how images are normalised; --normalize {} is assumed", weights_.string(), usual));
  }
}

std::string InferenceModel::refusal(const engine::Engine& engine, const engine::RunnerOptions& options) const {
  if (trained_) return engine.runner_refusal(trained_->network, options);
  return std::string(engine.name()) == "openvino"
             ? ""
             : fmt::format("the engine '{}' doesn't run files such as '{}'; use --engine openvino", engine.name(),
                           name_);
}

std::vector<std::unique_ptr<engine::Runner>> InferenceModel::make_runners(engine::Engine& engine,
                                                                          const std::vector<std::int64_t>& sample,
                                                                          engine::RunnerOptions options,
                                                                          int count) const {
  const data::ChannelStatistics& normalization = normalization_of(options.values == engine::ImageValues::kBytes);
  options.mean = normalization.mean;
  options.standard_deviation = normalization.standard_deviation;
  if (trained_) return engine.make_runners(trained_->network, trained_->state, options, count);
  engine::ModelInput input = input_;
  input.shape = sample;
  if (class_output_.from_one_value) input.two_classes_of = main_output();
  return file_->make_runners(input, options, count);
}

std::vector<std::unique_ptr<engine::Runner>> InferenceModel::make_stage_runners(engine::Engine& engine,
                                                                                const network::Network& stage,
                                                                                engine::RunnerOptions options,
                                                                                int count) const {
  options.mean = normalization_.mean;
  options.standard_deviation = normalization_.standard_deviation;
  return engine.make_runners(stage, trained_->state, options, count);
}

}  // namespace evener::inference
