#include "data/png_encode.h"

#include <png.h>

#include <vector>

#include "base/error.h"

namespace evener::data {

std::string encode_png(const ImageShape& shape, std::span<const std::uint8_t> chw) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t plane = static_cast<std::size_t>(shape.height * shape.width);
  std::vector<std::uint8_t> interleaved(shape.bytes());
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) interleaved[i * channels + c] = chw[c * plane + i];
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(shape.width);
  image.height = static_cast<png_uint_32>(shape.height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, 0, interleaved.data(), 0, nullptr) == 0) {
    throw Error(std::string("can't encode a PNG file: ") + image.message);
  }
  file.resize(size);
  return file;
}

}  // namespace evener::data
