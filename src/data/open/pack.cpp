#include "data/open/pack.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "base/files.h"
#include "base/utf8.h"
#include "data/each_index.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 20;  // decoded ahead of being written

/// The targets of the images as the file stores them: labels, or boxes.
struct PackedTargets {
  TargetKind kind = TargetKind::kClasses;
  std::vector<std::int32_t> labels;  // of images, or of boxes
  std::vector<std::int32_t> counts;  // of boxes, for each image
  std::vector<float> corners;
  std::vector<std::uint8_t> flags;
};

PackedTargets targets_of(const Dataset& dataset) {
  PackedTargets packed;
  packed.kind = dataset.target_kind();
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const SampleTargets targets = dataset.targets(i);
    if (const auto* label = std::get_if<std::int32_t>(&targets)) {
      packed.labels.push_back(*label);
      continue;
    }
    const auto& boxes = std::get<std::vector<LabelledBox>>(targets);
    packed.counts.push_back(static_cast<std::int32_t>(boxes.size()));
    for (const LabelledBox& box : boxes) {
      packed.corners.insert(packed.corners.end(), {box.x1, box.y1, box.x2, box.y2});
      packed.labels.push_back(box.label);
      packed.flags.push_back(packed_flags(box));
    }
  }
  return packed;
}

/// In the order in which they are written: floats first, so that all lie at multiples of their size.
std::vector<weights::TensorDescription> tensors_of(std::size_t images, const ImageShape& shape,
                                                   const PackedTargets& targets) {
  const auto count = static_cast<std::int64_t>(images);
  const auto boxes = static_cast<std::int64_t>(targets.flags.size());
  std::vector<weights::TensorDescription> tensors;
  if (targets.kind == TargetKind::kBoxes) {
    tensors = {{"corners", DType::kF32, {boxes, 4}},
               {"box_counts", DType::kI32, {count}},
               {"box_labels", DType::kI32, {boxes}}};
  } else {
    tensors = {{"labels", DType::kI32, {count}}};
  }
  tensors.push_back({"images", DType::kU8, {count, shape.channels, shape.height, shape.width}});
  tensors.push_back({"parts", DType::kU8, {count}});
  if (targets.kind == TargetKind::kBoxes) tensors.push_back({"box_flags", DType::kU8, {boxes}});
  return tensors;
}

weights::Metadata metadata_of(const OpenedData& data, const std::string& source, int threads) {
  weights::Metadata metadata{{"format", kPackFormat},
                             {"source", to_utf8_text(source)},
                             {"classes", weights::metadata_text(data.dataset->classes())}};
  if (data.split.train.empty()) return metadata;
  const ChannelStatistics statistics = channel_statistics(*data.dataset, data.split.train, threads);
  metadata["mean"] = nlohmann::json(statistics.mean).dump();
  metadata["deviation"] = nlohmann::json(statistics.standard_deviation).dump();
  return metadata;
}

template <typename Value>
void write_values(std::ostream& out, const std::vector<Value>& values) {
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(Value)));
}

void write_images(std::ostream& out, const Dataset& dataset, int threads) {
  const std::size_t bytes = dataset.shape().bytes();
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes / bytes);
  std::vector<std::uint8_t> pixels(std::min(block, dataset.size()) * bytes);
  for (std::size_t begin = 0; begin < dataset.size() && out; begin += block) {
    const std::size_t count = std::min(block, dataset.size() - begin);
    for_each_index(count, threads,
                   [&](std::size_t i) { dataset.read(begin + i, std::span(pixels).subspan(i * bytes, bytes)); });
    out.write(reinterpret_cast<const char*>(pixels.data()), static_cast<std::streamsize>(count * bytes));
  }
}

std::vector<std::uint8_t> parts_of(const OpenedData& data) {
  std::vector<std::uint8_t> parts(data.dataset->size(), kPackedUnused);
  for (const std::uint32_t sample : data.split.train) parts[sample] = kPackedTrain;
  for (const std::uint32_t sample : data.split.val) parts[sample] = kPackedVal;
  for (const std::uint32_t sample : data.split.test) parts[sample] = kPackedTest;
  return parts;
}

}  // namespace

std::uint64_t packed_bytes(std::size_t images, const ImageShape& shape) {
  constexpr std::uint64_t kHeaderBytes = 4096;
  return weights::data_bytes(tensors_of(images, shape, {})) + kHeaderBytes;
}

void require_room_for_pack(std::size_t images, const ImageShape& shape, const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  require_writable_directory(folder.empty() ? "." : folder, packed_bytes(images, shape));
}

void write_packed(const OpenedData& data, const std::string& source, const std::filesystem::path& file, int threads) {
  const Dataset& dataset = *data.dataset;
  require_room_for_pack(dataset.size(), dataset.shape(), file);
  const PackedTargets targets = targets_of(dataset);
  weights::write_safetensors(file, tensors_of(dataset.size(), dataset.shape(), targets),
                             metadata_of(data, source, threads), [&](std::ostream& out) {
                               write_values(out, targets.corners);
                               write_values(out, targets.counts);
                               write_values(out, targets.labels);
                               write_images(out, dataset, threads);
                               write_values(out, parts_of(data));
                               write_values(out, targets.flags);
                             });
}

}  // namespace evener::data
