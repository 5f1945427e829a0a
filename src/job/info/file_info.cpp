#include "job/info/file_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "job/info/tensors_info.h"
#include "network/cost.h"
#include "record/record_json.h"
#include "task/detect/detector.h"
#include "task/inference/inference_model.h"
#include "task/inference/model_metadata.h"
#include "weights/weights_file.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kNamesShown = 10;
constexpr std::size_t kWidestName = 60;  // of a layer; longer ones push their row

std::string class_names_text(const std::vector<std::string>& classes) {
  if (classes.empty()) return "their names are not known";
  std::string text = counted(classes.size(), "class", "classes") + ":";
  for (std::size_t i = 0; i < std::min(classes.size(), kNamesShown); ++i)
    text += (i ? ", " : " ") + printable(classes[i]);
  return text + (classes.size() > kNamesShown ? ", ..." : "");
}

std::string numbers_text(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += (text.empty() ? "" : ", ") + fmt::format("{:.4g}", value);
  return text;
}

std::string preprocessing_text(const std::optional<data::ChannelStatistics>& normalization,
                               const std::optional<data::CropMode>& crop) {
  std::string text = crop ? std::string("--crop ") + data::crop_mode_name(*crop) : "how pictures are cut is not told";
  if (!normalization) return text + "; the normalisation is not told";
  const auto is_byte = [](float deviation) { return deviation == 1.0F / 255; };
  const bool has_no_mean = std::ranges::all_of(normalization->mean, [](float mean) { return mean == 0; });
  if (has_no_mean && std::ranges::all_of(normalization->standard_deviation, is_byte)) {
    return text + "; pixels from 0 to 255 as they are";
  }
  return text + fmt::format("; (value / 255 - mean) / deviation, mean {}, deviation {}",
                            numbers_text(normalization->mean), numbers_text(normalization->standard_deviation));
}

void put_preprocessing(ordered_json& json, const std::optional<data::ChannelStatistics>& normalization,
                       const std::optional<data::CropMode>& crop) {
  json["mean"] = normalization ? ordered_json(normalization->mean) : ordered_json();
  json["standard_deviation"] = normalization ? ordered_json(normalization->standard_deviation) : ordered_json();
  json["crop"] = crop ? ordered_json(data::crop_mode_name(*crop)) : ordered_json();
}

std::string share_text(const std::optional<double>& share, const std::optional<std::int64_t>& images) {
  if (!share) return "unknown";
  return fmt::format("{:.2f} %{}", 100 * *share, images ? " of " + counted(*images, "image") : "");
}

/// Adds facts from the record in a run's folder, if there is one.
void add_record(const fs::path& run, Description& info) {
  if (run.empty() || !fs::exists(run / "record.json")) return;
  const record::Record record = record::read_record(run);
  const record::Accuracy& accuracy = record.training.accuracy;
  info.text += info_row("data", record.data.location);
  info.text += info_row("made by", fmt::format("evener {}, {}", record.kind, record::status_name(record.status)));
  if (!record.training.epochs.empty()) {
    info.text += info_row("epochs", std::to_string(record.training.epochs.size()));
  }
  if (accuracy.val || accuracy.test) {
    info.text += info_row("accuracy", fmt::format("validation {}, test {}", share_text(accuracy.val, record.data.val),
                                                  share_text(accuracy.test, record.data.test)));
  }
  for (const auto& [name, metric] : record.metrics) {
    if (metric.role != record::MetricRole::kQuality || !metric.value || metric.unit != "share") continue;
    info.text += info_row(info.text.find("\nfigures") == std::string::npos ? "figures" : "",
                          fmt::format("{}: {:.2f} %", metric.label, 100 * *metric.value));
  }
  const auto value = [](const std::optional<double>& share) { return share ? ordered_json(*share) : ordered_json(); };
  info.json["run"] = {{"kind", record.kind},
                      {"status", record::status_name(record.status)},
                      {"data", record.data.location},
                      {"epochs", record.training.epochs.size()},
                      {"validation_accuracy", value(accuracy.val)},
                      {"test_accuracy", value(accuracy.test)}};
}

/// A run, or a file of weights that says of which network.
Description trained_info(const FileInfoRequest& request) {
  const task::TrainedModel model = task::open_trained_model(
      {.model = request.path, .width = request.width, .height = request.height, .channels = request.channels});
  const network::Network& net = model.network;
  const std::int64_t parameters = network::total_cost(net).parameters;
  Description info;
  info.text = info_row("network", fmt::format("{}, {} parameters{}", net.model(), parameters,
                                              model.quantization.empty() ? "" : ", quantised"));
  info.text += info_row("weights", model.weights.string());
  info.text += info_row("input", shape_text(net.input_shape()) + (net.input_shape().size() == 3 ? " (C, H, W)" : ""));
  info.text += info_row("output", outputs_text(net));
  info.text += info_row("classes", class_names_text(model.classes));
  info.text += info_row("preprocessing", preprocessing_text(model.normalization, model.crop));
  info.json = {{"schema", 1},
               {"kind", "info"},
               {"file", model.weights.string()},
               {"model", net.model()},
               {"input", net.input_shape()},
               {"output", net.output_shape()},
               {"parameters", parameters},
               {"quantized", !model.quantization.empty()},
               {"classes", model.classes}};
  put_preprocessing(info.json, model.normalization, model.crop);
  add_record(model.run, info);
  return info;
}

std::string foreign_output_text(const task::InferenceModel& model, const task::NetworkOutput& output) {
  const bool tells = !model.habits().decoder && model.no_classes().empty() && output.name == model.main_output();
  return fmt::format("{}, {}{}", task::output_text(output), output.type, tells ? ", tells classes" : "");
}

ordered_json foreign_outputs_json(const task::InferenceModel& model) {
  ordered_json outputs = ordered_json::array();
  for (const task::NetworkOutput& output : model.outputs()) {
    outputs.push_back({{"name", output.name},
                       {"shape", output.rank_is_known ? ordered_json(output.shape) : ordered_json()},
                       {"type", output.type}});
  }
  return outputs;
}

/// The graph's steps, and how many there are of each kind.
void add_layers(const std::vector<engine::ModelLayer>& layers, Description& info) {
  std::map<std::string, std::size_t> kinds;
  std::int64_t parameters = 0;
  std::size_t widest = 5, widest_kind = 4;
  ordered_json list = ordered_json::array();
  for (const engine::ModelLayer& layer : layers) {
    ++kinds[layer.kind];
    parameters += layer.parameters;
    widest = std::max(widest, std::min(printable(layer.name).size(), kWidestName));
    widest_kind = std::max(widest_kind, layer.kind.size());
    list.push_back(
        {{"name", layer.name}, {"kind", layer.kind}, {"output", layer.shape}, {"parameters", layer.parameters}});
  }
  std::string counts;
  for (const auto& [kind, count] : kinds) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, kind);
  info.text += info_row("parameters", fmt::format("{}, in constants of the graph", parameters));
  info.text += info_row("layers", fmt::format("{}: {}", layers.size(), counts));
  info.text +=
      fmt::format("\n{:<{}}  {:<{}}  {:<16} {:>12}\n", "layer", widest, "kind", widest_kind, "output", "parameters");
  for (const engine::ModelLayer& layer : layers) {
    info.text +=
        fmt::format("{:<{}}  {:<{}}  {:<16} {:>12}\n", printable(layer.name), widest, layer.kind, widest_kind,
                    task::open_shape_text(layer.shape), layer.parameters > 0 ? std::to_string(layer.parameters) : "");
  }
  info.json["parameters"] = parameters;
  info.json["layers"] = std::move(list);
}

/// How 'evener detect' would understand it; "" = not as a detector.
std::string detector_text(const task::InferenceModel& model) {
  if (!model.habits().decoder) return "";
  const std::vector<std::int64_t>& shape = model.input_shape();
  return task::understood_text(
      model, {.shape = {shape[0], shape[1], shape[2]}, .crop = model.crop().value_or(data::CropMode::kStretch)});
}

/// A network of another program.
Description foreign_info(const FileInfoRequest& request) {
  task::InferenceRequest asked;
  asked.model = {.model = request.path, .width = request.width, .height = request.height, .channels = request.channels};
  asked.study = task::perhaps_detector_study();
  const task::InferenceModel model(asked);
  Description info;
  const std::vector<std::int64_t>& shape = model.input_shape();
  info.text = info_row("network", model.weights().string() + ", of another program's format");
  info.text +=
      info_row("input", shape_text(shape) + (model.takes_images() ? " (C, H, W)" : "") +
                            (model.fixed_batch() ? fmt::format(", batch {}", *model.fixed_batch()) : ", any batch"));
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    info.text += info_row(i == 0 ? "output" : "", foreign_output_text(model, model.outputs()[i]));
  }
  info.text += info_row("classes", model.no_classes().empty() ? class_names_text(model.classes()) : model.no_classes());
  const std::string detector = detector_text(model);
  if (!detector.empty()) info.text += info_row("detector", detector);
  if (model.takes_images())
    info.text += info_row("preprocessing", preprocessing_text(model.normalization(), model.crop()));
  for (const std::string& note : model.notes()) info.text += info_row("note", note);
  info.json = {
      {"schema", 1},
      {"kind", "info"},
      {"file", model.weights().string()},
      {"model", model.name()},
      {"input", shape},
      {"batch", model.fixed_batch() ? ordered_json(*model.fixed_batch()) : ordered_json()},
      {"outputs", foreign_outputs_json(model)},
      {"class_output",
       !model.habits().decoder && model.no_classes().empty() ? ordered_json(model.main_output()) : ordered_json()},
      {"classes", model.classes()},
      {"detector", detector.empty() ? ordered_json() : ordered_json(detector)}};
  put_preprocessing(info.json, model.takes_images() ? std::optional(model.normalization()) : std::nullopt,
                    model.crop());
  add_record(model.run(), info);
  add_layers(model.file_layers(), info);
  return info;
}

/// A run that leaves no weights, as those of infer, or that has none yet.
Description record_info(const fs::path& run) {
  const record::Record record = record::read_record(run);
  Description info;
  info.text = info_row("network", record.model.name);
  info.text += info_row("weights", "none in this folder");
  if (!record.data.shape.empty()) info.text += info_row("input", shape_text(record.data.shape));
  info.text += info_row("classes", class_names_text(record.data.classes));
  info.json = {{"schema", 1},
               {"kind", "info"},
               {"file", nullptr},
               {"model", record.model.name},
               {"input", record.data.shape},
               {"classes", record.data.classes}};
  add_record(run, info);
  return info;
}

bool holds_weights(const fs::path& run) {
  return std::ranges::any_of(std::initializer_list<const char*>{task::kQuantizedWeights, task::kQuantizedForeign,
                                                                "best.safetensors", "last.safetensors"},
                             [&](const char* name) { return fs::exists(run / name); });
}

}  // namespace

bool is_info_of_file(const std::string& model) {
  return task::names_a_path(model) || task::is_foreign_model(model);
}

Description file_info(const FileInfoRequest& request) {
  std::error_code unreadable;
  const fs::path path = request.path;
  if (!fs::exists(path, unreadable)) {
    throw Error(fmt::format("'{}' doesn't exist; 'evener info --help' lists the networks that have names",
                            printable(request.path)));
  }
  if (task::is_foreign_model(request.path)) return foreign_info(request);
  if (fs::is_directory(path, unreadable)) {
    if (!holds_weights(path) && fs::exists(path / "record.json")) return record_info(path);
    const bool is_foreign = fs::exists(path / task::kQuantizedForeign, unreadable);
    return is_foreign ? foreign_info(request) : trained_info(request);
  }
  const weights::SafetensorsFile read = weights::read_weights(path);
  if (!task::model_facts(read.metadata).model.empty()) return trained_info(request);
  return tensors_info(path, read);
}

}  // namespace evener::job
