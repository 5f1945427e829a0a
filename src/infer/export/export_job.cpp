#include "infer/export/export_job.h"

#include <fmt/format.h>

#include <memory>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/stop.h"
#include "infer/model/normalization.h"
#include "infer/model/published_weights.h"
#include "infer/session/images.h"
#include "options/data_flags.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

std::optional<data::ChannelStatistics> normalization_of(const ExportFlags& flags, const TrainedModel& model) {
  const NormalizationRule rule = parse_normalization(*flags.normalize);
  if (rule.source != NormalizationRule::Source::kGiven) return model.normalization;
  const network::Shape& input = model.network.input_shape();
  if (input.size() == 3) return for_channels(rule, input.front());
  throw UsageError(
      fmt::format("{} takes vectors here, which have no channels to normalise; leave out --normalize, or "
                  "give it images with --size WIDTHxHEIGHT",
                  model.network.model()));
}

std::string input_text(const network::Network& network, const ExportOptions& options) {
  const std::string shape = "Nx" + shape_text(network.input_shape());
  if (network.input_shape().size() == 1) return shape + " (N, F)";
  const char* values = options.normalize_inside ? "pixels from 0 to 255"
                       : options.normalization  ? "pixels as (value / 255 - mean) / deviation"
                                                : "normalised pixels (how is not known; --normalize tells it)";
  return shape + " (N, C, H, W), " + values;
}

/// The calibration beside the weights, with its temperature taken into these; absent where there is none.
std::optional<ClassifierCalibration> take_calibration(const ExportFlags& flags, TrainedModel& model,
                                                      measure::Observer& observer) {
  const std::optional<LinearHead> head = linear_head(model.network);
  if (*flags.uncalibrated || model.weights.empty() || !head) return std::nullopt;
  FoundCalibration found = read_calibration(model.weights);
  if (!found.note.empty()) observer.note("note: " + found.note);
  if (!found.calibration) return std::nullopt;
  if (found.calibration->unknown && found.calibration->unknown->features != head->values) return std::nullopt;
  fold_temperature(model.network, model.state, found.calibration->temperature);
  observer.note(fmt::format("logits are divided by the temperature {:.3g}{}", found.calibration->temperature,
                            found.calibration->unknown
                                ? fmt::format("; the output '{}' is above 1 for images like none "
                                              "that it was trained on",
                                              kUnknownOutput)
                                : ""));
  return std::move(found.calibration);
}

/// The images that the run holds out, by which its file is judged; null where there is no run, or they are gone.
std::unique_ptr<data::Samples> held_out_images(const TrainedModel& model) {
  const network::Shape& input = model.network.input_shape();
  const RunConfig run(model.run);
  if (input.size() != 3 || run.data_location().empty()) return nullptr;
  const data::CropMode crop = model.crop.value_or(data::CropMode::kStretch);
  const LabelledDataRequest request{.location = run.data_location(),
                                    .weights = model.weights,
                                    .part = kHeldOut,
                                    .threads = usable_cores(),
                                    .look_only = true};
  try {
    const data::OpenedData opened = open_labelled_data(
        request, {.shape = {input[0], input[1], input[2]}, .crop = crop, .filter = data::usual_filter(crop)}, run);
    return data::dataset_samples(opened.dataset, shown_part(opened, request, run).indices, {});
  } catch (const Error&) {
    return nullptr;
  }
}

/// After Ctrl-C there is the whole file or, where it had not been begun, none.
void end_where_stopped(const std::string& what) {
  if (stop_requested()) throw Interrupted("interrupted: " + what);
}

}  // namespace

ModelRequest ExportFlags::request() const {
  ModelRequest request{.model = *model, .weights = *weights, .channels = *channels, .classes = *classes};
  if (!size->empty()) {
    const ImageSize asked = parse_image_size(*size);
    request.width = asked.width;
    request.height = asked.height;
  }
  return request;
}

void ExportFlags::check_together() const {
  if (fs::path(*onnx).extension() != ".onnx") {
    throw UsageError("--onnx '" + *onnx + "' has to end in .onnx: by that name other software knows it");
  }
  if (fs::exists(*onnx) && !*overwrite) {
    throw UsageError("'" + *onnx + "' exists; choose another name, or replace it with --overwrite");
  }
  if (parse_normalization(*normalize).source == NormalizationRule::Source::kData) {
    throw UsageError("--normalize data needs training images; an export takes imagenet, or MEAN/STD");
  }
}

void complete(ExportFlags& flags, measure::Observer* observer) {
  take_weights(flags.weights, &flags.normalize, *flags.model, observer);
}

void export_network(const ExportFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const fs::path onnx = *flags.onnx;
  require_export(onnx);
  TrainedModel model = open_trained_model(flags.request());
  end_where_stopped("nothing was written");
  for (const std::string& note : model.notes) observer.note(note);
  const std::optional<ClassifierCalibration> calibration = take_calibration(flags, model, observer);
  const ExportOptions options{.onnx = onnx,
                              .normalization = normalization_of(flags, model),
                              .calibration = calibration ? &*calibration : nullptr,
                              .normalize_inside = *flags.normalize_inside};
  write_export(model, options);
  end_where_stopped(*flags.onnx + " is whole, but was not run to check it");
  const network::Network& network = model.network;
  observer.tell(
      fmt::format("{}{} written to {} ({}): input {}; {}\n", network.model(),
                  model.weights.empty() ? " with random weights" : " with the weights of " + model.weights.string(),
                  *flags.onnx, bytes_text(fs::file_size(onnx)), input_text(network, options), outputs_text(network)));
  if (const std::string refusal = export_check_refusal(); !refusal.empty()) {
    return observer.note(*flags.onnx + " was not run: " + refusal);
  }
  const std::unique_ptr<data::Samples> images = held_out_images(model);
  const ExportCheck check = check_export(model, options, images.get());
  end_where_stopped(*flags.onnx + " is whole");
  const bool tells_classes = images != nullptr && network.anchors().empty();
  observer.tell(fmt::format("OpenVINO runs it: largest difference {:.2g} where outputs reach {:.3g}, of {} {}{}\n",
                            check.largest_difference, check.largest_output, check.images,
                            images ? "images of the run's data" : "made-up inputs",
                            tells_classes ? fmt::format("; the same class of {}", check.same_class) : ""));
}

}  // namespace evener::inference
