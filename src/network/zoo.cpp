// The list of models. The part of a name before the first ':' chooses the builder.
#include "network/zoo.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

// All models, one line each: the name as the user writes it, the function of its builder file in zoo/, what its
// published weights were trained to see of a picture (kMiddle: ImageNet's usual 87.5 %), a description.
// clang-format off
#define EVENER_MODELS(MODEL) \
  MODEL("mlp:SIZES[:ACTIVATION]", build_mlp, kWhole, "multi-layer perceptron, e.g. mlp:784-256-10:relu (relu, sigmoid or tanh)") \
  MODEL("efficientnet_b0", build_efficientnet_b0, kMiddle, "EfficientNet-B0 (Tan and Le 2019), 5.3 M parameters, 0.4 G multiply-adds at 224x224") \
  MODEL("mobilenet_v2", build_mobilenet_v2, kMiddle, "MobileNetV2 (Sandler et al. 2018), 3.5 M parameters, 0.3 G multiply-adds at 224x224") \
  MODEL("mobilenet_v3_large", build_mobilenet_v3_large, kMiddle, "MobileNetV3-Large (Howard et al. 2019), 5.5 M parameters, 0.2 G multiply-adds at 224x224") \
  MODEL("inception_resnet_v1", build_inception_resnet_v1, kWhole, "Inception-ResNet v1 (Szegedy et al. 2016) as FaceNet has it: a face of 160x160 pixels becomes 512 numbers, 23 M parameters") \
  MODEL("mobilefacenet", build_mobilefacenet, kWhole, "MobileFaceNet (Chen et al. 2018): an aligned face of 96x112 pixels becomes 128 numbers, 1.0 M parameters") \
  MODEL("mtcnn_pnet", build_mtcnn_pnet, kWhole, "MTCNN's proposal network (Zhang et al. 2016), for images of any size") \
  MODEL("mtcnn_rnet", build_mtcnn_rnet, kWhole, "MTCNN's refinement network (Zhang et al. 2016), 24x24") \
  MODEL("mtcnn_onet", build_mtcnn_onet, kWhole, "MTCNN's output network with landmarks (Zhang et al. 2016), 48x48") \
  MODEL("ssdlite320_mobilenet_v3_large", build_ssdlite320_mobilenet_v3_large, kWhole, "SSDLite on MobileNetV3-Large (Howard et al. 2019): a detector, 3.4 M parameters, 0.6 G multiply-adds at 320x320") \
  MODEL("ssdlite_mobilenet_v2", build_ssdlite_mobilenet_v2, kWhole, "SSDLite on MobileNetV2 (Sandler et al. 2018): a detector") \
  MODEL("resnet18", build_resnet18, kMiddle, "ResNet-18 (He et al. 2015), 11.7 M parameters, 1.8 G multiply-adds at 224x224") \
  MODEL("resnet34", build_resnet34, kMiddle, "ResNet-34 (He et al. 2015), 21.8 M parameters, 3.7 G multiply-adds at 224x224") \
  MODEL("resnet50", build_resnet50, kMiddle, "ResNet-50 (He et al. 2015), 25.6 M parameters, 4.1 G multiply-adds at 224x224") \
  MODEL("resnet20", build_resnet_cifar, kWhole, "ResNet-20 for small images (He et al. 2015), 0.27 M parameters, 41 M multiply-adds at 32x32") \
  MODEL("resnet32", build_resnet_cifar, kWhole, "ResNet-32 for small images (He et al. 2015), 0.46 M parameters, 69 M multiply-adds at 32x32") \
  MODEL("resnet44", build_resnet_cifar, kWhole, "ResNet-44 for small images (He et al. 2015), 0.66 M parameters, 97 M multiply-adds at 32x32") \
  MODEL("resnet56", build_resnet_cifar, kWhole, "ResNet-56 for small images (He et al. 2015), 0.85 M parameters, 125 M multiply-adds at 32x32")
// clang-format on

namespace evener::network {

// Each builder gets the whole name, such as "mlp:784-256-10:relu".
#define EVENER_DECLARE(name, builder, seen, description) \
  Network builder(std::string_view model, const ModelOptions& options);
EVENER_MODELS(EVENER_DECLARE)
#undef EVENER_DECLARE

namespace {

enum SeenPart : bool { kWhole, kMiddle };

struct Entry {
  std::string_view name;  // as the user writes it
  const char* description;
  Network (*build)(std::string_view, const ModelOptions&);
  SeenPart seen;

  std::string_view key() const { return name.substr(0, name.find(':')); }
  bool takes_arguments() const { return key() != name; }
};

#define EVENER_ENTRY(name, builder, seen, description) {name, description, builder, seen},
constexpr Entry kModels[] = {EVENER_MODELS(EVENER_ENTRY)};
#undef EVENER_ENTRY

}  // namespace

Network build(std::string_view model, const ModelOptions& options) {
  const std::string_view key = model.substr(0, model.find(':'));
  for (const Entry& entry : kModels) {
    if (key != entry.key()) continue;
    if (!entry.takes_arguments() && key != model) {
      throw UsageError("model '" + std::string(model) + "': " + std::string(key) + " takes nothing after its name");
    }
    return entry.build(model, options);
  }
  std::vector<std::string> keys;
  for (const Entry& entry : kModels) keys.emplace_back(entry.key());
  throw UsageError(unknown_name_message("model", key, keys));
}

bool sees_whole_pictures(std::string_view model) {
  const std::string_view key = model.substr(0, model.find(':'));
  return std::ranges::any_of(kModels, [&](const Entry& entry) { return entry.key() == key && entry.seen == kWhole; });
}

bool embeds_faces(std::string_view model) {
  return model == "inception_resnet_v1" || model == "mobilefacenet";
}

std::string classifier_of(std::string_view model) {
  if (model == "ssdlite320_mobilenet_v3_large") return "mobilenet_v3_large";
  if (model == "ssdlite_mobilenet_v2") return "mobilenet_v2";
  return "";
}

const std::vector<ModelInfo>& known_models() {
  static const std::vector<ModelInfo> models = [] {
    std::vector<ModelInfo> list;
    for (const Entry& entry : kModels) list.push_back({std::string(entry.name), entry.description});
    return list;
  }();
  return models;
}

}  // namespace evener::network
