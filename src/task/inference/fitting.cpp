#include "task/inference/fitting.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "network/init.h"
#include "network/weight_names.h"

namespace evener::task {
namespace {

constexpr const char* kSource = "it";  // the file, in notes

/// The file's tensors without their values.
weights::SafetensorsFile outline_of(const weights::SafetensorsFile& file) {
  weights::SafetensorsFile outline;
  for (const auto& [name, tensor] : file.tensors) outline.tensors[name] = {tensor.dtype, tensor.shape, {}};
  outline.passed_over = file.passed_over;
  return outline;
}

/// Absent where the file isn't of that network with such images. `channels`: absent = the network's own.
std::optional<FittingNetwork> fitted(const std::string& model, const weights::SafetensorsFile& file,
                                     std::optional<std::int64_t> channels) {
  network::ModelOptions options;
  const network::Shape usual = network::build(model, {}).input_shape();
  if (channels && (usual.size() != 3 || usual.front() == *channels)) return std::nullopt;
  if (channels) options.input = network::Shape{*channels, usual[1], usual[2]};
  const NetworkBuilder build = [&](const network::ModelOptions& asked) { return network::build(model, asked); };
  try {
    weights::SafetensorsFile outline = outline_of(file);
    const network::Network plain = build(options);
    network::adapt_names(plain, outline, kSource);
    if (!network::has_all_names(plain, outline.tensors)) return std::nullopt;
    const network::HeadOutputs outputs = network::head_outputs(plain, outline.tensors);
    WeightedNetwork weighted = with_weights(build, options, /*keeps_classes=*/false, file, kSource, 1);
    return FittingNetwork{.model = model,
                          .outputs = outputs.of_file,
                          .channels = channels.value_or(0),
                          .notes = std::move(weighted.notes)};
  } catch (const Error&) {  // it doesn't fit
    return std::nullopt;
  }
}

}  // namespace

WeightedNetwork with_weights(const NetworkBuilder& build, network::ModelOptions options, bool keeps_classes,
                             weights::SafetensorsFile file, const std::string& source, std::uint64_t seed) {
  network::Network network = build(options);
  std::vector<std::string> notes = network::adapt_names(network, file, source);
  // A file without class names: its last layer tells how many there are.
  const network::HeadOutputs outputs = network::head_outputs(network, file.tensors);
  if (!keeps_classes && outputs.of_file > 0 && outputs.of_file != outputs.of_network) {
    options.classes = outputs.of_file;
    network = build(options);
  }
  network::FittedState fitted = network::fit_state(network, std::move(file.tensors), source, seed);
  if (!fitted.new_head.empty()) {
    const char* what = network.anchors().empty() ? "outputs" : "classes";
    if (fitted.file_outputs == 0)
      throw Error(fmt::format("{} has other anchors or scores than {}", source, network.model()));
    throw Error(fmt::format("{} has {} {}, not {}: leave out --classes", source, fitted.file_outputs, what,
                            outputs.of_network));
  }
  return {std::move(network), std::move(fitted.state), std::move(notes)};
}

std::string FittingNetwork::usage(const std::filesystem::path& file) const {
  return fmt::format("{} --weights {}{}", model, file.string(),
                     channels > 0 ? fmt::format(" --channels {}", channels) : "");
}

std::vector<FittingNetwork> fitting_networks(const weights::SafetensorsFile& file) {
  constexpr std::int64_t kGrey = 1;
  std::vector<FittingNetwork> fitting;
  for (const network::ModelInfo& model : network::known_models()) {
    if (model.name.find(':') != std::string::npos) continue;
    for (const auto channels : {std::optional<std::int64_t>(), std::optional(kGrey)}) {
      if (auto one = fitted(model.name, file, channels)) fitting.push_back(std::move(*one));
    }
  }
  return fitting;
}

std::string fitting_text(const std::vector<FittingNetwork>& fitting, const std::filesystem::path& file) {
  if (fitting.empty())
    return fmt::format("they fit no network of the zoo; 'evener info {}' lists its tensors", file.string());
  return fmt::format("they fit {}: name it, as in '{}'", fitting.front().model, fitting.front().usage(file));
}

}  // namespace evener::task
