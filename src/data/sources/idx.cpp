// A folder with MNIST's four files (or two of them), or those of a set with such names.
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
#include "data/codecs/colour.h"
#include "data/resize.h"
#include "data/sources/binary_files.h"
#include "data/sources/folder_walk.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

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
  std::string file;
  {
    const PhaseMark mark(Phase::kRead);
    file = read_file(path, kMaxIdxBytes);
  }
  const PhaseMark mark(Phase::kDecode);
  try {
    return parse_idx(file, dimensions);
  } catch (const Error& error) {
    throw Error("the IDX file '" + path.string() + "' can't be used: " + error.what());
  }
}

struct IdxPart {
  Part part = Part::kTrain;
  fs::path images_path;
  IdxArray images;  // (N, H, W)
  IdxArray labels;  // (N)
};

std::optional<IdxPart> read_part(const IdxSet& set, Part part) {
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
  IdxPart read{part, images_path, read_idx(images_path, 3), read_idx(labels_path, 1)};
  if (read.images.extents[0] != read.labels.extents[0]) {
    throw Error("'" + images_path.string() + "' has " + std::to_string(read.images.extents[0]) + " images, but '" +
                labels_path.string() + "' " + std::to_string(read.labels.extents[0]) + " labels");
  }
  const std::int64_t height = read.images.extents[1], width = read.images.extents[2];
  if (height < 1 || width < 1 || height > kMaxExtent || width > kMaxExtent) {
    throw Error("'" + images_path.string() + "' has images of " + std::to_string(width) + "x" + std::to_string(height) +
                " pixels; 1x1 to " + std::to_string(kMaxExtent) + "x" + std::to_string(kMaxExtent) + " are possible");
  }
  return read;
}

class IdxDataset : public ClassDataset {
 public:
  IdxDataset(std::vector<IdxPart> parts, const ImageShape& shape) : parts_(std::move(parts)), shape_(shape) {
    std::uint8_t largest = 0;
    for (const IdxPart& part : parts_) {
      for (const std::uint8_t label : part.labels.values) largest = std::max(largest, label);
      size_ += part.labels.values.size();
    }
    for (int c = 0; c <= largest; ++c) classes_.push_back(std::to_string(c));
  }

  std::size_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return part->labels.values[place];
  }
  Part part(std::size_t index) const { return locate(index).first->part; }
  std::string source(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return part->images_path.string() + "#" + std::to_string(place);
  }

  const std::uint8_t* pixels(std::size_t index) const override {
    const auto [part, place] = locate(index);
    return stored_shape(*part) == shape_ ? part->images.values.data() + place * shape_.bytes() : nullptr;
  }

  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (const std::uint8_t* stored = pixels(index); stored != nullptr) {
      std::copy_n(stored, shape_.bytes(), chw.data());
      return;
    }
    const auto [part, place] = locate(index);
    const ImageShape stored = stored_shape(*part);
    Picture picture = Picture::unset(1, stored.height, stored.width);
    std::copy_n(part->images.values.data() + place * stored.bytes(), stored.bytes(), picture.pixels.get());
    write_planes(resize(std::move(picture), shape_.height, shape_.width), shape_.channels, chw);
  }

 private:
  static ImageShape stored_shape(const IdxPart& part) { return {1, part.images.extents[1], part.images.extents[2]}; }
  std::pair<const IdxPart*, std::size_t> locate(std::size_t index) const {
    const IdxPart* part = parts_.data();
    while (index >= part->labels.values.size()) index -= (part++)->labels.values.size();
    return {part, index};
  }

  std::vector<IdxPart> parts_;
  ImageShape shape_;
  std::size_t size_ = 0;
  std::vector<std::string> classes_;
};

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
  std::vector<IdxPart> parts;
  if (auto train = read_part(set, Part::kTrain)) parts.push_back(std::move(*train));
  if (auto test = read_part(set, Part::kTest)) parts.push_back(std::move(*test));
  const std::int64_t height = parts.front().images.extents[1], width = parts.front().images.extents[2];
  const ImageShape shape{options.channels.value_or(1), options.height.value_or(height), options.width.value_or(width)};

  const auto dataset = std::make_shared<IdxDataset>(std::move(parts), shape);
  if (dataset->size() == 0) throw Error("the IDX files of '" + folder.string() + "' hold no images");
  if (dataset->classes().size() < 2) {
    throw Error("only one class in the IDX files of '" + folder.string() +
                "': every label is 0; at least two are needed");
  }
  Source source;
  source.kind = "IDX files";
  for (std::size_t i = 0; i < dataset->size(); ++i) source.parts.push_back(dataset->part(i));
  source.dataset = dataset;
  note_empty_classes(source);
  if (prefix.starts_with("emnist")) {
    source.notes.push_back(
        "EMNIST stores its images with rows and columns exchanged: they are read as they are stored");
  }
  return source;
}

}  // namespace evener::data
