#include "data/sources/foreign_files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/image_files.h"
#include "data/passed_over.h"
#include "data/sources/folder_walk.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

struct ForeignKind {
  std::string_view ending, what;
};

constexpr const char* kUnpack = "an archive: unpack it and give the folder";
constexpr const char* kExport =
    "a table of another program, which isn't read: write its images as files, a folder for each class";

constexpr std::array<ForeignKind, 16> kForeignKinds = {{{".zip", kUnpack},
                                                        {".tar", kUnpack},
                                                        {".tar.gz", kUnpack},
                                                        {".tgz", kUnpack},
                                                        {".tar.bz2", kUnpack},
                                                        {".tar.xz", kUnpack},
                                                        {".rar", kUnpack},
                                                        {".7z", kUnpack},
                                                        {".parquet", kExport},
                                                        {".arrow", kExport},
                                                        {".tfrecord", kExport},
                                                        {".tfrecords", kExport},
                                                        {".npz", kExport},
                                                        {".h5", kExport},
                                                        {".hdf5", kExport},
                                                        {".mat", kExport}}};

/// One of the pickles that CIFAR's Python version consists of.
bool is_cifar_pickle(const fs::path& path) {
  const std::string name = lower_case(path.filename().string());
  constexpr std::array<std::string_view, 5> kNames = {"test_batch", "batches.meta", "train", "test", "meta"};
  if (!name.starts_with("data_batch_") && std::ranges::find(kNames, name) == kNames.end()) return false;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  char bytes[2] = {};
  std::ifstream(path, std::ios::binary).read(bytes, 2);
  return bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

std::string hint_of_file(const fs::path& path) {
  const std::string name = lower_case(path.filename().string());
  if (is_cifar_pickle(path) || name.starts_with("cifar-10-python") || name.starts_with("cifar-100-python")) {
    return "'" + path.string() +
           "' is of CIFAR's Python version, which isn't read: take the binary version (cifar-10-binary.tar.gz or "
           "cifar-100-binary.tar.gz, unpacked), or 'evener data fetch cifar10'";
  }
  for (const ForeignKind& kind : kForeignKinds) {
    if (name.ends_with(kind.ending)) return "'" + path.string() + "' is " + std::string(kind.what);
  }
  return "";
}

/// `levels`: how many folders below are looked into.
std::string hint_of_folder(const fs::path& folder, int levels) {
  std::error_code ignored;
  std::vector<fs::path> files, folders;
  for (const fs::path& path : entries_in(folder, std::not_fn(is_passed_over))) {
    (fs::is_directory(path, ignored) ? folders : files).push_back(path);
  }
  for (const fs::path& file : files) {
    if (std::string hint = hint_of_file(file); !hint.empty()) return hint;
  }
  const auto is_named_so = [](const fs::path& file) {
    const std::string name = lower_case(file.filename().string());
    return name.find("ubyte") != std::string::npos || name.find("idx") != std::string::npos;
  };
  if (const auto found = std::ranges::find_if(files, is_named_so); found != files.end()) {
    return "'" + found->string() + "' seems to be an IDX file; these are known by names such as " +
           "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, also "
           "with .gz and with something before 'train': rename it so";
  }
  for (const fs::path& inner : folders) {
    const bool is_idx = is_idx_folder(inner);
    if (!is_idx && !is_cifar_folder(inner)) continue;
    return "'" + inner.string() + "' has " + (is_idx ? "IDX" : "CIFAR") + " files: give that folder";
  }
  for (const fs::path& inner : folders) {
    if (levels == 0) break;
    if (std::string hint = hint_of_folder(inner, levels - 1); !hint.empty()) return hint;
  }
  return "";
}

/// A format of annotations, by words that its files have all of in their beginning.
struct AnnotationFormat {
  const char* name;
  std::array<const char*, 2> words;
  const char* advice = ", which isn't read: export the annotations as COCO, PASCAL VOC or YOLO";
};
constexpr AnnotationFormat kAnnotationFormats[] = {
    {"Labelme's JSON", {"\"shapes\"", "\"shape_type\""}},
    {"CreateML's JSON", {"\"annotations\"", "\"coordinates\""}},
    {"VGG Image Annotator's JSON", {"\"regions\"", "\"shape_attributes\""}},
    {"Label Studio's JSON", {"\"annotations\"", "\"rectanglelabels\""}},
    {"CVAT's XML", {"<annotations", ""}},
    {"PASCAL VOC's XML of one image", {"<annotation", "<object"}, ": name the folder with the XML of all"},
    {"a table of boxes", {"xmin", "ymin"}}};

bool may_have_annotations(const fs::path& file) {
  return has_extension(file, {".json", ".xml", ".csv"});
}

/// What to do with the annotations in a file; "" where it has none of those formats.
std::string annotation_hint(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string beginning(16 * 1024, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  std::erase(beginning, '\0');  // UTF-16
  const auto has = [&](const char* word) { return beginning.find(word) != std::string::npos; };
  if (has("\"images\"")) return "";  // COCO's, with members of its own
  for (const AnnotationFormat& format : kAnnotationFormats) {
    if (std::ranges::all_of(format.words, has)) return "'" + file.string() + "' is " + format.name + format.advice;
  }
  return "";
}

}  // namespace

std::string foreign_files_hint(const fs::path& location) {
  std::error_code error;
  return fs::is_directory(location, error) ? hint_of_folder(location, 2) : hint_of_file(location);
}

std::string other_annotations(const fs::path& location) {
  constexpr std::size_t kMostFiles = 20;  // of a folder that are looked at
  std::error_code ignored;
  if (!fs::is_directory(location, ignored)) return may_have_annotations(location) ? annotation_hint(location) : "";
  std::vector<fs::path> folders{location};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const fs::path top = folders[i];
    std::vector<fs::path> files;
    for (const fs::path& path :
         entries_in(top, [](const fs::path& each) { return !is_hidden(each) && !has_image_extension(each); })) {
      const bool is_folder = fs::is_directory(path, ignored);
      if (is_folder && i == 0) folders.push_back(path);
      if (!is_folder && may_have_annotations(path)) files.push_back(path);
    }
    files.resize(std::min(files.size(), kMostFiles));
    for (const fs::path& file : files) {
      if (std::string hint = annotation_hint(file); !hint.empty()) return hint;
    }
  }
  return "";
}

}  // namespace evener::data
