// For all sources of image files: chooses the common shape, reads the files, and keeps decoded samples in memory,
// filled as they are first read. Checks images of 16 bits per channel, of which only the upper 8 bits are kept: whether
// these bits hold enough of the image.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/codecs/decode.h"
#include "data/codecs/picture.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/preprocess.h"

namespace evener::data {

/// Counts images of 16 bits and their values. add() is thread-safe.
class DeepImages {
 public:
  void add(const Picture& picture);

  /// Warnings for the user: images that are black in the upper 8 bits, or that use few of their values. Empty where
  /// there are none.
  std::vector<std::string> notes() const;

 private:
  std::atomic<std::size_t> images_{0}, black_{0};
  std::atomic<std::uint16_t> largest_{0};
};

/// A cache for the pixels of the first samples of a dataset, as many as the limit allows. Thread-safe; takes memory
/// only as it is filled.
class PixelCache {
 public:
  PixelCache(std::size_t samples, std::size_t bytes_per_sample, std::size_t limit_bytes);

  /// The pixels of a sample; null if it is not in the cache.
  const std::uint8_t* find(std::size_t sample) const;
  /// Copies a sample into `out`; false if it is not in the cache.
  bool load(std::size_t sample, std::span<std::uint8_t> out) const;
  /// Stores a sample, if the cache has room for it and it isn't stored yet.
  void store(std::size_t sample, std::span<const std::uint8_t> pixels);

 private:
  enum class State : std::uint8_t { kEmpty, kFilling, kReady };

  std::size_t bytes_per_sample_;
  std::size_t capacity_;
  std::unique_ptr<std::uint8_t, decltype(&std::free)> pixels_;
  std::unique_ptr<std::atomic<State>[]> states_;
};

/// The header of an image file; absent if it can't be read.
std::optional<PictureHeader> header_of(const std::filesystem::path& path);

/// The shape of a dataset: what the options ask for, else the first readable file's size, and 3 channels if any of up
/// to 64 files spread over the list is in colour. Where sizes differ and the options name none, a note says so. Throws
/// Interrupted after a stop request.
ImageShape choose_shape(const std::vector<std::filesystem::path>& files, const DataOptions& options,
                        std::vector<std::string>& notes);

/// A picture's own size in pixels, upright.
struct PictureExtent {
  std::int64_t width = 0, height = 0;
};

/// Image files that a dataset is made of. Each is decoded before the data is divided, so that bad ones are known, and
/// as many are kept as fit in memory.
struct LoadedFiles {
  LoadedFiles(std::vector<std::filesystem::path> files, const ImageShape& shape, const DataOptions& options);

  /// Calls `work` for each file, by options.deal, or else on options.threads threads with options.progress, and keeps
  /// the reason where it throws Error.
  void for_each(const DataOptions& options, const std::function<void(std::size_t file)>& work);
  /// Decodes every file, for its extent and content as well.
  void decode_all(const DataOptions& options);
  /// Throws Error where a file can't be read any more.
  void read(std::size_t file, std::span<std::uint8_t> chw) const;

  std::vector<std::filesystem::path> paths;
  Preprocessing steps;
  DecodeMode mode;
  PixelCache cache;
  DeepImages deep;
  std::vector<std::string> reasons;  // why a file can't be used, "" if it can
  std::vector<PictureExtent> extents;
  std::vector<std::uint64_t> contents;  // see Dataset::content; empty: they weren't read
  std::vector<std::uint32_t> samples;   // the files that are used
  std::vector<std::string> classes;
};

/// A dataset of such files, to which a class derived from it adds the targets. Base: Dataset or ClassDataset.
template <class Base>
class FileDataset : public Base {
 public:
  explicit FileDataset(std::unique_ptr<const LoadedFiles> files) : files_(std::move(files)) {}

  std::size_t size() const override { return files_->samples.size(); }
  ImageShape shape() const override { return files_->steps.shape; }
  const std::vector<std::string>& classes() const override { return files_->classes; }
  std::string source(std::size_t index) const override { return files_->paths[file(index)].string(); }
  std::optional<std::uint64_t> content(std::size_t index) const override {
    return files_->contents.empty() ? std::nullopt : std::optional(files_->contents[file(index)]);
  }
  const std::uint8_t* pixels(std::size_t index) const override { return files_->cache.find(file(index)); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override { files_->read(file(index), chw); }

 protected:
  std::uint32_t file(std::size_t index) const { return files_->samples[index]; }

 private:
  std::unique_ptr<const LoadedFiles> files_;
};

}  // namespace evener::data
