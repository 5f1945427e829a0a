#include "infer/model/cache_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "infer/model/trained_model.h"
#include "network/zoo.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImagenet = "imagenet";
constexpr const char* kCoco = "coco";

const data::CatalogueEntry* find_entry(const std::string& name) {
  const auto& entries = data::fetch_catalogue();
  const auto found = std::ranges::find(entries, name, &data::CatalogueEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const std::string& word, const std::string& model) {
  network::build(model, {});  // whose message knows the nearest name of a network
  std::vector<std::string> known;
  for (const data::CatalogueEntry& entry : data::fetch_catalogue()) {
    if (entry.name.ends_with("-" + word)) known.push_back(entry.name.substr(0, entry.name.size() - word.size() - 1));
  }
  throw UsageError(
      fmt::format("no weights of {} for '{}' are known; there are some for {}. Give the file of others with --weights",
                  model, word, fmt::join(known, ", ")));
}

}  // namespace

fs::path cache_folder(const std::string& name) {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? fs::path(value) : fs::path();
  };
  fs::path cache = absolute("XDG_CACHE_HOME");
  if (cache.empty() && !absolute("HOME").empty()) cache = absolute("HOME") / ".cache";
  return cache.empty() ? cache : cache / "evener" / name;
}

fs::path compile_cache() {
  return cache_folder("openvino");
}

std::optional<NamedWeights> named_weights(const std::string& word, const std::string& model) {
  std::error_code unreadable;
  if (word.empty() || fs::exists(word, unreadable)) return std::nullopt;
  const data::CatalogueEntry* entry = find_entry(word);
  if (entry == nullptr && (word == kImagenet || word == kCoco) && !model.empty() && !names_a_path(model)) {
    const std::string classifier = network::classifier_of(model);
    entry = find_entry((word == kImagenet && !classifier.empty() ? classifier : model) + "-" + word);
    if (entry == nullptr) refuse(word, model);
  }
  if (entry == nullptr || !fs::path(entry->files.front().name).extension().string().starts_with(".pt")) {
    return std::nullopt;
  }
  const fs::path cache = cache_folder("weights");
  if (cache.empty()) {
    throw UsageError(fmt::format(
        "where to keep the weights '{}' is unknown: neither HOME nor XDG_CACHE_HOME is set. Set one, or download them "
        "(evener data fetch {}) and name the file",
        word, entry->name));
  }
  const fs::path folder = cache / entry->name;
  return NamedWeights{entry, folder, folder / entry->files.front().name};
}

}  // namespace evener::inference
