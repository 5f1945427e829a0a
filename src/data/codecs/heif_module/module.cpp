// HEIC and other HEIF files through libheif, which crops, turns and mirrors as the file says: EXIF data is ignored.
// Each picture is decoded in the calling thread, as many are decoded at the same time.
#include <libheif/heif.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/exif.h"
#include "data/codecs/heif_module/item_properties.h"
#include "data/codecs/photo_decoder.h"

namespace evener::data::heif_module {
namespace {

struct Free {
  void operator()(heif_context* context) const { heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { heif_image_release(image); }
  void operator()(heif_decoding_options* options) const { heif_decoding_options_free(options); }
};
template <class Type>
using Held = std::unique_ptr<Type, Free>;

constexpr const char* kNoDecoder =
    "libheif has no decoder of HEVC on this machine (Debian 13, Ubuntu 24.04: libheif-plugin-libde265)";

void check(const heif_error& error) {
  if (error.code == heif_error_Ok) return;
  if (error.code == heif_error_Memory_allocation_error && error.subcode != heif_suberror_Security_limit_exceeded) {
    throw Error("not enough memory to decode the HEIF file");
  }
  if (error.subcode == heif_suberror_End_of_data) throw Error("the HEIF file is cut short");
  if (error.subcode == heif_suberror_Unsupported_codec && heif_have_decoder_for_format(heif_compression_HEVC) == 0) {
    throw Error(kNoDecoder);
  }
  throw Error(std::string("damaged HEIF file, or of a kind that is not read: ") + error.message);
}

/// A file and the handle of the picture that it is about.
struct OpenHeif {
  Held<heif_context> context;
  Held<heif_image_handle> handle;
  bool is_grey = false;
  int left_orientation = 1;  // what libheif is told to leave to us

  StoredHeader header() const {
    StoredHeader header{is_grey ? 1 : 3, heif_image_handle_get_height(handle.get()),
                        heif_image_handle_get_width(handle.get()), left_orientation};
    check_picture_size(header.width, header.height);
    if (is_transposed(left_orientation)) std::swap(header.width, header.height);
    const bool is_deep = heif_image_handle_get_luma_bits_per_pixel(handle.get()) > 8;
    header.copies = is_grey ? (is_deep ? 14 : 9) : (is_deep ? 6 : 4);
    return header;
  }
};

/// libheif before 1.17 turns the planes of a picture of an odd size each on its own, which leaves colours a pixel
/// aside.
int orientation_left_to_us(std::string_view file, const heif_image_handle& handle) {
  const bool is_odd = (heif_image_handle_get_width(&handle) | heif_image_handle_get_height(&handle)) % 2 != 0;
  return is_odd ? orientation_of_primary(file).value_or(1) : 1;
}

OpenHeif open(std::string_view file) {
  constexpr int kMostPixelsRoot = 16384;  // kMaxPixels is its square
  OpenHeif opened{Held<heif_context>(heif_context_alloc()), nullptr};
  if (!opened.context) throw Error("not enough memory to decode the HEIF file");
  heif_context_set_maximum_image_size_limit(opened.context.get(), kMostPixelsRoot);
#if LIBHEIF_HAVE_VERSION(1, 13, 0)
  heif_context_set_max_decoding_threads(opened.context.get(), 0);
#endif
  check(heif_context_read_from_memory_without_copy(opened.context.get(), file.data(), file.size(), nullptr));
  heif_image_handle* handle = nullptr;
  check(heif_context_get_primary_image_handle(opened.context.get(), &handle));
  opened.handle.reset(handle);
  opened.is_grey = is_monochrome(file);
  opened.left_orientation = orientation_left_to_us(file, *handle);
  return opened;
}

Held<heif_image> decode_pixels(const OpenHeif& opened) {
  const Held<heif_decoding_options> options(heif_decoding_options_alloc());
  if (!options) throw Error("not enough memory to decode the HEIF file");
  options->convert_hdr_to_8bit = 1;
  options->ignore_transformations = opened.left_orientation == 1 ? 0 : 1;
  heif_image* image = nullptr;
  check(
      heif_decode_image(opened.handle.get(), &image, heif_colorspace_RGB, heif_chroma_interleaved_RGB, options.get()));
  return Held<heif_image>(image);
}

/// Some files say that they are a little smaller than what is coded: the rest is not shown.
Picture copy_pixels(const heif_image& image, const StoredHeader& header) {
  int stride = 0;
  const std::uint8_t* in = heif_image_get_plane_readonly(&image, heif_channel_interleaved, &stride);
  if (in == nullptr || heif_image_get_width(&image, heif_channel_interleaved) < header.width ||
      heif_image_get_height(&image, heif_channel_interleaved) < header.height) {
    throw Error("damaged HEIF file: its picture is of another size than its header says");
  }
  Picture picture = Picture::unset(header.channels, header.height, header.width);
  for (std::int64_t y = 0; y < header.height; ++y, in += stride) {
    std::uint8_t* out = picture.row(y);
    if (header.channels == 3) {
      std::memcpy(out, in, static_cast<std::size_t>(3 * header.width));
    } else {
      for (std::int64_t x = 0; x < header.width; ++x) out[x] = in[3 * x];
    }
  }
  return picture;
}

class HeifPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override { return open(file).header(); }

  StoredPicture decode(std::string_view file) const override {
    const OpenHeif opened = open(file);
    const StoredHeader header = opened.header();
    const auto turn = wait_for_turn(header.width, header.height);
    return {copy_pixels(*decode_pixels(opened), header), header.orientation};
  }
};

const char* version() {
  static const std::string text = std::string("libheif ") + heif_get_version();
  return text.c_str();
}

const char* unusable_reason() {
#if LIBHEIF_HAVE_VERSION(1, 13, 0)
  static const heif_error error = heif_init(nullptr);  // finds its plugins, once and for good
  if (error.code != heif_error_Ok) return error.message;
#endif
  return heif_have_decoder_for_format(heif_compression_HEVC) != 0 ? "" : kNoDecoder;
}

}  // namespace
}  // namespace evener::data::heif_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::heif_module::HeifPhotos>(
        evener::data::heif_module::version, evener::data::heif_module::unusable_reason);
}
