// The photos that a detector looks at: prepared for its network, each with its own size, and with the boxes on it where
// they are known.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "data/codecs/picture.h"
#include "data/dataset.h"
#include "data/open/pictures.h"
#include "data/open/samples.h"
#include "data/preprocess.h"
#include "detect/decoders/boxes.h"
#include "detect/judge/judge.h"

namespace evener::detection {

/// Where a photo of that size lies on the image that data::preprocess() makes of it by `steps`.
PhotoPlace place_of(const PhotoSize& size, const data::Preprocessing& steps);

class Photos : public data::Samples {
 public:
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  /// How photos become what the network sees.
  const data::Preprocessing& steps() const { return steps_; }
  /// The size of a photo. Known only once the photo was read: throws Error otherwise.
  PhotoSize photo_size(std::size_t index) const;
  /// Where the photo lies on the network's image. Throws as photo_size().
  PhotoPlace place(std::size_t index) const { return place_of(photo_size(index), steps_); }
  /// The photo at its own size. Thread-safe. Throws Error with the reason alone.
  virtual data::Picture picture(std::size_t index) const = 0;
  /// The known boxes on the photo, in its own pixels; absent where they aren't known.
  virtual std::optional<std::vector<TrueBox>> truth(std::size_t index) const = 0;

 protected:
  explicit Photos(const data::Preprocessing& steps);
  void keep_size(std::size_t index, const PhotoSize& size) const;

  const data::Preprocessing steps_;

 private:
  const std::vector<std::int64_t> shape_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::size_t, PhotoSize> sizes_;  // how many there will be isn't known of a camera
};

/// Files without boxes.
std::unique_ptr<Photos> photos_of(data::Pictures pictures, const data::Preprocessing& steps);

/// The samples `indices` of a dataset with boxes, which was opened with `steps`. `labels`: the network's class for each
/// class of the dataset; boxes of classes with -1, which the network doesn't have, are left out.
std::unique_ptr<Photos> photos_of(std::shared_ptr<const data::Dataset> dataset, std::vector<std::uint32_t> indices,
                                  std::vector<std::int32_t> labels, const data::Preprocessing& steps);

}  // namespace evener::detection
