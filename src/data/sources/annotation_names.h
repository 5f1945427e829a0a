// Resolves the names in annotation files: of images to files in folders, and of classes to numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/boxed_images.h"

namespace evener::data {

/// Finds images by the names that a file gives them.
class NamedImages {
 public:
  explicit NamedImages(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  /// The file of that name; absent if it is in none of the folders. Names that lead out of the folders are not
  /// followed.
  std::optional<std::filesystem::path> find(const std::string& name);
  /// The folder in which the last image was found.
  const std::filesystem::path& folder() const { return folders_.front(); }

 private:
  std::vector<std::filesystem::path> folders_;
};

/// Numbers names in the order in which they are first met, until all are known.
class ClassNames {
 public:
  std::int32_t number(const std::string& name) {
    return numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size())).first->second;
  }
  /// Writes the names, sorted, into `listing`, and renumbers its boxes in that order.
  void finish(AnnotatedListing& listing) const;

 private:
  std::map<std::string, std::int32_t> numbers_;
};

}  // namespace evener::data
