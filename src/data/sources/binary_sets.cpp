// Data sets whose images lie one after the other in binary files: a folder with MNIST's four files (or two of them), or
// those of a set with such names; CIFAR-10 and CIFAR-100, a folder with the published files, or one such file.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
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

/// Images of one shape with their labels, as they lie in a file.
struct StoredPart {
  fs::path path;
  Part part = Part::kUndivided;
  ImageShape shape;
  std::size_t before = 0;  // bytes before each image, of which the last one is its label
  PageBytes images;
  PageBytes labels;  // where none stand before the images

  std::size_t step() const { return before + shape.bytes(); }
  std::size_t size() const { return images.size() / step(); }
  const std::uint8_t* image(std::size_t place) const { return images.data() + place * step() + before; }
  std::uint8_t label(std::size_t place) const { return before > 0 ? image(place)[-1] : labels[place]; }
};

class StoredDataset : public ClassDataset {
 public:
  StoredDataset(std::vector<StoredPart> parts, std::vector<std::string> classes, const ImageShape& shape)
      : parts_(std::move(parts)), classes_(std::move(classes)), shape_(shape) {
    for (const StoredPart& part : parts_) size_ += part.size();
  }

  std::size_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return part->label(place);
  }
  Part part(std::size_t index) const { return locate(index).first->part; }
  std::string source(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return part->path.string() + "#" + std::to_string(place);
  }

  const std::uint8_t* pixels(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return part->shape == shape_ ? part->image(place) : nullptr;
  }

  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    const auto [part, place] = locate(index);
    const auto& [channels, height, width] = part->shape;
    if (part->shape == shape_) {
      std::copy_n(part->image(place), shape_.bytes(), chw.data());
      return;
    }
    Picture picture;
    if (channels == 3) {
      picture = from_planes({part->image(place), part->shape.bytes()}, height, width);
      if (shape_.channels == 1) picture = to_grey(std::move(picture));
    } else {
      picture = Picture::unset(1, height, width);
      std::copy_n(part->image(place), part->shape.bytes(), picture.pixels.get());
    }
    write_planes(resize(std::move(picture), shape_.height, shape_.width), shape_.channels, chw);
  }

 private:
  std::pair<const StoredPart*, std::size_t> locate(std::size_t index) const {
    const StoredPart* part = parts_.data();
    while (index >= part->size()) index -= (part++)->size();
    return {part, index};
  }

  std::vector<StoredPart> parts_;
  std::vector<std::string> classes_;
  ImageShape shape_;
  std::size_t size_ = 0;
};

/// The data in the shape that is asked for, or in that of its first part.
Source source_of(const char* kind, std::vector<StoredPart> parts, std::vector<std::string> classes,
                 const DataOptions& options) {
  const ImageShape stored = parts.front().shape;
  const ImageShape shape{options.channels.value_or(stored.channels), options.height.value_or(stored.height),
                         options.width.value_or(stored.width)};
  const auto dataset = std::make_shared<StoredDataset>(std::move(parts), std::move(classes), shape);
  Source source;
  source.kind = kind;
  for (std::size_t i = 0; i < dataset->size(); ++i) source.parts.push_back(dataset->part(i));
  source.dataset = dataset;
  note_empty_classes(source);
  return source;
}

/// What `parse` makes of a file's content. Throws Error naming the file, which is of such a kind.
template <class Parse>
auto read_parsed(const fs::path& path, std::uint64_t most_bytes, const char* kind, const Parse& parse) {
  std::string file;
  {
    const PhaseMark mark(Phase::kRead);
    file = read_file(path, most_bytes);
  }
  const PhaseMark mark(Phase::kDecode);
  try {
    return parse(file);
  } catch (const Error& error) {
    throw Error("the " + std::string(kind) + " file '" + path.string() + "' can't be used: " + error.what());
  }
}

constexpr std::uint64_t kMaxIdxBytes = std::uint64_t{1} << 34;

/// The files of one set, such as MNIST's four.
struct IdxSet {
  std::map<Part, fs::path> images, labels;
};

bool has_idx_name(const fs::path& path) {
  return parse_idx_name(path).has_value();
}

/// Where a name stands for a folder, as some archives are unpacked, the file of such a name in it; else the path.
fs::path file_within(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  const std::vector<fs::path> inner = entries_in(path, has_idx_name);
  return inner.empty() ? path : inner.front();
}

/// By what stands before "train-images": "" or "emnist-letters-". Of a file that lies there twice the one that isn't in
/// a folder of its name, and then the unpacked one, is taken.
std::map<std::string, IdxSet> find_sets(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::path& path : entries_in(folder, has_idx_name)) found.push_back(file_within(path));
  const auto rank = [&folder](const fs::path& path) {
    return std::tuple(path.parent_path() != folder, path.extension() == ".gz", path);
  };
  std::ranges::sort(found, {}, rank);
  std::map<std::string, IdxSet> sets;
  for (const fs::path& path : found) {
    if (!fs::is_regular_file(path, error)) continue;
    const IdxName name = *parse_idx_name(path);
    IdxSet& set = sets[name.prefix];
    (name.has_images ? set.images : set.labels).try_emplace(name.is_test ? Part::kTest : Part::kTrain, path);
  }
  return sets;
}

IdxArray read_idx(const fs::path& path, int dimensions) {
  return read_parsed(path, kMaxIdxBytes, "IDX", [&](const std::string& file) { return parse_idx(file, dimensions); });
}

std::optional<StoredPart> read_idx_part(const IdxSet& set, Part part) {
  const auto images = set.images.find(part), labels = set.labels.find(part);
  const bool has_images = images != set.images.end(), has_labels = labels != set.labels.end();
  if (!has_images && !has_labels) return std::nullopt;
  if (!has_images || !has_labels) {
    const fs::path& there = has_images ? images->second : labels->second;
    const std::string name = parse_idx_name(there)->prefix + (part == Part::kTrain ? "train" : "t10k");
    throw Error("'" + there.string() + "' needs '" + name + (has_images ? "-labels-idx1" : "-images-idx3") +
                "-ubyte' (or .gz) beside it, which is missing");
  }
  const fs::path &images_path = images->second, &labels_path = labels->second;
  IdxArray pixels = read_idx(images_path, 3), classes = read_idx(labels_path, 1);  // (N, H, W), (N)
  if (pixels.extents[0] != classes.extents[0]) {
    throw Error("'" + images_path.string() + "' has " + std::to_string(pixels.extents[0]) + " images, but '" +
                labels_path.string() + "' " + std::to_string(classes.extents[0]) + " labels");
  }
  const std::int64_t height = pixels.extents[1], width = pixels.extents[2];
  if (height < 1 || width < 1 || height > kMaxExtent || width > kMaxExtent) {
    throw Error("'" + images_path.string() + "' has images of " + std::to_string(width) + "x" + std::to_string(height) +
                " pixels; 1x1 to " + std::to_string(kMaxExtent) + "x" + std::to_string(kMaxExtent) + " are possible");
  }
  return StoredPart{images_path, part, {1, height, width}, 0, std::move(pixels.values), std::move(classes.values)};
}

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
  StoredPart stored;
  CifarKind kind = CifarKind::kCifar10;
};

CifarFile read_cifar(const fs::path& path, Part part) {
  const std::string stem = stem_of(path);
  const bool is_100_name = stem == "train" || stem == "test" || stem.starts_with("cifar100");
  CifarRecords records = read_parsed(path, kMaxCifarBytes, "CIFAR", [&](const std::string& file) {
    return parse_cifar(file, is_100_name ? CifarKind::kCifar100 : CifarKind::kCifar10);
  });
  return {{path, part, {3, kCifarSide, kCifarSide}, records.label_bytes(), std::move(records.bytes), {}}, records.kind};
}

/// The classes' names out of the text file beside the data, else their numbers.
std::vector<std::string> cifar_class_names(const fs::path& folder, CifarKind kind) {
  const fs::path path = folder / (kind == CifarKind::kCifar10 ? "batches.meta.txt" : "fine_label_names.txt");
  std::vector<std::string> names;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    names = read_list(path, 1 << 20);
    if (names.size() != class_count(kind)) {
      throw Error("'" + path.string() + "' has " + std::to_string(names.size()) + " names, but the data has " +
                  std::to_string(class_count(kind)) + " classes; one name per line is expected");
    }
    return names;
  }
  for (std::size_t c = 0; c < class_count(kind); ++c) names.push_back(std::to_string(c));
  return names;
}

void check_same_kind(const std::vector<CifarFile>& files) {
  for (const CifarFile& file : files) {
    if (file.kind == files.front().kind) continue;
    throw Error("'" + files.front().stored.path.string() + "' and '" + file.stored.path.string() +
                "' lie in one folder, but one is of CIFAR-10 and the other of CIFAR-100; keep them apart");
  }
}

}  // namespace

bool is_idx_folder(const fs::path& folder) {
  return !find_sets(folder).empty();
}

Source open_idx(const fs::path& folder, const DataOptions& options) {
  const std::map<std::string, IdxSet> sets = find_sets(folder);
  if (sets.size() > 1) {
    std::string names;
    for (const auto& [prefix, set] : sets) names += (names.empty() ? "'" : ", '") + prefix + "train-images...'";
    throw Error("'" + folder.string() + "' has the IDX files of " + std::to_string(sets.size()) + " sets (" + names +
                "): put those of the one to read into a folder of their own");
  }
  const auto& [prefix, set] = *sets.begin();
  std::vector<StoredPart> parts;
  std::uint8_t largest = 0;
  for (const Part each : {Part::kTrain, Part::kTest}) {
    auto part = read_idx_part(set, each);
    if (!part) continue;
    for (const std::uint8_t label : part->labels) largest = std::max(largest, label);
    parts.push_back(std::move(*part));
  }
  if (std::ranges::all_of(parts, [](const StoredPart& part) { return part.size() == 0; })) {
    throw Error("the IDX files of '" + folder.string() + "' hold no images");
  }
  if (largest == 0) {
    throw Error("only one class in the IDX files of '" + folder.string() +
                "': every label is 0; at least two are needed");
  }
  std::vector<std::string> classes;
  for (int number = 0; number <= largest; ++number) classes.push_back(std::to_string(number));
  Source source = source_of("IDX files", std::move(parts), std::move(classes), options);
  if (prefix.starts_with("emnist")) {
    source.notes.push_back(
        "EMNIST stores its images with rows and columns exchanged: they are read as they are stored");
  }
  return source;
}

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
  for (const fs::path& path : is_folder ? cifar_files(location) : std::vector{location}) {
    const bool is_test = stem_of(path).find("test") != std::string::npos;
    files.push_back(read_cifar(path, !is_folder ? Part::kUndivided : is_test ? Part::kTest : Part::kTrain));
  }
  std::ranges::stable_sort(files, {}, [](const CifarFile& file) { return file.stored.part; });
  check_same_kind(files);
  const CifarKind kind = files.front().kind;
  std::vector<StoredPart> parts;
  for (CifarFile& file : files) parts.push_back(std::move(file.stored));
  return source_of(kind == CifarKind::kCifar10 ? "CIFAR-10 files" : "CIFAR-100 files", std::move(parts),
                   cifar_class_names(is_folder ? location : location.parent_path(), kind), options);
}

}  // namespace evener::data
