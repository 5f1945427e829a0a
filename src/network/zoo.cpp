// The list of models. What stands before the first ':' of a name chooses the builder.
#include "network/zoo.h"

#include "base/error.h"
#include "base/names.h"
#include "network/zoo/builders.h"

namespace evener::network {
namespace {

struct Entry {
  const char* key;   // what stands before ':'
  const char* name;  // as the user writes it
  const char* description;
  bool takes_arguments;  // whether something may follow ':'
  Network (*build)(std::string_view, const ModelOptions&);
};

constexpr Entry kModels[] = {
    {"mlp", "mlp:SIZES[:ACTIVATION]", "multi-layer perceptron, e.g. mlp:784-256-10:relu (relu, sigmoid or tanh)", true,
     build_mlp},
    {"mobilenet_v2", "mobilenet_v2",
     "MobileNetV2 (Sandler et al. 2018), 3.5 M parameters, 0.3 G multiply-adds at 224x224", false, build_mobilenet_v2},
    {"resnet18", "resnet18", "ResNet-18 (He et al. 2015), 11.7 M parameters, 1.8 G multiply-adds at 224x224", false,
     build_resnet18},
    {"resnet34", "resnet34", "ResNet-34 (He et al. 2015), 21.8 M parameters, 3.7 G multiply-adds at 224x224", false,
     build_resnet34},
    {"resnet20", "resnet20",
     "ResNet-20 for small images (He et al. 2015), 0.27 M parameters, 41 M multiply-adds at 32x32", false,
     build_resnet_cifar},
    {"resnet32", "resnet32",
     "ResNet-32 for small images (He et al. 2015), 0.46 M parameters, 69 M multiply-adds at 32x32", false,
     build_resnet_cifar},
    {"resnet44", "resnet44",
     "ResNet-44 for small images (He et al. 2015), 0.66 M parameters, 97 M multiply-adds at 32x32", false,
     build_resnet_cifar},
    {"resnet56", "resnet56",
     "ResNet-56 for small images (He et al. 2015), 0.85 M parameters, 125 M multiply-adds at 32x32", false,
     build_resnet_cifar},
};

}  // namespace

Network build(std::string_view model, const ModelOptions& options) {
  const std::string_view key = model.substr(0, model.find(':'));
  for (const Entry& entry : kModels) {
    if (key != entry.key) continue;
    if (!entry.takes_arguments && key != model) {
      throw UsageError("model '" + std::string(model) + "': " + std::string(key) + " takes nothing after its name");
    }
    return entry.build(model, options);
  }
  std::vector<std::string> keys;
  for (const Entry& entry : kModels) keys.emplace_back(entry.key);
  throw UsageError(unknown_name_message("model", key, keys));
}

const std::vector<ModelInfo>& known_models() {
  static const std::vector<ModelInfo> models = [] {
    std::vector<ModelInfo> list;
    for (const Entry& entry : kModels) list.push_back({entry.name, entry.description});
    return list;
  }();
  return models;
}

}  // namespace evener::network
