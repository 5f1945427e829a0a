#include "cli/options/model_flags.h"

#include "network/zoo.h"

namespace evener::cli {
namespace {

std::string model_list() {
  std::string text;
  for (const auto& model : network::known_models()) text += (text.empty() ? "" : ", ") + model.name;
  return text;
}

}  // namespace

ModelFlags::ModelFlags()
    : OptionGroup("Network"),
      model(*this, {"MODEL", "NAME", "Network: " + model_list()}, "", {.required = true, .stays = {"model", true}}) {}

void ModelFlags::fill(task::TrainOptions& options) const {
  options.model = *model;
  options.weights = *weights;
  options.freeze = *freeze;
  options.normalization = task::parse_normalization(*normalize);
}

}  // namespace evener::cli
