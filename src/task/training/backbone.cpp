#include "task/training/backbone.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "network/init.h"
#include "network/weight_names.h"
#include "network/zoo.h"

namespace evener::task {
namespace {

using network::Network;
using network::Parameter;

constexpr const char* kClassifiersPart = "features.";  // of a classifier

std::vector<const Parameter*> parameters_of(const Network& network, const char* part) {
  std::vector<const Parameter*> parameters;
  for (const Parameter& parameter : network.parameters()) {
    if (parameter.name.starts_with(part)) parameters.push_back(&parameter);
  }
  return parameters;
}

bool has_beginning(const TensorMap& tensors, const std::string& part) {
  const auto first = tensors.lower_bound(part);
  return first != tensors.end() && first->first.starts_with(part);
}

}  // namespace

std::vector<std::string> adapt_to_network_or_backbone(const Network& network, weights::SafetensorsFile& file,
                                                      const std::string& source) {
  const std::string classifier = network::classifier_of(network.model());
  const bool may_be_classifiers =
      !classifier.empty() && !has_beginning(file.tensors, "backbone.") && !has_beginning(file.tensors, "head.");
  std::vector<std::string> notes = network::adapt_names(network, file, source);
  if (!may_be_classifiers || network::has_all_names(network, file.tensors)) return notes;
  return network::adapt_names(network::build(classifier, {}), file, source);
}

bool is_of_backbone(const Network& network, const TensorMap& given) {
  if (network.anchors().empty() || network::classifier_of(network.model()).empty()) return false;
  return has_beginning(given, kClassifiersPart) && !has_beginning(given, "backbone.") && !has_beginning(given, "head.");
}

Backbone backbone_of_classifier(const Network& network, TensorMap given, const std::string& source,
                                std::uint64_t seed) {
  const std::string model = network::classifier_of(network.model());
  const Network classifier = network::build(model, {.input = network.input_shape()});
  // Both are built by one function, so that their layers are the same in their order, if not in name and width.
  const auto ours = parameters_of(network, kDetectorsPart), theirs = parameters_of(classifier, kClassifiersPart);
  Backbone backbone{network::initial_state(network, seed), {}};
  std::size_t taken = 0, others = 0;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const auto found = given.find(theirs[i]->name);
    const bool is_counter = ours[i]->name.ends_with(".num_batches_tracked");
    if (found == given.end()) {
      if (!is_counter) missing.push_back(theirs[i]->name);
      continue;
    }
    if (found->second.shape != ours[i]->shape) {
      ++others;
      continue;
    }
    HostTensor& place = backbone.state.at(ours[i]->name);
    place = is_counter ? std::move(found->second) : found->second.to_floats();
    ++taken;
  }
  if (!missing.empty()) {
    throw Error(fmt::format("{} has no {} ({} of {} tensors are missing): it is no {}, which {} is built on", source,
                            missing.front(), missing.size(), theirs.size(), model, network.model()));
  }
  network::check_state(network, backbone.state, source);
  backbone.notes.push_back(
      fmt::format("{} tensors are those of the classifier {}; the levels after it and the heads begin with new values",
                  taken, model));
  if (others > 0) {
    backbone.notes.push_back(fmt::format(
        "{} more of the classifier's have another shape than the detector's, and begin with new values", others));
  }
  return backbone;
}

}  // namespace evener::task
