// The readers of the kinds of data, for open_data: each gives the samples and the parts in which they come.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/channel_statistics.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/skipped.h"
#include "data/targets.h"

namespace evener::data {

/// The part that a sample belongs to; kUndivided = still to be split, kUnused = in no part.
enum class Part : std::uint8_t { kUndivided, kTrain, kVal, kTest, kUnused };

struct Source {
  std::string kind;
  std::shared_ptr<const Dataset> dataset;
  std::vector<Part> parts;                      // one per sample
  bool has_files = false;                       // its images are decoded from files
  bool is_divided = false;                      // the parts are final, even where some are empty
  std::optional<ChannelStatistics> statistics;  // of the training part, where the data has them
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;
};

/// Adds notes on classes: for few classes a note each, "the class 'a' ONE"; for many one sentence, "40 classes MANY:
/// 'a', 'b', ...".
void note_classes(const std::vector<std::string>& names, const std::string& one, const std::string& many,
                  Source& source);

/// Notes the classes of `source.dataset` without samples. They keep their numbers, so that numbers agree with other
/// programs'.
void note_empty_classes(Source& source);

/// The options with every default filled in but size and channels.
/// Several folders of classes are joined.
Source open_image_folder(const std::vector<std::filesystem::path>& folders, const DataOptions& options);
Source open_idx(const std::filesystem::path& folder, const DataOptions& options);
/// `location` is a folder with CIFAR files or one such file.
Source open_cifar(const std::filesystem::path& location, const DataOptions& options);
/// A file that `evener data pack` wrote.
Source open_packed(const std::filesystem::path& file, const DataOptions& options);
/// `name` is what follows "synth:".
Source open_synthetic(const std::string& name, const DataOptions& options);

/// Images with PASCAL VOC's XML: trees as VOC2007 and VOC2012 have them, several of them in a folder, images/ and
/// annotations/, one folder with both.
Source open_voc(const std::filesystem::path& folder, const DataOptions& options);
/// Images with COCO's JSON of instances: a JSON file, or a folder with one for each part.
Source open_coco(const std::filesystem::path& location, const DataOptions& options);
/// Images with a text file each, as YOLO has them: a YAML file that names classes and parts, or its folder, or a folder
/// with images/ and labels/.
Source open_yolo(const std::filesystem::path& location, const DataOptions& options);

/// The name of the format, and the values of "parts" and "box_flags", in a packed file (data/open/pack.h).
constexpr const char* kPackFormat = "evener-pack-1";

constexpr std::uint8_t kPackedTrain = 0, kPackedVal = 1, kPackedTest = 2, kPackedUnused = 3;

/// The flags of a box as one number, and back.
constexpr std::uint8_t packed_flags(const LabelledBox& box) {
  return static_cast<std::uint8_t>((box.is_difficult ? 1 : 0) + (box.is_truncated ? 2 : 0) + (box.is_crowd ? 4 : 0));
}
constexpr void set_packed_flags(std::uint8_t flags, LabelledBox& box) {
  box.is_difficult = (flags & 1) != 0;
  box.is_truncated = (flags & 2) != 0;
  box.is_crowd = (flags & 4) != 0;
}

/// True if a folder holds any of the IDX files' names.
bool is_idx_folder(const std::filesystem::path& folder);
bool is_cifar_folder(const std::filesystem::path& folder);
/// True for the name of a single CIFAR file (.bin, .bin.gz).
bool is_cifar_file(const std::filesystem::path& path);

/// These look only at the beginnings of files.
bool is_voc_folder(const std::filesystem::path& folder);
bool is_coco_folder(const std::filesystem::path& folder);
bool is_yolo_folder(const std::filesystem::path& folder);

/// The largest width and height of a dataset's images.
constexpr std::int64_t kMaxExtent = 65536;

}  // namespace evener::data
