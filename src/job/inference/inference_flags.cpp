#include "job/inference/inference_flags.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/error.h"
#include "base/precision.h"
#include "job/options/image_size.h"
#include "job/options/model_flags.h"
#include "network/zoo.h"

namespace evener::job {
namespace {

constexpr double kUsualFraction = 0.875;  // of torchvision's and timm's classifiers

}  // namespace

task::InferenceRequest TrainedModelFlags::request_of_all() const {
  task::InferenceRequest request;
  request.model.model = *model;
  request.model.weights = *weights;
  if (!size->empty()) {
    const ImageSize asked = parse_image_size(*size);
    request.model.width = asked.width;
    request.model.height = asked.height;
  }
  request.normalization = task::parse_normalization(*normalize);
  request.labels = *labels;
  return request;
}

Option<std::string> interpolation_option(OptionGroup& group) {
  return {
      group,
      {"--interpolation", "NAME",
       "nearest, bilinear, bicubic or lanczos, antialiased; or opencv: bilinear, not antialiased (default: bilinear, "
       "or as --crop has it)"},
      "bilinear"};
}

Option<std::string> layout_option(OptionGroup& group) {
  return {group,
          {"--layout", "NAME", "Of a file's input: auto, nchw or nhwc"},
          "auto",
          {.one_of = {"auto", "nchw", "nhwc"}}};
}

std::optional<engine::ChannelPlace> asked_layout(const std::string& name) {
  if (name == "auto") return std::nullopt;
  return name == "nhwc" ? engine::ChannelPlace::kLast : engine::ChannelPlace::kFirst;
}

InferModelFlags::InferModelFlags()
    : TrainedModelFlags(
          {"MODEL", "NAME|FILE|DIR",
           "The folder of a training or of evener quantize, a file .safetensors, .onnx, .tflite or .xml, or a network "
           "of the zoo, " +
               model_list()},
          "Weights of a network of the zoo: safetensors, a state dict saved by PyTorch, or imagenet for published "
          "ones") {}

task::InferenceRequest InferModelFlags::request(bool features, std::uint64_t seed) const {
  task::InferenceRequest request = request_of_all();
  request.model.channels = *channels;
  request.model.classes = *classes;
  request.model.seed = seed;
  request.layout = asked_layout(*layout);
  if (channel_order.given()) request.reverse_channels = *channel_order == "bgr";
  request.features = features;
  request.calibrated = !*uncalibrated;
  request.output = *output_name;
  return request;
}

data::Preprocessing InferModelFlags::preprocessing(const task::InferenceModel& network) const {
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
    steps.crop_fraction = crop_fraction->value_or(crop->empty() && network.crop() ? 1 : kUsualFraction);
    steps.keeps_fitting = crop->empty() && !*crop_fraction;
  }
  return steps;
}

void InferModelFlags::check_together() const {
  if (!crop->empty()) data::parse_crop_mode(*crop);
  data::parse_resize_filter(*interpolation);
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

task::InferOptions InferPlacementFlags::infer_options(const placement::Plan& plan, Precision precision) const {
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

}  // namespace evener::job
