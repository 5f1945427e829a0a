// Published weights by a short name instead of a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/fetch/catalogue.h"

namespace evener::job {

/// Weights of the catalogue (data/fetch/catalogue.h), and where they are kept.
struct NamedWeights {
  const data::CatalogueEntry* entry = nullptr;
  std::filesystem::path folder, file;  // `file` lies in `folder`
};

/// What --weights WORD stands for with this network: "imagenet" (of a detector, the classifier's that it is built on)
/// and "coco", or the whole name of an entry with weights, such as "facenet" and "mtcnn". Absent where a file has that
/// name, or it is none of these words. Throws UsageError where the catalogue has no such weights of the network, naming
/// what it has.
std::optional<NamedWeights> named_weights(const std::string& word, const std::string& model);

}  // namespace evener::job
