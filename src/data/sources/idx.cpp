// A folder with MNIST's four files (or two of them).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/phase.h"
#include "data/codecs/colour.h"
#include "data/resize.h"
#include "data/sources/idx_file.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 34;

/// The file of `part` ("train", "t10k") and `what` ("images-idx3") under any of its spellings.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& part, const std::string& what, int rank) {
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      const fs::path path = folder / (part + "-" + what + separator + "idx" + std::to_string(rank) + "-ubyte" + ending);
      std::error_code error;
      if (fs::is_regular_file(path, error)) return path;
    }
  }
  return std::nullopt;
}

IdxArray read_idx(const fs::path& path, int dimensions) {
  std::string file;
  {
    const PhaseMark mark(Phase::kRead);
    file = read_file(path, kMaxFileBytes);
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

std::optional<IdxPart> read_part(const fs::path& folder, Part part, const std::string& name) {
  const auto images = find_file(folder, name, "images", 3);
  const auto labels = find_file(folder, name, "labels", 1);
  if (!images && !labels) return std::nullopt;
  if (!images || !labels) {
    throw Error("'" + (images ? *images : *labels).string() + "' needs '" + name +
                (images ? "-labels-idx1" : "-images-idx3") + "-ubyte' (or .gz) beside it, which is missing");
  }
  IdxPart read{part, *images, read_idx(*images, 3), read_idx(*labels, 1)};
  if (read.images.extents[0] != read.labels.extents[0]) {
    throw Error("'" + images->string() + "' has " + std::to_string(read.images.extents[0]) + " images, but '" +
                labels->string() + "' " + std::to_string(read.labels.extents[0]) + " labels");
  }
  const std::int64_t height = read.images.extents[1], width = read.images.extents[2];
  if (height < 1 || width < 1 || height > kMaxExtent || width > kMaxExtent) {
    throw Error("'" + images->string() + "' has images of " + std::to_string(width) + "x" + std::to_string(height) +
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
  for (const char* part : {"train", "t10k"}) {
    if (find_file(folder, part, "images", 3) || find_file(folder, part, "labels", 1)) return true;
  }
  return false;
}

Source open_idx(const fs::path& folder, const DataOptions& options) {
  std::vector<IdxPart> parts;
  if (auto train = read_part(folder, Part::kTrain, "train")) parts.push_back(std::move(*train));
  if (auto test = read_part(folder, Part::kTest, "t10k")) parts.push_back(std::move(*test));
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
  return source;
}

}  // namespace evener::data
