// Decodes arbitrary bytes as an image, brings it to a small size, and reads it as EXIF data. Its header must have told
// what came.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/codecs/exif.h"
#include "data/resize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace evener::data;
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  exif_orientation(file);
  try {
    // Large ones are fine for users, but would keep the fuzzer from trying much.
    const PictureHeader header = read_picture_header(file);
    if (header.width * header.height > std::int64_t{1} << 20) return 0;
    Picture decoded = decode_picture(file);
    const bool as_announced =
        decoded.channels == header.channels && decoded.height == header.height && decoded.width == header.width;
    if (!as_announced) std::abort();
    Picture picture = resize(std::move(decoded), 7, 11);
    std::vector<std::uint8_t> planes(3 * 7 * 11);
    write_planes(picture, 3, planes);
    to_grey(std::move(picture));
    resize(decode_picture_fast(file, 7, 11), 7, 11);
  } catch (const evener::Error&) {
  }
  return 0;
}
