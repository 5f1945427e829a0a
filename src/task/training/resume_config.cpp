#include "task/training/resume_config.h"

#include <filesystem>

#include "base/error.h"

namespace evener::task {

namespace fs = std::filesystem;
using nlohmann::json;

json resume_config(const TrainOptions& options, const TrainSetup& setup) {
  json config = options.settings ? *options.settings : json::object();
  config["engine"] = setup.engine;
  config["classes"] = setup.classes;
  config["size"] = {setup.image.channels, setup.image.height, setup.image.width};
  config["train images"] = setup.train_images;
  config["validation images"] = setup.val_images;
  config["batch"] = options.batch;
  return config;
}

/// For a message: names of files may be no UTF-8.
std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Whether both name one file or folder, such as "mnist" and "mnist/".
bool same_place(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& text) { return (fs::path(text) / "").lexically_normal(); };
  std::error_code none;
  return plain(a) == plain(b) || fs::equivalent(a, b, none);
}

/// Whether both say the same.
bool is_same(const std::string& key, const json& before, const json& now) {
  if (before == now) return true;
  if (!before.is_string() || !now.is_string()) return false;
  return (key == "data" || key == "weights") && same_place(before.get<std::string>(), now.get<std::string>());
}

void require_same_config(const json& saved, const json& now) {
  std::string differences;
  for (const auto& [key, value] : now.items()) {
    if (key == "engine") continue;  // each engine goes on with the other's checkpoints
    const json before = saved.contains(key) ? saved[key] : json();
    if (!is_same(key, before, value))
      differences += "\n  " + key + ": " + shown(before) + " in the checkpoint, " + shown(value) + " now";
  }
  if (!differences.empty()) {
    throw UsageError("can't resume with other settings than the run was started with:" + differences +
                     "\nRepeat them, or start a new run with another --out");
  }
}

}  // namespace evener::task
