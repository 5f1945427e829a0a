// Multi-layer perceptrons from a specification, named like torch.nn.Sequential(Linear, activation, Linear, ...): the
// flatten in front has no index, so the first tensor is "0.weight", the next layer's "2.weight".
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

constexpr std::int64_t kMaxSize = 1 << 24;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 34;

struct Specification {
  std::vector<std::int64_t> sizes;
  ActivationKind activation = ActivationKind::kRelu;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void malformed(std::string_view model, const std::string& why) {
  throw UsageError(
      fmt::format("model '{}': {}. Write mlp:INPUTS-...-OUTPUTS[:relu|sigmoid|tanh], for example "
                  "mlp:784-256-10 or mlp:784-500-10:sigmoid",
                  model, why));
}

ActivationKind activation_of(std::string_view name) {
  constexpr const char* kNames[] = {"relu", "sigmoid", "tanh"};
  constexpr ActivationKind kKinds[] = {ActivationKind::kRelu, ActivationKind::kSigmoid, ActivationKind::kTanh};
  return kKinds[value_named<std::size_t>(kNames, "activation", name)];
}

Specification parse(std::string_view model) {
  const std::vector<std::string_view> parts = split(model, ':');
  if (parts.size() < 2 || parts[1].empty()) malformed(model, "the layers' sizes are missing");
  if (parts.size() > 3) malformed(model, fmt::format("'{}' is one part too many", parts[3]));
  Specification result;
  std::int64_t parameters = 0;
  for (const std::string_view part : split(parts[1], '-')) {
    const auto size = to_number<std::int64_t>(part).value_or(0);
    if (size < 1 || size > kMaxSize) {
      malformed(model, fmt::format("'{}' is not a layer size from 1 to {}", part, kMaxSize));
    }
    if (!result.sizes.empty()) parameters += size * (result.sizes.back() + 1);
    result.sizes.push_back(size);
    if (parameters > kMaxParameters) malformed(model, "more than 17 billion parameters");
  }
  if (result.sizes.size() < 2) malformed(model, "at least two sizes are needed, inputs and outputs");
  if (parts.size() == 3) result.activation = activation_of(parts[2]);
  return result;
}

// An option that makes images of `channels` channels have `values` values: "--size 28x28", also with another number of
// channels; "" if no square does.
std::string fitting_size(std::int64_t values, std::int64_t channels) {
  for (const std::int64_t tried : {channels, std::int64_t{1}, std::int64_t{3}}) {
    const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(values / tried))));
    if (tried * side * side != values) continue;
    const std::string size = fmt::format("--size {}x{}", side, side);
    return tried == channels ? size : fmt::format("{} --channels {}", size, tried);
  }
  return "";
}

void require_fit(std::string_view model, const Specification& specification, const ModelOptions& options) {
  const std::int64_t inputs = specification.sizes.front();
  const std::int64_t outputs = specification.sizes.back();
  if (options.input && element_count(*options.input) != inputs) {
    const std::int64_t given = element_count(*options.input);
    const std::string size = fitting_size(inputs, options.input->front());
    throw UsageError(fmt::format("model '{}' takes {} values, but the images have {} = {} (C, H, W). Use {}mlp:{}-...",
                                 model, inputs, shape_text(*options.input), given, size.empty() ? "" : size + ", or ",
                                 given));
  }
  if (options.classes && *options.classes != outputs) {
    throw UsageError(fmt::format("model '{}' has {}, but there are {}: make its last number {}", model,
                                 counted(outputs, "output"), counted(*options.classes, "class", "classes"),
                                 *options.classes));
  }
}

}  // namespace

Network build_mlp(std::string_view model, const ModelOptions& options) {
  const Specification specification = parse(model);
  require_fit(model, specification, options);
  Network network(std::string(model), options.input.value_or(Shape{specification.sizes.front()}));
  network.add("flatten", Flatten{});
  int index = 0;
  for (std::size_t i = 1; i < specification.sizes.size(); ++i) {
    network.add(std::to_string(index++), Linear{.out_features = specification.sizes[i]});
    if (i + 1 < specification.sizes.size()) network.add(std::to_string(index++), Activation{specification.activation});
  }
  return network;
}

}  // namespace evener::network
