#include "infer/session/options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/precision.h"
#include "data/locations.h"
#include "infer/model/published_weights.h"
#include "network/zoo.h"
#include "options/data_flags.h"
#include "options/model_names.h"
#include "options/option.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataPath = "data-path";

constexpr double kUsualFraction = 0.875;  // of torchvision's and timm's classifiers

/// "model.toml" for "model.onnx"; empty where there is none.
fs::path sidecar_of(const InferModelFlags& flags) {
  const fs::path file = flags.weights->empty() ? *flags.model : *flags.weights;
  std::error_code ignored;
  if (file.extension().empty() || !fs::is_regular_file(file, ignored)) return {};
  fs::path sidecar = fs::path(file).replace_extension(".toml");
  return fs::is_regular_file(sidecar, ignored) ? sidecar : fs::path();
}

/// The values in "--size=224x224".
std::vector<std::string> values_in(const ConfigValues::Words& given) {
  std::vector<std::string> values;
  for (const std::string& word : given.words) values.push_back(word.substr(given.option->name().size() + 1));
  return values;
}

}  // namespace

RunConfig::RunConfig(const std::filesystem::path& run) : folder_(run) {
  if (run.empty() || !std::filesystem::exists(run / "record.json")) return;
  record::Record record = record::read_record(run);
  config_ = std::move(record.config);
  data_ = std::move(record.data);
}

std::string RunConfig::data_location() const {
  const std::string named = get<std::string>("data").value_or(""), path = get<std::string>(kDataPath).value_or("");
  if (path.empty() || !data::are_on_disk(path) || data::are_same_locations(named, path)) return named;
  return path;
}

void add_data_path(const std::string& data, nlohmann::json& config) {
  if (!data.empty() && data::are_on_disk(data)) config[kDataPath] = data::absolute_locations(data);
}

InferenceRequest TrainedModelFlags::request_of_all() const {
  InferenceRequest request;
  request.model.model = *model;
  request.model.weights = *weights;
  if (!size->empty()) {
    const ImageSize asked = parse_image_size(*size);
    request.model.width = asked.width;
    request.model.height = asked.height;
  }
  request.normalization = parse_normalization(*normalize);
  request.labels = *labels;
  using engine::ChannelPlace;
  if (*layout != "auto") request.layout = *layout == "nhwc" ? ChannelPlace::kLast : ChannelPlace::kFirst;
  if (!channel_order->empty()) request.reverse_channels = *channel_order == "bgr";
  request.study = registered_study(*decoder);
  return request;
}

data::Preprocessing TrainedModelFlags::preprocessing(const InferenceModel& network) const {
  const auto& shape = network.input_shape();
  if (!network.takes_images()) {
    throw UsageError("'" + network.name() + "' takes inputs of shape " + shape_text(shape) +
                     ", not pictures: give arrays (.npy or .safetensors)");
  }
  data::Preprocessing steps;
  steps.shape = {shape[0], shape[1], shape[2]};
  // What is not known to have seen whole pictures was, as usual, trained by others on the middle of ImageNet's.
  steps.crop = crop->empty() ? network.crop().value_or(data::CropMode::kCentre) : data::parse_crop_mode(*crop);
  steps.filter = interpolation.given() ? data::parse_resize_filter(*interpolation) : data::usual_filter(steps.crop);
  if (steps.crop == data::CropMode::kCentre) {
    steps.crop_fraction = crop->empty() && network.crop() ? 1 : kUsualFraction;
    steps.keeps_fitting = crop->empty();
  }
  return steps;
}

void TrainedModelFlags::check_together() const {
  if (!crop->empty()) data::parse_crop_mode(*crop);
  data::parse_resize_filter(*interpolation);
}

InferModelFlags::InferModelFlags()
    : TrainedModelFlags({"MODEL", "NAME|FILE|DIR",
                         "The folder of a training or of evener quantize, a file .safetensors, .onnx, .tflite or .xml, "
                         "or a network of the zoo, " +
                             model_list()},
                        "Weights of a network of the zoo: safetensors, a state dict saved by PyTorch, or imagenet for "
                        "published ones") {}

InferenceRequest InferModelFlags::request(bool features, std::uint64_t seed) const {
  InferenceRequest request = request_of_all();
  request.model.channels = *channels;
  request.model.classes = *classes;
  request.model.seed = seed;
  request.features = features;
  request.calibrated = !*uncalibrated;
  request.output = *output_name;
  if (!request.output.empty() && decoder->empty()) request.study = {};  // it tells classes then
  return request;
}

data::Preprocessing InferModelFlags::preprocessing(const InferenceModel& network) const {
  data::Preprocessing steps = TrainedModelFlags::preprocessing(network);
  if (steps.crop == data::CropMode::kCentre && *crop_fraction) {
    steps.crop_fraction = **crop_fraction;
    steps.keeps_fitting = false;
  }
  return steps;
}

void InferModelFlags::check_together() const {
  TrainedModelFlags::check_together();
  if (*crop_fraction && !crop->empty() && *crop != "centre") {
    throw UsageError("--crop-fraction is for --crop centre, not " + *crop);
  }
}

placement::Plan InferPlacementFlags::plan() const {
  // Every device is a replica of its own here, since each image goes to any device that is free.
  placement::Plan plan = plan_on(*on, {.replicas = placement::ReplicasAs::kThreads, .oversubscribe = *oversubscribe});
  if (placement::stage_count(plan) == 1 && cut.given()) {
    throw UsageError("--cut says where stages begin, and '" + *on + "' has none; give --on A..B, or leave it out");
  }
  return plan;
}

InferOptions InferPlacementFlags::infer_options(const placement::Plan& plan, Precision precision) const {
  return {.plan = plan,
          .engine = *engine,
          .precision = precision,
          .batch = *batch,
          .streams = *streams,
          .cut = cut_layers(*cut),
          .stage_memory_bytes = memory_bytes(*memory)};
}

Precision InferPlacementFlags::precision_on(const placement::Plan& plan) const {
  if (*precision != "auto") return parse_precision(*precision);
  const bool all_fast = std::ranges::all_of(plan.replicas, [](const placement::PlanReplica& replica) {
    return std::ranges::all_of(replica.stages, [](const placement::PlanStage& stage) {
      return stage.device.kind != DeviceKind::kCpu || has_fast_bf16(cpu_topology().features);
    });
  });
  return all_fast ? Precision::kBf16 : Precision::kFp32;
}

void take_sidecar(InferModelFlags& flags) {
  const fs::path sidecar = sidecar_of(flags);
  if (sidecar.empty()) return;
  OptionSet options{&flags};
  // The file says how its network is used, not which one it is.
  options.leave_out([&](const OptionBase& option) { return &option == &flags.model || &option == &flags.weights; });
  GivenWords words;
  for (const auto& given : read_config(sidecar, options, "infer").options) {
    words[given.option->key()] = values_in(given);
  }
  if (const auto labels = words.find(flags.labels.key()); labels != words.end()) {
    for (std::string& path : labels->second) path = (sidecar.parent_path() / path).string();
  }
  flags.inherit(words);
  flags.sidecar = sidecar;
}

void complete(InferModelFlags& flags, measure::Observer* observer) {
  take_weights(flags.weights, &flags.normalize, *flags.model, observer);
  take_sidecar(flags);
}

}  // namespace evener::inference
