// Which images a training learnt from, validated on and tested with: a file in its folder, by which a resumed run and
// every later figure know the images again, wherever they lie by then and whatever was added, taken away or changed.
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

/// The images of a manifest as they were found in data.
struct RecalledSplit {
  Split split;                              // images that are known, in the parts that they had; and the others
  std::array<std::size_t, 3> known{};       // images of training, validation and test that the manifest has,
  std::array<std::size_t, 3> gone{};        // that are not in the data any more,
  std::array<std::size_t, 3> changed{};     // whose file has other content
  std::vector<std::uint32_t> were_trained;  // in other data than the run's, by a run that the weights began with

  /// How many images are there as they were.
  std::size_t found() const;
  /// "1 of 28 training images is gone, 2 of 8 test images have other content, 5 images are new"; "" = all is as it was.
  std::string changes() const;
};

/// An image is known by its content, under whatever name. One of unknown content is taken for the image that had its
/// name, which has changed then, or for a new one. 17 bytes for each image.
class SplitManifest {
 public:
  /// Of data that was opened from `location`. Reads images that lie in one file with others, on `threads` threads.
  SplitManifest(const OpenedData& data, const std::string& location, int threads);

  /// That of a run's folder; nothing where there is none, as of runs from before there were any. Throws Error naming
  /// the file and what is wrong with it.
  static std::optional<SplitManifest> load(const std::filesystem::path& run);
  /// That of the run in whose folder a file of weights lies; nothing for no file.
  static std::optional<SplitManifest> beside(const std::filesystem::path& weights);
  /// Into a run's folder, whole or not at all.
  void save(const std::filesystem::path& run) const;
  /// Copies it from one run's folder to another's, whose weights are made of the first one's.
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to);

  /// Whether samples of such data are told apart by it: what is generated is the same again.
  static bool can_know(const std::string& location) { return !location.starts_with("synth:"); }

  /// Remembers images that weights were trained on before they began here.
  void add_trained(const SplitManifest& before);

  RecalledSplit recall(const OpenedData& data, const std::string& location, int threads) const;

 private:
  /// As the file has them. kUnused: `split` left them out. kBefore: see add_trained().
  enum class Membership : std::uint8_t { kTrain, kValidation, kTest, kUnused, kBefore };
  struct Entry {
    std::uint64_t content = 0, name = 0;  // hashes; of the path below `location`
    Membership part = Membership::kUnused;
  };
  explicit SplitManifest(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  friend class Recall;

  std::vector<Entry> entries_;
};

}  // namespace evener::data
