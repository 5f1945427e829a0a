#include "job/info/tensors_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/plural.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

const char* type_name(DType type) {
  switch (type) {
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
  }
  return "?";
}

/// Whether `tensors` are those of `name`, whatever their last layer tells apart; `classes` are then as many as it does.
bool fits(const std::string& name, const TensorMap& tensors, std::int64_t& classes) {
  network::Network net = network::build(name, {});
  const network::HeadOutputs outputs = network::head_outputs(net, tensors);
  if (outputs.of_file > 0 && outputs.of_file != outputs.of_network) {
    net = network::build(name, {.classes = outputs.of_file});
  }
  classes = outputs.of_file;
  std::size_t matched = 0;
  for (const network::Parameter& parameter : net.parameters()) {
    const auto found = tensors.find(parameter.name);
    const bool is_counter = parameter.name.ends_with("num_batches_tracked");
    if (found == tensors.end() ? !is_counter : !is_counter && found->second.shape != parameter.shape) return false;
    matched += found == tensors.end() ? 0 : 1;
  }
  return matched == tensors.size();
}

/// The networks of the zoo that tensors could be of; those with open names (mlp) are left out.
std::vector<std::pair<std::string, std::int64_t>> fitting_networks(const TensorMap& tensors) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const network::ModelInfo& model : network::known_models()) {
    if (model.name.find(':') != std::string::npos) continue;
    std::int64_t classes = 0;
    if (fits(model.name, tensors, classes)) found.emplace_back(model.name, classes);
  }
  return found;
}

}  // namespace

std::string info_row(const char* what, const std::string& value) {
  return fmt::format("{:<14}{}\n", what, value);
}

Description tensors_info(const fs::path& path, const TensorMap& tensors) {
  Description info;
  std::int64_t numbers = 0;
  std::size_t widest = 4;
  ordered_json list = ordered_json::array();
  for (const auto& [name, tensor] : tensors) {
    numbers += element_count(tensor.shape);
    widest = std::max(widest, printable(name).size());
    list.push_back({{"name", name},
                    {"shape", tensor.shape},
                    {"type", type_name(tensor.dtype)},
                    {"numbers", element_count(tensor.shape)}});
  }
  info.text = fmt::format("{}: {} with {} numbers; it doesn't say of which network\n", path.string(),
                          counted(tensors.size(), "tensor"), numbers);
  ordered_json fitting = ordered_json::array();
  for (const auto& [name, classes] : fitting_networks(tensors)) {
    info.text +=
        info_row("fits", fmt::format("{}{}: use it as '{} --weights {}'", name,
                                     classes > 0 ? fmt::format(" with {} outputs", classes) : "", name, path.string()));
    fitting.push_back({{"model", name}, {"outputs", classes > 0 ? ordered_json(classes) : ordered_json()}});
  }
  if (fitting.empty()) info.text += info_row("fits", "no network of the zoo");
  info.text += fmt::format("\n{:<{}}  {:<20} {:<9} {:>12}\n", "name", widest, "shape", "type", "numbers");
  for (const auto& [name, tensor] : tensors) {
    info.text += fmt::format("{:<{}}  {:<20} {:<9} {:>12}\n", printable(name), widest,
                             tensor.shape.empty() ? "one number" : shape_text(tensor.shape), type_name(tensor.dtype),
                             element_count(tensor.shape));
  }
  info.json = {{"schema", 1},           {"kind", "info"},  {"file", path.string()}, {"model", nullptr},
               {"parameters", numbers}, {"fits", fitting}, {"tensors", list}};
  return info;
}

}  // namespace evener::job
