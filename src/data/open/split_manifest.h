// A file in a run's folder that lists its training, validation and test images. By it a resumed run and later
// evaluations recognise the images, wherever they lie by then and whatever was added, removed or changed, so that no
// image that was trained on is tested on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/open/open_data.h"

namespace evener::data {

/// The result of looking for the images of a manifest in data.
struct RecalledSplit {
  Split split;                              // known images in the parts that they had; the others as Split::added and
                                            // changed
  std::array<std::size_t, 3> known{};       // how many training, validation and test images the manifest has
  std::array<std::size_t, 3> gone{};        // how many of them are not in the data any more
  std::array<std::size_t, 3> changed{};     // how many of them have files whose content changed
  std::vector<std::uint32_t> were_trained;  // trained on by the run whose weights this run began with, on other data

  /// The number of images that are in the data unchanged.
  std::size_t found() const;
  /// "1 of 28 training images is gone, 2 of 8 test images have other content, 5 images are new"; "" = all is as it was.
  std::string changes() const;
};

/// The manifest recognises an image by a hash of its content, under any name. An image of unknown content counts as
/// changed if the manifest has its name, and otherwise as new. 17 bytes for each image.
class SplitManifest {
 public:
  /// Makes the manifest of data that was opened from `location`. Images that lie in one file with others are read for
  /// it, on `threads` threads.
  SplitManifest(const OpenedData& data, const std::string& location, int threads);

  /// Loads the manifest of a run's folder; absent where there is none, as in runs of versions without manifests. Throws
  /// Error naming the file and what is wrong with it.
  static std::optional<SplitManifest> load(const std::filesystem::path& run);
  /// Loads the manifest of the run in whose folder the weights file lies; absent where `weights` is empty.
  static std::optional<SplitManifest> beside(const std::filesystem::path& weights);
  /// Writes it into a run's folder, whole or not at all.
  void save(const std::filesystem::path& run) const;
  /// Copies the manifest from one run's folder to another's, whose weights were made from the first run's.
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to);

  /// Whether a manifest makes sense for the data: generated data is always the same and needs none.
  static bool can_know(const std::string& location) { return !location.starts_with("synth:"); }

  /// Adds the images on which `before` says that the initial weights were trained.
  void add_trained(const SplitManifest& before);

  RecalledSplit recall(const OpenedData& data, const std::string& location, int threads) const;

 private:
  /// The values in the file. kUnused: the split left the image out. kBefore: see add_trained().
  enum class Membership : std::uint8_t { kTrain, kValidation, kTest, kUnused, kBefore };
  struct Entry {
    std::uint64_t content = 0, name = 0;  // hashes of the content, and of the path below `location`
    Membership part = Membership::kUnused;
  };
  explicit SplitManifest(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  friend class Recall;

  std::vector<Entry> entries_;
};

}  // namespace evener::data
