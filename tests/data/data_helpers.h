// Small images and files for the tests of data/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/codecs/picture.h"
#include "data/dataset.h"
#include "support/run_program.h"

namespace evener::data::test {

using evener::test::TemporaryFolder;

/// A file of tests/golden/data (made by tests/golden/make_data_golden.py).
std::filesystem::path golden_file(const std::string& name);

std::string bytes_of(const std::filesystem::path& path);
/// Also creates the folders above it.
void write_bytes(const std::filesystem::path& path, std::string_view content);

/// A PNG file whose pixels all have one value per channel.
std::string plain_png(std::int64_t width, std::int64_t height, const std::vector<std::uint8_t>& color);
/// An interlaced PNG (Adam7) of an RGB picture.
std::string interlaced_png(const Picture& picture);
/// A CMYK picture (H, W, 4) as Adobe stores it, as JPEG of quality 100 in CMYK or in YCCK.
std::string cmyk_jpeg(const std::vector<std::uint8_t>& cmyk, std::int64_t width, std::int64_t height, bool as_ycck);

/// A chunk of a PNG file with its checksum.
std::string png_chunk(const std::string& name, const std::string& content);
/// A PNG file that claims a size, 8 bit RGB, with `data` as its compressed pixels.
std::string png_claiming(std::uint32_t width, std::uint32_t height, const std::string& data);

std::string gzipped(std::string_view content);
/// An IDX file with the given magic number and extents.
std::string idx_file(std::uint32_t magic, const std::vector<std::uint32_t>& extents, std::string_view values);

/// The message of the Error (or of a class derived from it) that `work` throws; a test failure if there is none.
std::string error_of(const std::function<void()>& work);

/// A dataset in memory: sample i has the label i % classes and pixels of value i % 251.
class CountingDataset : public ClassDataset {
 public:
  CountingDataset(std::size_t size, ImageShape shape, std::size_t classes = 2);

  std::size_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return static_cast<std::int32_t>(index % classes_.size()); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override;
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  std::size_t size_;
  ImageShape shape_;
  std::vector<std::string> classes_;
};

/// Black images in memory with the boxes that they are given: sample i has boxes[i]. Where a box is, the image has its
/// label plus 100, so that pixels show whether boxes moved along with them.
class BoxedDataset : public Dataset {
 public:
  BoxedDataset(ImageShape shape, std::vector<std::vector<LabelledBox>> boxes)
      : shape_(shape), boxes_(std::move(boxes)), classes_{"cat", "dog", "bird"} {}

  std::size_t size() const override { return boxes_.size(); }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  TargetKind target_kind() const override { return TargetKind::kBoxes; }
  SampleTargets targets(std::size_t index) const override { return boxes_[index]; }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override;
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  ImageShape shape_;
  std::vector<std::vector<LabelledBox>> boxes_;
  std::vector<std::string> classes_;
};

}  // namespace evener::data::test
