#include "cli/info_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "measure/record_json.h"
#include "network/cost.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/inference_model.h"
#include "task/model_metadata.h"
#include "weights/weights_file.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kNamesShown = 10;

std::string info_row(const char* what, const std::string& value) {
  return fmt::format("{:<14}{}\n", what, value);
}

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

/// What the record of a run's folder adds; nothing where there is none.
void add_record(const fs::path& run, FileInfo& info) {
  if (run.empty() || !fs::exists(run / "record.json")) return;
  const measure::Record record = measure::read_record(run);
  const measure::Accuracy& accuracy = record.training.accuracy;
  info.text += info_row("data", record.data.location);
  info.text += info_row("made by", fmt::format("evener {}, {}", record.kind, measure::status_name(record.status)));
  if (!record.training.epochs.empty()) {
    info.text += info_row("epochs", std::to_string(record.training.epochs.size()));
  }
  if (accuracy.val || accuracy.test) {
    info.text += info_row("accuracy", fmt::format("validation {}, test {}", share_text(accuracy.val, record.data.val),
                                                  share_text(accuracy.test, record.data.test)));
  }
  for (const auto& [name, metric] : record.metrics) {
    if (metric.role != measure::MetricRole::kQuality || !metric.value || metric.unit != "share") continue;
    info.text += info_row(info.text.find("\nfigures") == std::string::npos ? "figures" : "",
                          fmt::format("{}: {:.2f} %", metric.label, 100 * *metric.value));
  }
  const auto value = [](const std::optional<double>& share) { return share ? ordered_json(*share) : ordered_json(); };
  info.json["run"] = {{"kind", record.kind},
                      {"status", measure::status_name(record.status)},
                      {"data", record.data.location},
                      {"epochs", record.training.epochs.size()},
                      {"validation_accuracy", value(accuracy.val)},
                      {"test_accuracy", value(accuracy.test)}};
}

const char* type_name(DType type) {
  switch (type) {
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
  }
  return "?";
}

/// Whether `tensors` are those of `name`, whatever their last layer tells apart; `classes` are then as many as it does.
bool fits(const std::string& name, const TensorMap& tensors, std::int64_t& classes) {
  network::Network net = network::build(name, {});
  const network::HeadOutputs outputs = network::head_outputs(net, tensors);
  if (outputs.of_file > 0 && outputs.of_file != outputs.of_network) {
    net = network::build(name, {.classes = outputs.of_file});
  }
  classes = outputs.of_file;
  std::size_t matched = 0;
  for (const network::Parameter& parameter : net.parameters()) {
    const auto found = tensors.find(parameter.name);
    const bool is_counter = parameter.name.ends_with("num_batches_tracked");
    if (found == tensors.end() ? !is_counter : !is_counter && found->second.shape != parameter.shape) return false;
    matched += found == tensors.end() ? 0 : 1;
  }
  return matched == tensors.size();
}

/// The networks of the zoo that tensors could be of; those with open names (mlp) are left out.
std::vector<std::pair<std::string, std::int64_t>> fitting_networks(const TensorMap& tensors) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const network::ModelInfo& model : network::known_models()) {
    if (model.name.find(':') != std::string::npos) continue;
    std::int64_t classes = 0;
    if (fits(model.name, tensors, classes)) found.emplace_back(model.name, classes);
  }
  return found;
}

/// A file of weights that doesn't say of which network.
FileInfo tensors_info(const fs::path& path, const TensorMap& tensors) {
  FileInfo info;
  std::int64_t numbers = 0;
  std::size_t widest = 4;
  ordered_json list = ordered_json::array();
  for (const auto& [name, tensor] : tensors) {
    numbers += element_count(tensor.shape);
    widest = std::max(widest, printable(name).size());
    list.push_back({{"name", name},
                    {"shape", tensor.shape},
                    {"type", type_name(tensor.dtype)},
                    {"numbers", element_count(tensor.shape)}});
  }
  info.text = fmt::format("{}: {} with {} numbers; it doesn't say of which network\n", path.string(),
                          counted(tensors.size(), "tensor"), numbers);
  ordered_json fitting = ordered_json::array();
  for (const auto& [name, classes] : fitting_networks(tensors)) {
    info.text +=
        info_row("fits", fmt::format("{}{}: use it as '{} --weights {}'", name,
                                     classes > 0 ? fmt::format(" with {} outputs", classes) : "", name, path.string()));
    fitting.push_back({{"model", name}, {"outputs", classes > 0 ? ordered_json(classes) : ordered_json()}});
  }
  if (fitting.empty()) info.text += info_row("fits", "no network of the zoo");
  info.text += fmt::format("\n{:<{}}  {:<20} {:<9} {:>12}\n", "name", widest, "shape", "type", "numbers");
  for (const auto& [name, tensor] : tensors) {
    info.text += fmt::format("{:<{}}  {:<20} {:<9} {:>12}\n", printable(name), widest,
                             tensor.shape.empty() ? "one number" : shape_text(tensor.shape), type_name(tensor.dtype),
                             element_count(tensor.shape));
  }
  info.json = {{"schema", 1},           {"kind", "info"},  {"file", path.string()}, {"model", nullptr},
               {"parameters", numbers}, {"fits", fitting}, {"tensors", list}};
  return info;
}

/// A run, or a file of weights that says of which network.
FileInfo trained_info(const FileInfoRequest& request) {
  const task::TrainedModel model = task::open_trained_model(
      {.model = request.path, .width = request.width, .height = request.height, .channels = request.channels});
  const network::Network& net = model.network;
  const std::int64_t parameters = network::total_cost(net).parameters;
  FileInfo info;
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

/// A network of another program.
FileInfo foreign_info(const FileInfoRequest& request) {
  task::InferenceRequest asked;
  asked.model = {.model = request.path, .width = request.width, .height = request.height, .channels = request.channels};
  const task::InferenceModel model(asked);
  FileInfo info;
  const std::vector<std::int64_t>& shape = model.input_shape();
  info.text = info_row("network", model.weights().string() + ", of another program's format");
  info.text +=
      info_row("input", shape_text(shape) + (model.takes_images() ? " (C, H, W)" : "") +
                            (model.fixed_batch() ? fmt::format(", batch {}", *model.fixed_batch()) : ", any batch"));
  info.text += info_row("output", model.main_output());
  info.text += info_row("classes", class_names_text(model.classes()));
  if (model.takes_images())
    info.text += info_row("preprocessing", preprocessing_text(model.normalization(), model.crop()));
  for (const std::string& note : model.notes()) info.text += info_row("note", note);
  info.json = {{"schema", 1},
               {"kind", "info"},
               {"file", model.weights().string()},
               {"model", model.name()},
               {"input", shape},
               {"batch", model.fixed_batch() ? ordered_json(*model.fixed_batch()) : ordered_json()},
               {"outputs", {model.main_output()}},
               {"classes", model.classes()}};
  put_preprocessing(info.json, model.takes_images() ? std::optional(model.normalization()) : std::nullopt,
                    model.crop());
  add_record(model.run(), info);
  return info;
}

/// A run that leaves no weights, as those of infer, or that has none yet.
FileInfo record_info(const fs::path& run) {
  const measure::Record record = measure::read_record(run);
  FileInfo info;
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

FileInfo file_info(const FileInfoRequest& request) {
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
  weights::SafetensorsFile read = weights::read_weights(path);
  if (!task::model_facts(read.metadata).model.empty()) return trained_info(request);
  return tensors_info(path, read.tensors);
}

}  // namespace evener::cli
