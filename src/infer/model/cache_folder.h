// The folders for caches, whose content can be made or downloaded again, and the published weights that are kept there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/fetch/catalogue.h"

namespace evener::inference {

/// The folder evener/NAME in $XDG_CACHE_HOME, or else in $HOME/.cache; it need not exist. Empty where neither variable
/// names a folder.
std::filesystem::path cache_folder(const std::string& name);

/// The folder in which compiled networks are kept between runs.
std::filesystem::path compile_cache();

/// Weights in the catalogue (data/fetch/catalogue.h), and where they are stored.
struct NamedWeights {
  const data::CatalogueEntry* entry = nullptr;
  std::filesystem::path folder, file;  // `file` lies in `folder`
};

/// Looks up --weights WORD for the network `model`: "imagenet" (for a detector, the weights of the classifier that it
/// is built on), "coco", or the full name of a catalogue entry, such as "facenet" or "mtcnn". Absent where a file has
/// that name, or the word is none of these. Throws UsageError where the catalogue has no such weights for the network,
/// naming those that it has.
std::optional<NamedWeights> named_weights(const std::string& word, const std::string& model);

}  // namespace evener::inference
