// Files of `evener data pack`: mapped into memory, so that nothing is decoded and processes share the pages.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/error.h"
#include "data/boxes.h"
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

class PackedDataset : public Dataset {
 public:
  explicit PackedDataset(const fs::path& path) : path_(path), layout_(checked_layout(path)), file_(path) {
    const auto& images = tensor_of(layout_, path, "images", DType::kU8, 4);
    shape_ = {images.shape[1], images.shape[2], images.shape[3]};
    classes_ = list_of<std::string>(layout_, path, "classes");
    count_ = static_cast<std::size_t>(std::max<std::int64_t>(images.shape[0], 0));
    // Targets and parts are copied, as they are used as indices: in the file they may change after they were checked.
    parts_ = values_of<std::uint8_t>("parts", DType::kU8);
    require_count(parts_.size(), "parts");
    check_shape();
    images_ = bytes_of(images);
    if (layout_.find("box_counts") != nullptr) {
      read_boxes();
    } else {
      labels_ = values_of<std::int32_t>("labels", DType::kI32);
      require_count(labels_.size(), "labels");
    }
    check_values();
  }

  std::size_t size() const override { return count_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  TargetKind target_kind() const override { return labels_.empty() ? TargetKind::kBoxes : TargetKind::kClasses; }
  SampleTargets targets(std::size_t index) const override {
    if (!labels_.empty()) return labels_[index];
    return boxes_[index];
  }
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

  /// Where a tensor lies. The file may have changed since its header was read.
  const std::uint8_t* bytes_of(const weights::SafetensorsLayout::Tensor& tensor) const {
    if (file_.bytes().size() < tensor.begin + tensor.bytes) fail(path_, "it was cut short while it was opened");
    return reinterpret_cast<const std::uint8_t*>(file_.bytes().data()) + tensor.begin;
  }

  template <class Value>
  std::vector<Value> values_of(const std::string& name, DType dtype, std::size_t rank = 1) const {
    const auto& tensor = tensor_of(layout_, path_, name, dtype, rank);
    std::vector<Value> values(tensor.bytes / sizeof(Value));
    if (!values.empty()) std::memcpy(values.data(), bytes_of(tensor), tensor.bytes);
    return values;
  }

  void require_count(std::size_t values, const char* name) const {
    if (values == count_) return;
    fail(path_, "it has " + std::to_string(count_) + " images and " + std::to_string(values) + " " + name);
  }

  void read_boxes() {
    const auto counts = values_of<std::int32_t>("box_counts", DType::kI32);
    const auto corners = values_of<float>("corners", DType::kF32, 2);
    const auto labels = values_of<std::int32_t>("box_labels", DType::kI32);
    const auto flags = values_of<std::uint8_t>("box_flags", DType::kU8);
    require_count(counts.size(), "numbers of boxes");
    std::size_t total = 0;
    for (const std::int32_t count : counts) total += count < 0 ? labels.size() + 1 : static_cast<std::size_t>(count);
    if (total != labels.size() || corners.size() != total * 4 || flags.size() != total) {
      fail(path_, "its boxes are " + std::to_string(total) + " by their numbers, " + std::to_string(labels.size()) +
                      " by their labels, " + std::to_string(corners.size() / 4) + " by their corners and " +
                      std::to_string(flags.size()) + " by their flags");
    }
    std::size_t next = 0;
    boxes_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::int32_t k = 0; k < counts[i]; ++k, ++next) {
        LabelledBox box{corners[next * 4], corners[next * 4 + 1], corners[next * 4 + 2], corners[next * 4 + 3],
                        labels[next]};
        set_packed_flags(flags[next], box);
        check_box(box, i);
        boxes_[i].push_back(box);
      }
    }
  }

  void check_box(const LabelledBox& box, std::size_t image) const {
    LabelledBox inside = box;
    clip_box(shape_, inside);
    if (inside != box || !has_area(box)) {  // also where a corner is no number
      fail(path_, "image " + std::to_string(image) + " has a box without area or beyond its edges");
    }
    check_label(box.label, image);
  }

  void check_label(std::int32_t label, std::size_t image) const {
    if (label >= 0 && static_cast<std::size_t>(label) < classes_.size()) return;
    fail(path_, "image " + std::to_string(image) + " has the label " + std::to_string(label) + " of " +
                    std::to_string(classes_.size()) + " classes");
  }

  void check_shape() const {
    const bool has_channels = shape_.channels == 1 || shape_.channels == 3;
    const bool has_extents =
        shape_.height >= 1 && shape_.width >= 1 && shape_.height <= kMaxExtent && shape_.width <= kMaxExtent;
    if (!has_channels || !has_extents) {
      fail(path_, "its images are " + shape_text({shape_.channels, shape_.height, shape_.width}) +
                      " (channels, height, width)");
    }
    const std::size_t needed = layout_.find("box_counts") != nullptr ? 1 : 2;
    if (classes_.size() < needed) {
      fail(path_, "it has " + std::to_string(classes_.size()) + " classes; " + (needed == 1 ? "one is" : "two are") +
                      " needed");
    }
  }

  void check_values() const {
    if (count_ == 0) fail(path_, "it holds no images");
    for (std::size_t i = 0; i < labels_.size(); ++i) check_label(labels_[i], i);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
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
  std::size_t count_ = 0;
  std::vector<std::int32_t> labels_;             // empty: there are boxes
  std::vector<std::vector<LabelledBox>> boxes_;  // empty: there are labels
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
