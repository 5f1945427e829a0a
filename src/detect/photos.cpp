#include "detect/photos.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/phase.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"

namespace evener::detection {
namespace {

class FilePhotos : public Photos {
 public:
  FilePhotos(data::Pictures pictures, const data::Preprocessing& steps)
      : Photos(steps), pictures_(std::move(pictures)) {}

  std::size_t size() const override { return pictures_.size(); }
  bool has(std::size_t index) const override { return pictures_.has(index); }
  const data::Pictures* pictures() const override { return &pictures_; }
  std::string name(std::size_t index) const override { return pictures_.source(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    data::Picture photo = pictures_.read(index);
    const PhaseMark mark(Phase::kDecode);
    keep_size(index, {photo.width, photo.height});
    data::preprocess(std::move(photo), steps_, values);
  }
  data::Picture picture(std::size_t index) const override { return pictures_.read(index); }
  std::optional<std::vector<TrueBox>> truth(std::size_t /*index*/) const override { return std::nullopt; }

 private:
  const data::Pictures pictures_;
};

class DatasetPhotos : public Photos {
 public:
  DatasetPhotos(std::shared_ptr<const data::Dataset> dataset, std::vector<std::uint32_t> indices,
                std::vector<std::int32_t> labels, const data::Preprocessing& steps)
      : Photos(steps), dataset_(std::move(dataset)), indices_(std::move(indices)), labels_(std::move(labels)) {}

  std::size_t size() const override { return indices_.size(); }
  std::string name(std::size_t index) const override { return dataset_->source(indices_[index]); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    dataset_->read(indices_[index], values);
    PhotoSize size{steps_.shape.width, steps_.shape.height};
    if (is_file(index)) {
      const PhaseMark mark(Phase::kRead);
      const data::PictureHeader header = data::read_picture_header(read_file(name(index)));
      size = {header.width, header.height};
    }
    keep_size(index, size);
  }

  data::Picture picture(std::size_t index) const override {
    if (is_file(index)) return data::decode_picture(read_file(name(index)));
    std::vector<std::uint8_t> values(steps_.shape.bytes());
    dataset_->read(indices_[index], values);
    if (steps_.shape.channels == 3) return data::from_planes(values, steps_.shape.height, steps_.shape.width);
    data::Picture picture = data::Picture::unset(1, steps_.shape.height, steps_.shape.width);
    std::ranges::copy(values, picture.pixels.get());
    return picture;
  }

  std::optional<std::vector<TrueBox>> truth(std::size_t index) const override {
    const PhotoPlace at = place(index);
    const PhotoSize size = photo_size(index);
    const auto back = [](float value, float offset, float scale, std::int64_t most) {
      return std::clamp((double{value} - double{offset}) / double{scale}, 0.0, static_cast<double>(most));
    };
    std::vector<TrueBox> boxes;
    const auto targets = dataset_->targets(indices_[index]);
    for (const data::LabelledBox& labelled : std::get<std::vector<data::LabelledBox>>(targets)) {
      TrueBox box(labelled);
      box.label = labels_.at(static_cast<std::size_t>(labelled.label));
      if (box.label < 0) continue;
      box.x1 = back(labelled.x1, at.left, at.scale_x, size.width);
      box.x2 = back(labelled.x2, at.left, at.scale_x, size.width);
      box.y1 = back(labelled.y1, at.top, at.scale_y, size.height);
      box.y2 = back(labelled.y2, at.top, at.scale_y, size.height);
      boxes.push_back(box);
    }
    return boxes;
  }

 private:
  /// Images that were made, or packed, have names such as "#17".
  bool is_file(std::size_t index) const {
    std::error_code ignored;
    return std::filesystem::is_regular_file(name(index), ignored);
  }

  const std::shared_ptr<const data::Dataset> dataset_;
  const std::vector<std::uint32_t> indices_;
  const std::vector<std::int32_t> labels_;
};

}  // namespace

Photos::Photos(const data::Preprocessing& steps)
    : steps_(steps), shape_({steps.shape.channels, steps.shape.height, steps.shape.width}) {}

void Photos::keep_size(std::size_t index, const PhotoSize& size) const {
  constexpr std::size_t kKept = 4096;  // of a camera's frames: it may run for weeks
  const std::scoped_lock lock(mutex_);
  sizes_[index] = size;
  if (live() != nullptr && index >= kKept) sizes_.erase(index - kKept);
}

PhotoSize Photos::photo_size(std::size_t index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sizes_.find(index);
  if (found == sizes_.end()) throw Error("the size of '" + name(index) + "' is asked for before it was read");
  return found->second;
}

PhotoPlace place_of(const PhotoSize& size, const data::Preprocessing& steps) {
  const data::PictureFrame frame = data::frame_of(size.width, size.height, steps);
  return {static_cast<float>(frame.scale_x), static_cast<float>(frame.scale_y), static_cast<float>(frame.left),
          static_cast<float>(frame.top)};
}

std::unique_ptr<Photos> photos_of(data::Pictures pictures, const data::Preprocessing& steps) {
  return std::make_unique<FilePhotos>(std::move(pictures), steps);
}

std::unique_ptr<Photos> photos_of(std::shared_ptr<const data::Dataset> dataset, std::vector<std::uint32_t> indices,
                                  std::vector<std::int32_t> labels, const data::Preprocessing& steps) {
  return std::make_unique<DatasetPhotos>(std::move(dataset), std::move(indices), std::move(labels), steps);
}

}  // namespace evener::detection
