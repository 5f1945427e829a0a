// Files of `evener data pack`: mapped into memory, so that nothing is decoded and processes share the pages.
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "data/pack.h"
#include "data/sources/packed_parts.h"
#include "data/sources/source.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error("'" + path.string() + "' is not a usable packed file: " + what +
              "; 'evener data pack SOURCE --out FILE.safetensors' makes one");
}

const weights::SafetensorsLayout::Tensor& tensor_of(const weights::SafetensorsLayout& layout, const fs::path& path,
                                                    const std::string& name, DType dtype, std::size_t rank) {
  const auto* tensor = layout.find(name);
  if (tensor == nullptr) fail(path, "it has no tensor '" + name + "'");
  if (tensor->dtype != dtype || tensor->shape.size() != rank) {
    fail(path, "its tensor '" + name + "' has another type or shape (" + shape_text(tensor->shape) + ") than expected");
  }
  return *tensor;
}

/// A list out of the metadata. `absent_is_empty`: a file without training samples has no statistics.
template <typename Value>
std::vector<Value> list_of(const weights::SafetensorsLayout& layout, const fs::path& path, const std::string& key,
                           bool absent_is_empty = false) {
  const auto found = layout.metadata.find(key);
  if (found == layout.metadata.end()) {
    if (absent_is_empty) return {};
    fail(path, "its metadata has no '" + key + "'");
  }
  try {
    return weights::metadata_value(found->second).get<std::vector<Value>>();
  } catch (const json::exception&) {
    fail(path, "its metadata has a '" + key + "' that is not the list expected");
  }
}

class PackedDataset : public ClassDataset {
 public:
  explicit PackedDataset(const fs::path& path) : path_(path), layout_(checked_layout(path)), file_(path) {
    const auto& images = tensor_of(layout_, path, "images", DType::kU8, 4);
    const auto& labels = tensor_of(layout_, path, "labels", DType::kI32, 1);
    const auto& parts = tensor_of(layout_, path, "parts", DType::kU8, 1);
    shape_ = {images.shape[1], images.shape[2], images.shape[3]};
    classes_ = list_of<std::string>(layout_, path, "classes");
    const std::int64_t count = images.shape[0];
    if (labels.shape[0] != count || parts.shape[0] != count) {
      fail(path, "it has " + std::to_string(count) + " images, " + std::to_string(labels.shape[0]) + " labels and " +
                     std::to_string(parts.shape[0]) + " parts");
    }
    check_shape();
    // The file may have changed since its header was read.
    if (file_.bytes().size() < images.begin + images.bytes || file_.bytes().size() < labels.begin + labels.bytes ||
        file_.bytes().size() < parts.begin + parts.bytes) {
      fail(path, "it was cut short while it was opened");
    }
    images_ = file_.bytes().data() + images.begin;
    const auto* first_part = reinterpret_cast<const std::uint8_t*>(file_.bytes().data() + parts.begin);
    parts_.assign(first_part, first_part + parts.bytes);
    // Labels and parts are copied, as they are used as indices: in the file they may change after they were checked.
    labels_.resize(static_cast<std::size_t>(count));
    std::memcpy(labels_.data(), file_.bytes().data() + labels.begin, labels.bytes);
    check_values();
  }

  std::size_t size() const override { return labels_.size(); }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return labels_[index]; }
  std::string source(std::size_t index) const override { return path_.string() + "#" + std::to_string(index); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    std::memcpy(chw.data(), pixels(index), shape_.bytes());
  }
  const std::uint8_t* pixels(std::size_t index) const override { return images_ + index * shape_.bytes(); }

  Part part(std::size_t index) const {
    static constexpr std::array<Part, 4> kParts = {Part::kTrain, Part::kVal, Part::kTest, Part::kUnused};
    return kParts[parts_[index]];
  }

  std::optional<ChannelStatistics> statistics() const {
    ChannelStatistics statistics{list_of<float>(layout_, path_, "mean", true),
                                 list_of<float>(layout_, path_, "deviation", true)};
    const auto channels = static_cast<std::size_t>(shape_.channels);
    if (statistics.mean.empty() && statistics.standard_deviation.empty()) return std::nullopt;
    bool is_usable = statistics.mean.size() == channels && statistics.standard_deviation.size() == channels;
    for (const float value : statistics.mean) is_usable = is_usable && std::isfinite(value);
    for (const float value : statistics.standard_deviation) is_usable = is_usable && std::isfinite(value) && value > 0;
    if (!is_usable) fail(path_, "its 'mean' or 'deviation' is not one usable number for each channel");
    return statistics;
  }

 private:
  static weights::SafetensorsLayout checked_layout(const fs::path& path) {
    weights::SafetensorsLayout layout = weights::read_safetensors_layout(path);
    const auto format = layout.metadata.find("format");
    if (format == layout.metadata.end()) fail(path, "its metadata has no 'format'");
    if (format->second != kPackFormat) {
      fail(path, "its format is '" + format->second + "', not '" + kPackFormat + "'");
    }
    return layout;
  }

  void check_shape() const {
    const bool has_channels = shape_.channels == 1 || shape_.channels == 3;
    const bool has_extents =
        shape_.height >= 1 && shape_.width >= 1 && shape_.height <= kMaxExtent && shape_.width <= kMaxExtent;
    if (!has_channels || !has_extents) {
      fail(path_, "its images are " + shape_text({shape_.channels, shape_.height, shape_.width}) +
                      " (channels, height, width)");
    }
    if (classes_.size() < 2) fail(path_, "it has " + std::to_string(classes_.size()) + " classes; two are needed");
  }

  void check_values() const {
    if (labels_.empty()) fail(path_, "it holds no images");
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i] < 0 || static_cast<std::size_t>(labels_[i]) >= classes_.size()) {
        fail(path_, "image " + std::to_string(i) + " has the label " + std::to_string(labels_[i]) + " of " +
                        std::to_string(classes_.size()) + " classes");
      }
      if (parts_[i] > kPackedUnused) {
        fail(path_, "image " + std::to_string(i) + " is in the part " + std::to_string(parts_[i]) + "; 0 to 3 exist");
      }
    }
  }

  fs::path path_;
  weights::SafetensorsLayout layout_;
  MappedFile file_;
  ImageShape shape_;
  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;
  const std::uint8_t* images_ = nullptr;
  std::vector<std::uint8_t> parts_;
};

/// The images are as they are; other sizes need the source.
void check_options(const PackedDataset& dataset, const DataOptions& options) {
  const ImageShape shape = dataset.shape();
  const ImageShape wanted{options.channels.value_or(shape.channels), options.height.value_or(shape.height),
                          options.width.value_or(shape.width)};
  if (wanted == shape) return;
  throw UsageError("'" + options.location + "' holds images of " + std::to_string(shape.width) + "x" +
                   std::to_string(shape.height) + " pixels in " + std::to_string(shape.channels) + " channel(s), not " +
                   std::to_string(wanted.width) + "x" + std::to_string(wanted.height) + " in " +
                   std::to_string(wanted.channels) + "; pack the source again with that --size and --channels");
}

}  // namespace

Source open_packed(const fs::path& file, const DataOptions& options) {
  const auto dataset = std::make_shared<PackedDataset>(file);
  check_options(*dataset, options);
  Source source;
  source.kind = "packed file";
  source.is_divided = true;
  for (std::size_t i = 0; i < dataset->size(); ++i) source.parts.push_back(dataset->part(i));
  source.statistics = dataset->statistics();
  source.dataset = dataset;
  return source;
}

}  // namespace evener::data
