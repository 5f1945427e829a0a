// CIFAR-10 and CIFAR-100 in their binary form: a folder with the published files, or one such file.
#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/phase.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/resize.h"
#include "data/sources/binary_files.h"
#include "data/sources/folder_walk.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxCifarBytes = std::uint64_t{1} << 32;

/// "data_batch_1" for data_batch_1.bin and data_batch_1.bin.gz; "" for other names.
std::string stem_of(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (!name.ends_with(".bin") || name.starts_with('.')) return "";
  return name.substr(0, name.size() - 4);
}

bool is_cifar_name(const fs::path& path) {
  const std::string stem = stem_of(path);
  return stem.starts_with("data_batch") || stem == "test_batch" || stem == "train" || stem == "test" ||
         stem.starts_with("cifar");
}

std::vector<fs::path> cifar_files(const fs::path& folder) {
  return entries_in(folder, [](const fs::path& path) {
    std::error_code ignored;
    return is_cifar_name(path) && fs::is_regular_file(path, ignored);
  });
}

struct CifarFile {
  fs::path path;
  Part part = Part::kUndivided;
  CifarRecords records;
};

CifarFile read_cifar(const fs::path& path, Part part) {
  std::string file;
  {
    const PhaseMark mark(Phase::kRead);
    file = read_file(path, kMaxCifarBytes);
  }
  const PhaseMark mark(Phase::kDecode);
  const std::string stem = stem_of(path);
  const bool is_100_name = stem == "train" || stem == "test" || stem.starts_with("cifar100");
  try {
    return {path, part, parse_cifar(file, is_100_name ? CifarKind::kCifar100 : CifarKind::kCifar10)};
  } catch (const Error& error) {
    throw Error("the CIFAR file '" + path.string() + "' can't be used: " + error.what());
  }
}

/// The classes' names out of the text file beside the data, else their numbers.
std::vector<std::string> class_names(const fs::path& folder, CifarKind kind) {
  const fs::path path = folder / (kind == CifarKind::kCifar10 ? "batches.meta.txt" : "fine_label_names.txt");
  std::vector<std::string> names;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    std::istringstream lines(text_without_byte_order_mark(read_file(path, 1 << 20)));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) names.push_back(line);
    }
    if (names.size() != class_count(kind)) {
      throw Error("'" + path.string() + "' has " + std::to_string(names.size()) + " names, but the data has " +
                  std::to_string(class_count(kind)) + " classes; one name per line is expected");
    }
    return names;
  }
  for (std::size_t c = 0; c < class_count(kind); ++c) names.push_back(std::to_string(c));
  return names;
}

class CifarDataset : public ClassDataset {
 public:
  CifarDataset(std::vector<CifarFile> files, std::vector<std::string> classes, const ImageShape& shape)
      : files_(std::move(files)), classes_(std::move(classes)), shape_(shape) {
    for (const CifarFile& file : files_) size_ += file.records.size();
  }

  std::size_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override {
    const auto [file, record] = locate(index);
    return file->records.label(record);
  }
  Part part(std::size_t index) const { return locate(index).first->part; }
  std::string source(std::size_t index) const override {
    const auto [file, record] = locate(index);
    return file->path.string() + "#" + std::to_string(record);
  }

  const std::uint8_t* pixels(std::size_t index) const override {
    return shape_ == ImageShape{3, kCifarSide, kCifarSide} ? stored(index) : nullptr;
  }

  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (const std::uint8_t* planes = pixels(index); planes != nullptr) {
      std::copy_n(planes, kCifarImageBytes, chw.data());
      return;
    }
    Picture picture = from_planes({stored(index), kCifarImageBytes}, kCifarSide, kCifarSide);
    if (shape_.channels == 1) picture = to_grey(std::move(picture));
    write_planes(resize(std::move(picture), shape_.height, shape_.width), shape_.channels, chw);
  }

 private:
  const std::uint8_t* stored(std::size_t index) const {
    const auto [file, record] = locate(index);
    return file->records.image(record);
  }
  std::pair<const CifarFile*, std::size_t> locate(std::size_t index) const {
    const CifarFile* file = files_.data();
    while (index >= file->records.size()) index -= (file++)->records.size();
    return {file, index};
  }

  std::vector<CifarFile> files_;
  std::vector<std::string> classes_;
  ImageShape shape_;
  std::size_t size_ = 0;
};

void check_same_kind(const std::vector<CifarFile>& files) {
  for (const CifarFile& file : files) {
    if (file.records.kind == files.front().records.kind) continue;
    throw Error("'" + files.front().path.string() + "' and '" + file.path.string() +
                "' lie in one folder, but one is of CIFAR-10 and the other of CIFAR-100; keep them apart");
  }
}

}  // namespace

bool is_cifar_file(const fs::path& path) {
  return !stem_of(path).empty();
}

bool is_cifar_folder(const fs::path& folder) {
  return !cifar_files(folder).empty();
}

Source open_cifar(const fs::path& location, const DataOptions& options) {
  std::error_code error;
  const bool is_folder = fs::is_directory(location, error);
  std::vector<CifarFile> files;
  if (is_folder) {
    for (const fs::path& path : cifar_files(location)) {
      const bool is_test = stem_of(path).find("test") != std::string::npos;
      files.push_back(read_cifar(path, is_test ? Part::kTest : Part::kTrain));
    }
    std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.part < b.part; });
  } else {
    files.push_back(read_cifar(location, Part::kUndivided));
  }
  check_same_kind(files);
  const CifarKind kind = files.front().records.kind;
  const ImageShape shape{options.channels.value_or(3), options.height.value_or(kCifarSide),
                         options.width.value_or(kCifarSide)};
  const auto dataset = std::make_shared<CifarDataset>(
      std::move(files), class_names(is_folder ? location : location.parent_path(), kind), shape);
  Source source;
  source.kind = kind == CifarKind::kCifar10 ? "CIFAR-10 files" : "CIFAR-100 files";
  for (std::size_t i = 0; i < dataset->size(); ++i) source.parts.push_back(dataset->part(i));
  source.dataset = dataset;
  note_empty_classes(source);
  return source;
}

}  // namespace evener::data
