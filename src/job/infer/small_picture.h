// Small pictures of images for pages, with class activation maps over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/image_shape.h"
#include "data/open/samples.h"
#include "task/activation_map.h"

namespace evener::job {

/// An image of 1 or 3 channels as (C, H, W).
struct SmallPicture {
  data::ImageShape shape;
  std::vector<std::uint8_t> planes;

  /// As PNG in base64.
  std::string text() const;
};

/// A sample as a picture, scaled down for a page. Throws Error where it can't be read.
SmallPicture small_picture(const data::Samples& samples, std::size_t index);

/// The picture in grey with the map over it: orange, the less transparent the more a place spoke for the class.
SmallPicture with_map(const SmallPicture& picture, const task::ActivationMap& map);

}  // namespace evener::job
