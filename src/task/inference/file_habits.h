// What files of other programs don't say, but is usual for networks like theirs: asked of whoever knows such networks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/preprocess.h"
#include "task/inference/class_output.h"

namespace evener::task {

class BoxDecoder;

/// A file's network for images.
struct FileView {
  std::string name;
  const std::map<std::string, std::string>& metadata;
  const std::vector<NetworkOutput>& outputs;
  std::vector<std::int64_t> image;   // (C, H, W)
  std::vector<std::string> classes;  // names that are known; empty = none
  bool is_lite = false;              // TensorFlow Lite's
  /// The outputs for a trial image of plain grey, as the network takes it.
  std::function<TensorMap()> trial;
};

struct FileHabits {
  std::shared_ptr<const BoxDecoder> decoder = {};  // null: it is no detector
  std::string family = {};                         // "YOLOX"
  std::vector<std::string> classes = {};           // names of all classes
  std::string named_by = {};                       // whose names are assumed: "COCO"; "" = nobody's
  std::string normalization = {};                  // as --normalize takes it; "" = not known
  bool reverse_channels = false;
  std::optional<data::CropMode> crop = {};
};

/// Throws UsageError where the network isn't of the kind that is looked for.
using FileStudy = std::function<FileHabits(const FileView&)>;

}  // namespace evener::task
