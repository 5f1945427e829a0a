// From a location to a divided dataset: chooses the source, checks the options, splits what comes undivided.
#include "data/open/open_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/image_files.h"
#include "data/locations.h"
#include "data/passed_over.h"
#include "data/picture_listing.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/foreign_files.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

constexpr std::string_view kSynthetic = "synth:";
constexpr const char* kDecodeModes[] = {"exact", "fast"};

constexpr const char* kExpected =
    "expected a folder with one sub-folder of images per class (or train/, val/ and test/ with such folders), a folder "
    "with IDX or CIFAR files, images with boxes (PASCAL VOC's XML, COCO's JSON, YOLO's text files), a file that "
    "'evener data pack' wrote (.safetensors), 'synth:masks[:N]', 'synth:digits[:N]' or 'synth:shapes[:N]'";

void check_extent(const char* what, const std::optional<std::int64_t>& value) {
  if (!value || (*value >= 1 && *value <= kMaxExtent)) return;
  throw UsageError(std::string("impossible image ") + what + " " + std::to_string(*value) + ": 1 to " +
                   std::to_string(kMaxExtent) + " pixels are possible");
}

DataOptions checked(DataOptions options) {
  check_extent("width", options.width);
  check_extent("height", options.height);
  if (options.channels && *options.channels != 1 && *options.channels != 3) {
    throw UsageError("impossible number of channels " + std::to_string(*options.channels) +
                     ": 1 (grey) and 3 (RGB) are possible");
  }
  options.threads = std::max(options.threads, 1);
  if (options.cache_limit_bytes == 0) {
    options.cache_limit_bytes = static_cast<std::size_t>(memory_limits().available_bytes / 2);
  }
  return options;
}

/// Files have their classes in them.
void refuse_classes(const DataOptions& options, const char* what) {
  if (options.classes.empty()) return;
  throw UsageError("--class is for folders of images, but '" + options.location + "' is " + what +
                   ", which has its own classes; leave --class out");
}

/// Throws where a folder holds two kinds of data, as one of them would be ignored in silence.
void require_one_kind(const std::filesystem::path& folder, bool is_idx, bool is_cifar) {
  const char* const files = is_idx ? "IDX files" : "CIFAR files";
  std::string other = is_idx && is_cifar ? "CIFAR files" : "";
  for (const std::string& part : part_folders_with_images(folder)) {
    other += (other.empty() ? "images in '" : ", images in '") + part + "'";
  }
  if (other.empty()) return;
  throw Error("'" + folder.string() + "' has " + files + " and " + other +
              ": which of them are meant can't be told; keep them in folders of their own");
}

/// Formats of annotations with boxes, by what they are recognised and opened with. The first that a folder has counts.
struct BoxLayout {
  const char* name;
  bool (*is_folder)(const std::filesystem::path&);
  Source (*open)(const std::filesystem::path&, const DataOptions&);
};
constexpr BoxLayout kBoxLayouts[] = {
    {"VOC", is_voc_folder, open_voc}, {"COCO", is_coco_folder, open_coco}, {"YOLO", is_yolo_folder, open_yolo}};

std::optional<Source> open_boxes(const std::filesystem::path& folder, const DataOptions& options) {
  const auto is_here = [&folder](const BoxLayout& format) { return format.is_folder(folder); };
  const auto* const first = std::find_if(std::begin(kBoxLayouts), std::end(kBoxLayouts), is_here);
  if (first == std::end(kBoxLayouts)) return std::nullopt;
  Source source = first->open(folder, options);
  std::ranges::move(passed_over_below(folder), std::back_inserter(source.notes));
  for (const auto* other = first + 1; other != std::end(kBoxLayouts); ++other) {
    if (!is_here(*other)) continue;
    source.notes.push_back(std::string("there are ") + other->name + " annotations too; the " + first->name +
                           " annotations are taken. To take the others, name their file");
  }
  return source;
}

/// The file of annotations that `path` is by its name, or nothing. Throws Error for those of other tools.
std::optional<Source> open_annotation_file(const std::filesystem::path& path, const DataOptions& options) {
  if (const std::string other = other_annotations(path); !other.empty()) throw Error(other);
  if (has_extension(path, {".json"})) return open_coco(path, options);
  if (has_extension(path, {".yaml", ".yml"})) return open_yolo(path, options);
  return std::nullopt;
}

/// Whether a folder can't be anything but one of class folders, or of images.
bool is_plain_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return false;
  const bool has_boxes = std::any_of(std::begin(kBoxLayouts), std::end(kBoxLayouts),
                                     [&path](const auto& each) { return each.is_folder(path); });
  return !has_boxes && !is_idx_folder(path) && !is_cifar_folder(path);
}

Source open_joined(const std::vector<std::string>& locations, const DataOptions& options) {
  for (const std::string& location : locations) {
    if (!location.starts_with(kSynthetic) && !are_on_disk(location)) throw Error("no such data: '" + location + "'");
  }
  for (const std::string& location : locations) {
    if (is_plain_folder(location)) continue;
    throw UsageError("'" + options.location + "' can't be taken together: '" + location +
                     "' is no folder of classes, and only such folders can be joined. Put the images and what belongs "
                     "to them into one folder, by links if need be");
  }
  return open_image_folder(std::vector<std::filesystem::path>(locations.begin(), locations.end()), options);
}

/// Opens folders of classes, and notes annotations beside them that aren't read.
Source open_class_folders(const std::filesystem::path& folder, const DataOptions& options) {
  const std::string others = other_annotations(folder);
  if (others.empty()) return open_image_folder({folder}, options);
  try {
    Source source = open_image_folder({folder}, options);
    source.notes.push_back(others);
    return source;
  } catch (const UsageError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + "\n  " + others);
  }
}

Source open_source(const DataOptions& options) {
  if (const auto locations = locations_in(options.location); locations.size() > 1) {
    return open_joined(locations, options);
  }
  if (options.location.starts_with(kSynthetic)) {
    refuse_classes(options, "synthetic data");
    return open_synthetic(options.location.substr(kSynthetic.size()), options);
  }
  const std::filesystem::path folder = options.location;
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (!std::filesystem::exists(status)) {
    throw Error("no such data: '" + options.location + "'" + (error ? " (" + error.message() + ")" : "") + "; " +
                kExpected);
  }
  if (!std::filesystem::is_directory(status)) {
    if (std::optional<Source> source = open_annotation_file(folder, options)) return std::move(*source);
    if (const std::string hint = foreign_files_hint(folder); !hint.empty()) throw Error(hint);
    const bool is_packed = folder.extension() == ".safetensors";
    if (!is_packed && !is_cifar_file(folder)) throw Error("'" + options.location + "' is not a folder; " + kExpected);
    refuse_classes(options, is_packed ? "a packed file" : "a CIFAR file");
    return is_packed ? open_packed(folder, options) : open_cifar(folder, options);
  }
  if (std::optional<Source> source = open_boxes(folder, options)) return std::move(*source);
  if (!options.classes.empty()) return open_image_folder({folder}, options);
  const bool is_idx = is_idx_folder(folder), is_cifar = is_cifar_folder(folder);
  if (!is_idx && !is_cifar) return open_class_folders(folder, options);
  require_one_kind(folder, is_idx, is_cifar);
  return is_idx ? open_idx(folder, options) : open_cifar(folder, options);
}

bool has(const std::vector<Part>& parts, Part part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Divides the samples of one part with `percent`.
Split split_part(const Source& source, Part part, const std::vector<double>& percent, std::uint64_t seed) {
  std::vector<std::uint32_t> members;
  for (std::size_t i = 0; i < source.parts.size(); ++i) {
    if (source.parts[i] == part) members.push_back(static_cast<std::uint32_t>(i));
  }
  return split_samples(*source.dataset, members, percent, seed);
}

bool comes_divided(const Source& source) {
  return source.is_divided || has(source.parts, Part::kVal) || has(source.parts, Part::kTest);
}

Split divide(const Source& source, const DataOptions& options) {
  const std::vector<double> percent = options.split.empty() ? std::vector<double>{85, 2, 13} : options.split;
  if (!comes_divided(source)) return split_part(source, source.parts.front(), percent, options.seed);

  Split split;
  for (std::size_t i = 0; i < source.parts.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (source.parts[i] == Part::kTrain) split.train.push_back(index);
    if (source.parts[i] == Part::kVal) split.val.push_back(index);
    if (source.parts[i] == Part::kTest) split.test.push_back(index);
  }
  if (source.is_divided || !split.val.empty() || split.train.empty()) {
    if (options.split.empty()) return split;
    throw UsageError("'" + options.location + "' comes divided into train, val and test; leave --split out");
  }
  const double sum = percent.size() < 2 ? 0 : percent[0] + percent[1];
  if (sum <= 0) {
    throw UsageError("'" + options.location +
                     "' has its own test part; --split divides its training part by the first "
                     "two numbers, which can't both be 0; to evaluate on the test part leave --split out");
  }
  const std::vector<double> of_train{percent[0] / sum * 100, percent[1] / sum * 100};
  Split divided = split_part(source, Part::kTrain, of_train, options.seed);
  divided.test = std::move(split.test);
  return divided;
}

}  // namespace

const char* decode_mode_name(DecodeMode mode) {
  return name_in(kDecodeModes, mode);
}

DecodeMode parse_decode_mode(const std::string& name) {
  return value_named<DecodeMode>(kDecodeModes, "way to decode", name);
}

bool has_pictures_only(const std::string& location) {
  if (const auto locations = locations_in(location); locations.size() > 1) {
    return std::ranges::all_of(locations, has_pictures_only);
  }
  const std::filesystem::path path = location;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return !location.starts_with(kSynthetic) && has_wildcard(location);
  if (!std::filesystem::is_directory(status)) return has_image_extension(path);
  return is_plain_folder(path) && !has_class_folders(path);
}

OpenedData open_data(const DataOptions& given) {
  const DataOptions options = checked(given);
  Source source = open_source(options);
  OpenedData opened;
  opened.split = divide(source, options);
  opened.came_divided = comes_divided(source);
  opened.kind = std::move(source.kind);
  opened.dataset = std::move(source.dataset);
  opened.statistics = std::move(source.statistics);
  opened.skipped = std::move(source.skipped);
  opened.notes = std::move(source.notes);
  if (options.decode == DecodeMode::kFast && !source.has_files) {
    opened.notes.push_back("--decode fast changes nothing: '" + options.location + "' has no JPEG files to decode");
  }
  return opened;
}

std::string more_to_validate(const OpenedData& data, std::size_t least, std::uint64_t seed) {
  if (data.came_divided) return "put more into the part for it";
  std::vector<std::uint32_t> all;
  for (const auto* part : {&data.split.train, &data.split.val, &data.split.test}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  std::ranges::sort(all);
  const double images = static_cast<double>(std::max<std::size_t>(all.size(), 1));
  constexpr double kStep = 5, kTrained = 50;
  const double tested = kStep * std::round(100 * static_cast<double>(data.split.test.size()) / images / kStep);
  for (const double test : {tested, 0.0}) {
    for (double val = kStep; val <= 100 - kTrained - test; val += kStep) {
      const std::size_t found = split_samples(*data.dataset, all, {100 - val - test, val, test}, seed).val.size();
      if (found < least) continue;
      return fmt::format("--split {}/{}{} gives {}", 100 - val - test, val, test > 0 ? fmt::format("/{}", test) : "",
                         found);
    }
  }
  return fmt::format("of {} no --split leaves enough to train on as well", counted(all.size(), "image"));
}

}  // namespace evener::data
