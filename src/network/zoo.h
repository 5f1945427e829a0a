// The model zoo: from a name to a Network. Each model is one builder file in zoo/ and one line in zoo.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// The data's shape and classes, which a model adapts its first and last layer to.
struct ModelOptions {
  std::optional<Shape> input = {};           // (C, H, W); absent = the model's own default (resnet18: 3x224x224)
  std::optional<std::int64_t> classes = {};  // absent = the model's own default (resnet18: 1000; mlp: its last number)
};

/// Builds "resnet18", "resnet34", "mlp:784-256-10", "mlp:784-500-10:sigmoid". Throws UsageError for an unknown name
/// (offering the nearest), a malformed specification, or data that does not fit (an MLP whose first number isn't C*H*W,
/// another number of outputs than of classes).
Network build(std::string_view model, const ModelOptions& options);

/// Whether the published weights of this model of the zoo were trained on whole pictures, rather than on centre crops
/// as those for ImageNet were. False for other names.
bool sees_whole_pictures(std::string_view model);

/// Whether this model of the zoo computes embeddings of faces, with pixels normalised by a mean of 0.5 and a standard
/// deviation of 128/255.
bool embeds_faces(std::string_view model);

/// The classifier whose convolutional part is the backbone of the detector `model`; "" where `model` is no such
/// detector.
std::string classifier_of(std::string_view model);

struct ModelInfo {
  std::string name;         // "resnet34", "mlp:SIZES[:ACTIVATION]"
  std::string description;  // one line
};
const std::vector<ModelInfo>& known_models();

}  // namespace evener::network
