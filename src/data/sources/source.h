// What each kind of data tells open_data: the samples, and how they come divided.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

/// The part of the data a sample is from; kUndivided = to be split.
enum class Part : std::uint8_t { kUndivided, kTrain, kVal, kTest };

struct Source {
  std::string kind;
  std::shared_ptr<const Dataset> dataset;
  std::vector<Part> parts;  // one per sample
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;
};

/// The options with every default filled in but size and channels.
Source open_image_folder(const std::filesystem::path& folder, const DataOptions& options);
Source open_idx(const std::filesystem::path& folder, const DataOptions& options);
/// `name` is what follows "synth:".
Source open_synthetic(const std::string& name, const DataOptions& options);

/// True if a folder holds any of the IDX files' names.
bool is_idx_folder(const std::filesystem::path& folder);

/// Width and height at most this.
constexpr std::int64_t kMaxExtent = 65536;

}  // namespace evener::data
