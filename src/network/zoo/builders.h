// Inside network/: the builders behind zoo.cpp, one file each.
#pragma once

#include <string_view>

#include "network/zoo.h"

namespace evener::network {

/// `specification` is the whole name, "mlp:784-256-10:relu".
Network build_mlp(std::string_view specification, const ModelOptions& options);
Network build_mobilenet_v2(std::string_view name, const ModelOptions& options);
Network build_resnet18(std::string_view name, const ModelOptions& options);
Network build_resnet34(std::string_view name, const ModelOptions& options);
/// The deeper ones for small images: "resnet20", "resnet32", "resnet44", "resnet56".
Network build_resnet_cifar(std::string_view name, const ModelOptions& options);

}  // namespace evener::network
