#include "app/info/info_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "detect/detector.h"
#include "infer/model/inference_model.h"
#include "infer/model/metadata.h"
#include "infer/model/trained_model.h"
#include "network/cost.h"
#include "network/network.h"
#include "network/zoo.h"
#include "options/data_flags.h"
#include "placement/machine.h"
#include "record/record_json.h"
#include "train/steps/training_memory.h"
#include "weights/weights_file.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;
using namespace network;
using nlohmann::ordered_json;

/// The image shape asked for; nothing if neither a size nor channels are given.
std::optional<network::Shape> asked_input(const InfoFlags& options) {
  if (options.size->empty() && !*options.channels) return std::nullopt;
  const network::Shape usual = network::build(*options.model, {}).input_shape();
  const bool image = usual.size() == 3;
  if (options.size->empty() && !image) {
    throw UsageError("--channels " + std::to_string(**options.channels) + " says too little for " + *options.model +
                     ", which takes images of any size: give --size WIDTHxHEIGHT as well");
  }
  const ImageSize size = options.size->empty() ? ImageSize{usual[2], usual[1]} : parse_image_size(*options.size);
  const std::int64_t pixels = size.width * size.height;
  // A perceptron's number of inputs tells the channels: 784 is one of 28x28, 3072 is three of 32x32.
  const std::int64_t likely = image ? usual[0] : usual[0] % pixels == 0 ? usual[0] / pixels : 1;
  return network::Shape{options.channels->value_or(likely), size.height, size.width};
}

/// What train would do with the network if nothing else was asked for, with data of enough images.
training::TrainingWork usual_training(const network::Network& net, std::optional<std::int64_t> batch) {
  const bool is_detector = !net.anchors().empty();
  const bool is_perceptron = net.model().starts_with("mlp:");
  const training::TrainOptions usual;
  constexpr std::int64_t kDetectorBatch = 16;
  training::TrainingWork work;
  work.engine = is_perceptron ? "native" : "torch";
  if (is_detector) work.trainer.optimizer.kind = engine::OptimizerKind::kAdamW;
  work.batch = batch.value_or(is_detector ? kDetectorBatch : usual.batch);
  work.threads = placement::machine().cores;
  work.loads_batches = !is_perceptron;
  const network::Shape& input = net.input_shape();
  work.image = input.size() == 3 ? data::ImageShape{input[0], input[1], input[2]} : data::ImageShape{1, 1, input[0]};
  work.train_images = static_cast<std::size_t>(3 * work.batch);
  work.images = 2 * work.train_images;
  return work;
}

// Layer, kind, output, parameters, MFLOPs, activations: 97 columns.
constexpr const char* kRow = "{:<27} {:<16} {:<13} {:>12} {:>12} {:>12}\n";

// "21,797,672"
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

// "conv2d 7x7/2", "conv2d 1x7/2x1": the kind with its window and stride.
std::string kind_text(const Op& op) {
  const auto window = [&](const Extent2d& kernel, const Extent2d& stride) {
    const std::string both = stride.is_square() ? "" : fmt::format("x{}", stride.width);
    const std::string step = stride == Extent2d{1} ? "" : fmt::format("/{}{}", stride.height, both);
    return fmt::format("{} {}x{}{}", op_name(op), kernel.height, kernel.width, step);
  };
  if (const auto* conv = std::get_if<Conv2d>(&op)) return window(conv->kernel, conv->stride);
  if (const auto* pool = std::get_if<MaxPool>(&op)) return window(pool->kernel, pool->stride);
  if (const auto* pool = std::get_if<AveragePool>(&op)) return window(pool->kernel, pool->stride);
  return op_name(op);
}

std::string table_text(const Network& net) {
  const std::vector<LayerCost> costs = layer_costs(net);
  const std::string heading = fmt::format(kRow, "layer", "kind", "output", "parameters", "MFLOP", "activations");
  const std::string rule(heading.size() - 1, '-');
  std::string text = heading + rule + "\n";
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Layer& layer = net.layers()[i];
    const LayerCost& cost = costs[i];
    text +=
        fmt::format(kRow, layer.name, kind_text(layer.op), shape_text(layer.shape),
                    cost.parameters > 0 ? grouped(cost.parameters) : "",
                    cost.forward_flops > 0 ? fmt::format("{:.3f}", static_cast<double>(cost.forward_flops) * 1e-6) : "",
                    bytes_text(static_cast<std::uint64_t>(cost.activation_bytes)));
  }
  const LayerCost total = total_cost(net);
  text += rule + "\n" +
          fmt::format(kRow, "total", "", "", grouped(total.parameters),
                      fmt::format("{:.3f}", static_cast<double>(total.forward_flops) * 1e-6),
                      bytes_text(static_cast<std::uint64_t>(total.activation_bytes)));
  return text;
}

/// At blanks, so that no line is longer than the table's.
std::string in_lines(std::string text) {
  constexpr std::size_t kWidth = 100;
  for (std::size_t begin = 0; text.size() - begin > kWidth;) {
    const std::size_t blank = text.rfind(' ', begin + kWidth);
    if (blank == std::string::npos || blank <= begin + 2) break;
    text.replace(blank, 1, "\n  ");
    begin = blank + 1;
  }
  return text;
}

std::string summary_text(const Network& net, const training::TrainingWork& work) {
  const LayerCost total = total_cost(net);
  const TrainingMemory memory = training_memory(net);
  const auto bytes = [](std::int64_t value) { return bytes_text(static_cast<std::uint64_t>(value)); };
  const auto flop = [](std::int64_t value) { return si_text(static_cast<double>(value), "FLOP"); };
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<18} {}\n", what, value);
  };
  line("parameters", fmt::format("{} = {} in float32", grouped(total.parameters), bytes(memory.weight_bytes)));
  line("forward", fmt::format("{} per image, of them {} multiply-adds (x 2) in products", flop(total.forward_flops),
                              si_text(static_cast<double>(forward_macs(net)))));
  line("training", fmt::format("{} per image: forward and backward", flop(total.forward_flops + total.backward_flops)));
  const training::MemoryEstimate estimate = training::estimated_memory(net, work);
  return text + fmt::format("\na training with {}, on CPUs, --batch {}, takes beside decoded images, estimated,\n{}\n",
                            engine::optimizer_name(work.trainer.optimizer.kind), work.batch,
                            in_lines(training::memory_without_images_text(estimate)));
}

ordered_json network_json(const Network& net, const training::TrainingWork& work) {
  const std::vector<LayerCost> costs = layer_costs(net);
  const LayerCost total = total_cost(net);
  const TrainingMemory memory = training_memory(net);
  const training::MemoryEstimate estimate = training::estimated_memory(net, work);
  const auto name_of = [&](int layer) { return net.layers()[static_cast<std::size_t>(layer)].name; };
  ordered_json layers = ordered_json::array(), outputs = ordered_json::array();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Layer& layer = net.layers()[i];
    ordered_json inputs = ordered_json::array();
    for (const int input : layer.inputs) inputs.push_back(name_of(input));
    layers.push_back({{"name", layer.name},
                      {"kind", op_name(layer.op)},
                      {"inputs", inputs},
                      {"output", layer.shape},
                      {"parameters", costs[i].parameters},
                      {"forward_flops", costs[i].forward_flops},
                      {"backward_flops", costs[i].backward_flops},
                      {"activation_bytes", costs[i].activation_bytes}});
  }
  for (const Output& output : net.outputs()) {
    outputs.push_back({{"name", output.name}, {"layer", name_of(output.layer)}, {"shape", net.output_shape(output)}});
  }
  return {{"schema", 1},
          {"kind", "info"},
          {"model", net.model()},
          {"input", net.input_shape()},
          {"output", net.output_shape()},
          {"outputs", outputs},
          {"parameters", total.parameters},
          {"forward_macs", forward_macs(net)},
          {"forward_flops", total.forward_flops},
          {"backward_flops", total.backward_flops},
          {"activation_bytes", total.activation_bytes},
          {"training_memory",
           {{"source", "estimated"},
            {"weight_bytes", memory.weight_bytes},
            {"gradient_bytes", memory.gradient_bytes},
            {"buffer_bytes", memory.buffer_bytes},
            {"batch", work.batch},
            {"kept_bytes", estimate.weight_bytes},
            {"step_bytes", estimate.step_bytes},
            {"batch_bytes", estimate.batch_bytes},
            {"program_bytes", estimate.program_bytes},
            {"peak_bytes", estimate.total_bytes() - estimate.image_bytes}}},
          {"layers", layers}};
}

/// A table of its layers, and what it takes to run and to train.
std::string network_text(const Network& net, const training::TrainingWork& work) {
  return fmt::format("{}: input {} (C, H, W), {}\n\n{}\n{}", net.model(), shape_text(net.input_shape()),
                     outputs_text(net), table_text(net), summary_text(net, work));
}

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
Description trained_info(const inference::ModelRequest& request) {
  const inference::TrainedModel model = inference::open_trained_model(request);
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
    info.text += fmt::format("{:<{}}  {:<{}}  {:<16} {:>12}\n", printable(layer.name), widest, layer.kind, widest_kind,
                             inference::open_shape_text(layer.shape),
                             layer.parameters > 0 ? std::to_string(layer.parameters) : "");
  }
  info.json["parameters"] = parameters;
  info.json["layers"] = std::move(list);
}

/// How 'evener detect' would understand it; "" = not as a detector.
std::string detector_text(const inference::InferenceModel& model) {
  if (!model.habits().decoder) return "";
  const std::vector<std::int64_t>& shape = model.input_shape();
  return detection::understood_text(model, {.shape = {shape[0], shape[1], shape[2]}, .crop = model.crop().value()});
}

/// A network of another program.
Description foreign_info(const inference::ModelRequest& request) {
  inference::InferenceRequest asked;
  asked.model = request;
  asked.study = inference::registered_study();
  const inference::InferenceModel model(asked);
  Description info;
  const std::vector<std::int64_t>& shape = model.input_shape();
  info.text = info_row("network", model.weights().string() + ", of another program's format");
  info.text +=
      info_row("input", shape_text(shape) + (model.takes_images() ? " (C, H, W)" : "") +
                            (model.fixed_batch() ? fmt::format(", batch {}", *model.fixed_batch()) : ", any batch"));
  const bool tells_classes = model.no_classes().empty();
  ordered_json outputs = ordered_json::array();
  for (const inference::NetworkOutput& output : model.outputs()) {
    const char* const tells = tells_classes && output.name == model.main_output() ? ", tells classes" : "";
    info.text += info_row(outputs.empty() ? "output" : "",
                          fmt::format("{}, {}{}", inference::output_text(output), output.type, tells));
    outputs.push_back({{"name", output.name},
                       {"shape", output.rank_is_known ? ordered_json(output.shape) : ordered_json()},
                       {"type", output.type}});
  }
  info.text += info_row("classes",
                        tells_classes || model.is_detector() ? class_names_text(model.classes()) : model.no_classes());
  const std::string detector = detector_text(model);
  const std::string no_detector = tells_classes ? "" : model.habits().doubt;
  if (!detector.empty()) info.text += info_row("detector", detector);
  if (!no_detector.empty()) info.text += info_row("detector", "not understood: " + no_detector);
  if (model.takes_images())
    info.text += info_row("preprocessing", preprocessing_text(model.normalization(), model.crop()));
  for (const std::string& note : model.notes()) info.text += info_row("note", note);
  info.json = {{"schema", 1},
               {"kind", "info"},
               {"file", model.weights().string()},
               {"model", model.name()},
               {"input", shape},
               {"batch", model.fixed_batch() ? ordered_json(*model.fixed_batch()) : ordered_json()},
               {"outputs", outputs},
               {"class_output", tells_classes ? ordered_json(model.main_output()) : ordered_json()},
               {"classes", model.classes()},
               {"detector", detector.empty() ? ordered_json() : ordered_json(detector)}};
  if (!no_detector.empty()) info.json["detector_reason"] = no_detector;
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
  return std::ranges::any_of(
      std::initializer_list<const char*>{inference::kQuantizedWeights, "best.safetensors", "last.safetensors"},
      [&](const char* name) { return fs::exists(run / name); });
}

/// In the order of DType.
constexpr const char* kTypeNames[] = {"uint8", "int32", "int64", "bfloat16", "float16", "float32", "float64", "int8"};

/// A tensor as the list tells it.
struct TensorRow {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string type;

  std::int64_t numbers() const { return element_count(shape); }
};

std::string shape_cell(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "one number" : shape_text(shape);
}

/// Those that can be read, and those of other types behind them.
std::vector<TensorRow> rows_of(const weights::SafetensorsFile& file) {
  std::vector<TensorRow> rows;
  for (const auto& [name, tensor] : file.tensors) {
    rows.push_back({name, tensor.shape, kTypeNames[static_cast<std::size_t>(tensor.dtype)]});
  }
  for (const weights::PassedOver& one : file.passed_over) rows.push_back({one.name, one.shape, one.type});
  return rows;
}

/// Throws Error where nothing is there or it can't be read, UsageError where the size of a file's input is open and was
/// not given.
Description file_info(const inference::ModelRequest& request) {
  std::error_code unreadable;
  const fs::path path = request.model;
  if (!fs::exists(path, unreadable)) {
    throw Error(fmt::format("'{}' doesn't exist; 'evener info --help' lists the networks that have names",
                            printable(request.model)));
  }
  if (!inference::foreign_file(request.model).empty()) return foreign_info(request);
  if (fs::is_directory(path, unreadable)) {
    const bool has_record_alone = !holds_weights(path) && fs::exists(path / "record.json");
    return has_record_alone ? record_info(path) : trained_info(request);
  }
  const weights::SafetensorsFile read = weights::read_weights(path);
  if (!inference::model_facts(read.metadata).model.empty()) return trained_info(request);
  return tensors_info(path, read);
}

Description describe_file(const InfoFlags& flags) {
  if (*flags.classes) throw UsageError("--classes is for networks by name; '" + *flags.model + "' has its own");
  if (*flags.batch) throw UsageError("--batch is for networks by name, whose training's memory is estimated");
  inference::ModelRequest request{.model = *flags.model, .channels = *flags.channels};
  if (!flags.size->empty()) {
    const ImageSize size = parse_image_size(*flags.size);
    request.width = size.width;
    request.height = size.height;
  }
  return file_info(request);
}

}  // namespace

Description describe(const InfoFlags& flags) {
  if (inference::names_a_path(*flags.model) || inference::is_foreign_model(*flags.model)) return describe_file(flags);
  const network::Network net = network::build(*flags.model, {.input = asked_input(flags), .classes = *flags.classes});
  const training::TrainingWork work = usual_training(net, *flags.batch);
  return {network_text(net, work), network_json(net, work)};
}

std::string info_row(const char* what, const std::string& value) {
  return fmt::format("{:<14}{}\n", what, value);
}

Description tensors_info(const fs::path& path, const weights::SafetensorsFile& file) {
  Description info;
  std::int64_t numbers = 0;
  std::size_t widest = 4, widest_shape = 20, widest_type = 9;
  std::vector<TensorRow> rows = rows_of(file);
  ordered_json list = ordered_json::array();
  for (const TensorRow& row : rows) {
    list.push_back({{"name", row.name}, {"shape", row.shape}, {"type", row.type}, {"numbers", row.numbers()}});
    numbers += row.numbers();
    widest = std::max(widest, printable(row.name).size());
    widest_shape = std::max(widest_shape, shape_cell(row.shape).size());
    widest_type = std::max(widest_type, printable(row.type).size());
  }
  std::ranges::sort(rows, {}, &TensorRow::name);
  info.text = path.string() + (rows.empty() ? ": it holds no tensors\n"
                                            : fmt::format(": {} with {} numbers; it doesn't say of which network\n",
                                                          counted(rows.size(), "tensor"), numbers));
  ordered_json fitting = ordered_json::array();
  for (const inference::FittingNetwork& one : inference::fitting_networks(file)) {
    const std::string outputs = one.outputs > 0 ? fmt::format(" with {} outputs", one.outputs) : "";
    info.text += info_row("fits", fmt::format("{}{}: use it as '{}'", one.model, outputs, one.usage(path)));
    for (const std::string& note : one.notes) info.text += info_row("", note);
    fitting.push_back(
        {{"model", one.model}, {"outputs", one.outputs > 0 ? ordered_json(one.outputs) : ordered_json()}});
  }
  if (!rows.empty() && fitting.empty()) info.text += info_row("fits", "no network of the zoo");
  const auto line = [&](const std::string& name, const std::string& shape, const std::string& type, const auto& count) {
    info.text +=
        fmt::format("{:<{}}  {:<{}} {:<{}} {:>12}\n", name, widest, shape, widest_shape, type, widest_type, count);
  };
  if (!rows.empty()) info.text += "\n";
  if (!rows.empty()) line("name", "shape", "type", "numbers");
  for (const TensorRow& row : rows) {
    line(printable(row.name), shape_cell(row.shape), printable(row.type), row.numbers());
  }
  info.json = {{"schema", 1},           {"kind", "info"},  {"file", path.string()}, {"model", nullptr},
               {"parameters", numbers}, {"fits", fitting}, {"tensors", list}};
  return info;
}

}  // namespace evener::app
