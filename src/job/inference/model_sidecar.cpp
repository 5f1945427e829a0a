#include "job/inference/model_sidecar.h"

#include <filesystem>

#include "job/options/option.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// "model.toml" for "model.onnx"; empty where there is none.
fs::path sidecar_of(const InferModelFlags& flags) {
  const fs::path file = flags.weights->empty() ? *flags.model : *flags.weights;
  std::error_code ignored;
  if (file.extension().empty() || !fs::is_regular_file(file, ignored)) return {};
  fs::path sidecar = fs::path(file).replace_extension(".toml");
  return fs::is_regular_file(sidecar, ignored) ? sidecar : fs::path();
}

/// The values in "--size=224x224".
std::vector<std::string> values_in(const ConfigValues::Words& given) {
  std::vector<std::string> values;
  for (const std::string& word : given.words) values.push_back(word.substr(given.option->name().size() + 1));
  return values;
}

}  // namespace

void take_sidecar(InferModelFlags& flags) {
  const fs::path sidecar = sidecar_of(flags);
  if (sidecar.empty()) return;
  OptionSet options{&flags};
  // The file says how its network is used, not which one it is.
  options.leave_out([&](const OptionBase& option) { return &option == &flags.model || &option == &flags.weights; });
  GivenWords words;
  for (const auto& given : read_config(sidecar, options, "infer").options) {
    words[given.option->key()] = values_in(given);
  }
  if (const auto labels = words.find(flags.labels.key()); labels != words.end()) {
    for (std::string& path : labels->second) path = (sidecar.parent_path() / path).string();
  }
  flags.inherit(words);
  flags.sidecar = sidecar;
}

}  // namespace evener::job
