#include "detect/detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "detect/decoders/anchors.h"
#include "detect/decoders/understand.h"
#include "infer/model/class_output.h"

namespace evener::detection {
namespace {

bool has_anchors(const inference::InferenceModel& model) {
  return model.network() != nullptr && !model.network()->anchors().empty();
}

[[noreturn]] void refuse(const inference::InferenceModel& model) {
  if (!model.takes_images()) {
    throw UsageError("'" + model.name() + "' is no detector: it takes no images, but inputs of shape " +
                     inference::open_shape_text(model.input_shape()));
  }
  throw UsageError("'" + model.name() +
                   "' is no detector: it has no anchors that boxes could start from. Give the folder of a run that "
                   "trained one, a network such as ssdlite320_mobilenet_v3_large, or a detector's file (.onnx, .xml, "
                   ".tflite)");
}

std::shared_ptr<const BoxDecoder> decoder_of(const inference::InferenceModel& model) {
  if (model.habits().decoder) return model.habits().decoder;
  if (!has_anchors(model)) refuse(model);
  return std::make_shared<BoxDecoder>(anchor_decoder(*model.network()));
}

/// Outputs for a trial image, with what the file says of them.
std::vector<TrialOutput> trial_outputs(const inference::FileView& file) {
  TensorMap results = file.trial();
  std::vector<TrialOutput> outputs;
  for (const inference::NetworkOutput& output : file.outputs) {
    const HostTensor& result = results.at(output.name);
    const auto count = static_cast<std::size_t>(element_count(result.shape));
    outputs.push_back({output.name, output.type, result.shape, {result.floats(), result.floats() + count}});
  }
  return outputs;
}

std::string normalization_text(const data::ChannelStatistics& normalization) {
  const auto all = [](const std::vector<float>& values, float wanted) {
    return std::ranges::all_of(values, [&](float value) { return value == wanted; });
  };
  if (all(normalization.mean, 0) && all(normalization.standard_deviation, 1)) return "0 to 1";
  if (all(normalization.mean, 0) && all(normalization.standard_deviation, 1.0F / 255)) return "0 to 255";
  return fmt::format("less {:.3g}, by {:.3g}", fmt::join(normalization.mean, ":"),
                     fmt::join(normalization.standard_deviation, ":"));
}

}  // namespace

DecodeOptions usual_decoding(const inference::InferenceModel& model) {
  const auto decoder = decoder_of(model);
  DecodeOptions options;
  options.iou = decoder->usual_iou;
  options.candidates = decoder->usual_candidates;
  return options;
}

inference::FileStudy detector_study(const std::string& decoder) {
  if (!decoder.empty()) check_decoder_name(decoder);
  return [decoder](const inference::FileView& view) {
    return understand({.width = view.image[2],
                       .height = view.image[1],
                       .outputs = trial_outputs(view),
                       .metadata = view.metadata,
                       .classes = view.classes,
                       .names_are_unread = view.names_are_unread,
                       .is_lite = view.is_lite,
                       .wanted = decoder},
                      view.name);
  };
}

namespace {

/// The study of files that may be anything else, too, unless a decoder is named.
inference::FileStudy perhaps_detector_study(const std::string& decoder) {
  if (!decoder.empty()) return detector_study(decoder);
  return [study = detector_study("")](const inference::FileView& view) {
    const bool has_one_row = view.outputs.size() == 1 && view.outputs.front().shape.size() < 2;
    if (has_one_row) return inference::FileHabits();  // a classifier's
    try {
      return study(view);
    } catch (const UsageError& error) {
      return inference::FileHabits{.doubt = error.what()};
    }
  };
}

const inference::RegisteredStudy kRegisteredStudy(perhaps_detector_study);

}  // namespace

std::string understood_text(const inference::InferenceModel& model, const data::Preprocessing& steps) {
  const inference::FileHabits& habits = model.habits();
  if (!habits.decoder) return "";
  const std::string order = model.input_shape().front() == 1 ? "grey" : model.reverses_channels() ? "BGR" : "RGB";
  return fmt::format("{}, {}{}, {}, {}, {}", habits.family, counted(habits.classes.size(), "class", "classes"),
                     habits.named_by.empty() ? "" : fmt::format(" by {}'s order", habits.named_by),
                     data::seen_text(steps), normalization_text(model.normalization()), order);
}

std::vector<std::string> detector_classes(const inference::InferenceModel& model) {
  if (model.habits().decoder) return model.habits().classes;
  if (!has_anchors(model)) refuse(model);
  const network::Network* network = model.network();
  const auto scores = std::ranges::find(network->outputs(), "scores", &network::Output::name);
  if (scores == network->outputs().end()) refuse(model);
  const auto count = static_cast<std::size_t>(network->output_shape(*scores).back() - 1);
  std::vector<std::string> classes = model.classes();
  if (!classes.empty() && classes.size() != count) {
    throw UsageError("'" + model.name() + "' tells " + std::to_string(count) + " classes apart, but there are " +
                     std::to_string(classes.size()) + " names of classes");
  }
  for (std::size_t i = classes.size(); i < count; ++i) classes.push_back("class " + std::to_string(i));
  return classes;
}

std::vector<std::int32_t> wanted_labels(const std::vector<std::string>& wanted,
                                        const std::vector<std::string>& classes) {
  std::vector<std::int32_t> labels;
  for (const std::string& name : wanted) {
    auto place = static_cast<std::size_t>(std::ranges::find(classes, name) - classes.begin());
    if (place == classes.size()) place = to_number<std::size_t>(name).value_or(place);
    if (place >= classes.size()) throw UsageError(unknown_name_message("class", name, classes));
    labels.push_back(static_cast<std::int32_t>(place));
  }
  return labels;
}

Detector::Detector(const inference::InferenceModel& model, DecodeOptions options)
    : name_(model.name()),
      options_(std::move(options)),
      classes_(detector_classes(model)),
      decoder_(decoder_of(model)) {}

std::vector<Detection> Detector::found(const inference::Prediction& prediction, const Photos& photos) const {
  return found(prediction.outputs, photos.photo_size(prediction.index), photos.steps());
}

std::vector<Detection> Detector::found(const ImageOutputs& outputs, const PhotoSize& photo,
                                       const data::Preprocessing& steps) const {
  const PhotoPlace place = place_of(photo, steps);
  std::vector<Detection> boxes = decoder_->found(outputs, options_, place.scale_y);
  for (Detection& box : boxes) {
    if (box.score <= 1.01F && box.label < std::ssize(classes_)) {
      box.score = std::min(box.score, 1.0F);  // of float16, a sigmoid may be rounded above
      continue;
    }
    throw Error(fmt::format(
        "{} gives a box of the class {} with a score of {:.4g}, where {} and scores of at most 1 were understood: name "
        "all classes with --labels FILE, or say how its outputs are read with --decoder NAME",
        name_, box.label, box.score, counted(classes_.size(), "class", "classes")));
  }
  return on_photo(std::move(boxes), place, static_cast<float>(photo.width), static_cast<float>(photo.height));
}

}  // namespace evener::detection
