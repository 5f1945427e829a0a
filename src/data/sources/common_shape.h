// For all sources of image files: chooses the common shape, and reads the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/decode.h"
#include "data/data_options.h"
#include "data/deep_images.h"
#include "data/preprocess.h"

namespace evener::data {

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

/// What load_image() finds out of a file.
struct LoadedImage {
  PictureExtent extent;
  std::uint64_t content = 0;  // see Dataset::content
};

/// Reads one file, preprocesses it by `steps` into `chw`, and adds it to `deep`, which may be null. Throws Error with
/// the reason alone.
LoadedImage load_image(const std::filesystem::path& path, const Preprocessing& steps, DecodeMode mode,
                       std::span<std::uint8_t> chw, DeepImages* deep = nullptr);

/// Calls `work` with each file's number: by options.deal, or else on options.threads threads with options.progress.
void deal_over_threads(std::size_t files, const DataOptions& options, const std::function<void(std::size_t)>& work);

}  // namespace evener::data
