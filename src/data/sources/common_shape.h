// What sources of image files have in common: the shape that all are brought to, and how they are read.
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

/// The header of a file, or nothing if it is bad.
std::optional<PictureHeader> header_of(const std::filesystem::path& path);

/// The shape of a dataset: what the options ask for, else the first readable file's size, and 3 channels if any of up
/// to 64 files spread over the list is in colour. Where sizes differ and nobody chose one, `notes` tells it. Throws
/// Interrupted after a stop request.
ImageShape choose_shape(const std::vector<std::filesystem::path>& files, const DataOptions& options,
                        std::vector<std::string>& notes);

/// A picture's own size in pixels, upright.
struct PictureExtent {
  std::int64_t width = 0, height = 0;
};

/// What is known of a file that was read.
struct LoadedImage {
  PictureExtent extent;
  std::uint64_t content = 0;  // see Dataset::content
};

/// Reads one file and brings it to `steps.shape`, and tells `deep` what its values are. Throws Error with the reason
/// alone.
LoadedImage load_image(const std::filesystem::path& path, const Preprocessing& steps, DecodeMode mode,
                       std::span<std::uint8_t> chw, DeepImages* deep = nullptr);

/// Calls `work` with each file's number, as options.deal or on threads of its own, and tells the progress.
void deal_over_threads(std::size_t files, const DataOptions& options, const std::function<void(std::size_t)>& work);

}  // namespace evener::data
