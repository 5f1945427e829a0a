#include "job/options/model_flags.h"

#include "network/zoo.h"

namespace evener::job {
std::string model_list() {
  std::string text;
  for (const auto& model : network::known_models()) text += (text.empty() ? "" : ", ") + model.name;
  return text;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& model : network::known_models()) {
    const std::size_t colon = model.name.find(':');
    names.push_back(colon == std::string::npos ? model.name : model.name.substr(0, colon + 1));
  }
  return names;
}

ModelFlags::ModelFlags()
    : OptionGroup("Network"),
      model(
          *this,
          {"MODEL", "NAME", "Network: " + model_list() + "; auto, or none: the one that suits the data, see --minutes"},
          "", {.suggestions = model_names(), .stays = {"model", true}}) {}

void ModelFlags::fill(task::TrainOptions& options) const {
  options.model = *model;
  options.weights = *weights;
  options.freeze = *freeze;
  options.linear_probing = *linear_probing == "on"    ? task::LinearProbing::kAlways
                           : *linear_probing == "off" ? task::LinearProbing::kNever
                                                      : task::LinearProbing::kNew;
  if (!quantize->empty()) options.quantize_bits = *quantize == "int8" ? 8 : quantize->back() - '0';
  options.normalization = task::parse_normalization(*normalize);
}

}  // namespace evener::job
