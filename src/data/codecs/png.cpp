// PNG through libpng. Its errors come back by longjmp, so the functions between setjmp and the library hold nothing
// that would need a destructor.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

// Text and colour profiles may be large, but not that large.
constexpr png_alloc_size_t kMaxChunkBytes = png_alloc_size_t{1} << 24;
// Deflate can't shrink data by more than 1032:1 (https://zlib.net/zlib_tech.html).
constexpr std::uint64_t kMaxDeflateRatio = 1032;

class PngDecoder {
 public:
  explicit PngDecoder(std::string_view file) : file_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error("libpng could not be started (no memory, or another version than " PNG_LIBPNG_VER_STRING ")");
    }
  }

  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  StoredHeader read_header() {
    if (!parse_header()) fail();
    StoredHeader header;
    header.channels = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    header.width = png_get_image_width(png_, info_);
    header.height = png_get_image_height(png_, info_);
    check_picture_size(header.width, header.height);
    const std::uint64_t raw_bytes = png_get_rowbytes(png_, info_) * static_cast<std::uint64_t>(header.height);
    if (raw_bytes / kMaxDeflateRatio > file_.size()) {
      throw Error("the PNG file is cut short: " + std::to_string(file_.size()) + " bytes can't hold " +
                  std::to_string(header.width) + "x" + std::to_string(header.height) + " pixels");
    }
    header.orientation = orientation();
    header.has_16_bits = png_get_bit_depth(png_, info_) == 16;
    return header;
  }

  Picture read_pixels() {
    if (!choose_output()) fail();
    const std::int64_t channels = png_get_channels(png_, info_);
    const int bits = png_get_bit_depth(png_, info_);
    if ((channels != 1 && channels != 3) || (bits != 8 && bits != 16)) {
      throw Error("libpng gave " + std::to_string(channels) + " channels of " + std::to_string(bits) +
                  " bits where 1 or 3 of 8 or 16 bits were asked for");
    }
    Picture picture = Picture::unset(channels, png_get_image_height(png_, info_), png_get_image_width(png_, info_));
    const png_size_t stride = png_get_rowbytes(png_, info_);
    if (bits == 8) {
      if (!decode_rows(picture.pixels.get(), stride, nullptr)) fail();
      return picture;
    }
    const bool is_interlaced = passes() > 1;
    const auto stored =
        std::make_unique<std::uint8_t[]>(is_interlaced ? stride * static_cast<png_size_t>(picture.height) : stride);
    if (!decode_rows(stored.get(), is_interlaced ? stride : 0, picture.pixels.get())) fail();
    picture.largest_of_16_bits = largest_;
    return picture;
  }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self.message_, sizeof(self.message_), "%s", message);
    std::longjmp(self.jump_, 1);
  }

  static void on_warning(png_structp, png_const_charp) {}
  static void read_bytes(png_structp png, png_bytep out, png_size_t count) {
    auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (self.file_.size() - self.position_ < count) {
      self.cut_short_ = true;
      png_error(png, "end of file");
    }
    std::memcpy(out, self.file_.data() + self.position_, count);
    self.position_ += count;
  }

  bool parse_header() {
    if (setjmp(jump_)) return false;
    png_set_read_fn(png_, this, read_bytes);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // check_picture_size has the say
    png_set_chunk_malloc_max(png_, kMaxChunkBytes);
    png_set_chunk_cache_max(png_, 256);
    png_read_info(png_, info_);
    return true;
  }

  /// Asks libpng for 8 bits, or for 16 if the file has them, with palettes looked up and without alpha.
  bool choose_output() {
    if (setjmp(jump_)) return false;
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  /// `stored` has room for all rows, `step` bytes apart, or for one of a file that isn't interlaced, where `step` is 0.
  /// `cut`: where the upper bytes of 16 bits go; null: there are 8 bits.
  bool decode_rows(std::uint8_t* stored, png_size_t step, std::uint8_t* cut) {
    if (setjmp(jump_)) return false;
    const png_size_t values = png_get_rowbytes(png_, info_) / 2;
    const png_uint_32 height = png_get_image_height(png_, info_);
    const int count = passes();
    for (int pass = 0; pass < count; ++pass) {
      for (png_uint_32 y = 0; y < height; ++y) {
        png_read_row(png_, stored + y * step, nullptr);
        if (cut != nullptr && pass + 1 == count) cut_row(stored + y * step, cut + y * values, values);
      }
    }
    return true;
  }

  int passes() const {
    return png_get_interlace_type(png_, info_) == PNG_INTERLACE_ADAM7 ? PNG_INTERLACE_ADAM7_PASSES : 1;
  }

  /// Keeps the upper 8 of 16 bits.
  void cut_row(const std::uint8_t* stored, std::uint8_t* pixels, std::size_t values) {
    for (std::size_t i = 0; i < values; ++i, stored += 2) {
      largest_ = std::max(largest_, static_cast<std::uint16_t>(stored[0] << 8 | stored[1]));
      pixels[i] = stored[0];
    }
  }

  int orientation() {
    png_uint_32 size = 0;
    png_bytep content = nullptr;
    if (setjmp(jump_)) return 1;
    if (png_get_eXIf_1(png_, info_, &size, &content) == 0) return 1;
    return exif_orientation({reinterpret_cast<const char*>(content), size});
  }

  [[noreturn]] void fail() const {
    if (cut_short_) throw Error("the PNG file is cut short");
    throw Error(std::string("damaged PNG file: ") + message_);
  }

  std::string_view file_;
  std::size_t position_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char message_[128] = {};
  bool cut_short_ = false;
  std::uint16_t largest_ = 0;  // of 16 bits
};

}  // namespace

StoredHeader read_png_header(std::string_view file) {
  return PngDecoder(file).read_header();
}

StoredPicture decode_png(std::string_view file) {
  PngDecoder decoder(file);
  const StoredHeader header = decoder.read_header();
  const auto turn = wait_for_turn(header.width, header.height);
  return {decoder.read_pixels(), header.orientation};
}

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
