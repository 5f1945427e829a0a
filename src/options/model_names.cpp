#include "options/model_names.h"

#include "network/zoo.h"

namespace evener {

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

}  // namespace evener
