// The preview that a camera puts into its RAW files, found by libraw: what its screen shows, mostly as large as the
// photo. The sensor's own values are not developed.
#include <libraw/libraw.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/photo_decoder.h"

namespace evener::data {
namespace {

/// EXIF orientation of libraw's flip, whose bits are: exchanged axes, top with bottom, left with right.
int orientation_of_flip(int flip) {
  static constexpr int kOrientations[8] = {1, 2, 4, 3, 5, 8, 6, 7};
  return flip >= 0 && flip < 8 ? kOrientations[flip] : 1;
}

class RawPreview {
 public:
  explicit RawPreview(std::string_view file) : raw_(libraw_init(0)) {
    if (!raw_) throw Error("not enough memory to read the RAW file");
    libraw_set_dataerror_handler(raw_.get(), nullptr, nullptr);  // else it writes to stderr
    check(libraw_open_buffer(raw_.get(), const_cast<char*>(file.data()), file.size()));
    const int status = libraw_unpack_thumb(raw_.get());
    if (status == LIBRAW_NO_THUMBNAIL || status == LIBRAW_UNSUPPORTED_THUMBNAIL) {
      throw Error("the RAW file has no preview that can be read; save the photo as JPEG or TIFF");
    }
    check(status);
    if (raw_->thumbnail.thumb == nullptr || raw_->thumbnail.tlength == 0) throw Error("the RAW file has no preview");
  }

  StoredHeader read_header() const {
    if (!is_jpeg()) {
      const auto [width, height] = bitmap_size();
      return {3, height, width, orientation(height, width, 1)};
    }
    StoredHeader header = read_jpeg_header(preview());
    header.orientation = orientation(header.height, header.width, header.orientation);
    return header;
  }

  StoredPicture decode() const {
    if (is_jpeg()) {
      StoredPicture stored = decode_jpeg(preview());
      stored.orientation = orientation(stored.picture.height, stored.picture.width, stored.orientation);
      return stored;
    }
    const auto [width, height] = bitmap_size();
    Picture picture = Picture::unset(3, height, width);
    std::memcpy(picture.pixels.get(), preview().data(), picture.bytes());
    return {std::move(picture), orientation(height, width, 1)};
  }

 private:
  struct Free {
    void operator()(libraw_data_t* raw) const { libraw_close(raw); }
  };

  static void check(int status) {
    if (status == LIBRAW_SUCCESS) return;
    if (status == LIBRAW_IO_ERROR) throw Error("the RAW file is cut short");
    throw Error(std::string("the RAW file can't be read: ") + libraw_strerror(status));
  }

  bool is_jpeg() const { return raw_->thumbnail.tformat == LIBRAW_THUMBNAIL_JPEG; }

  std::string_view preview() const { return {raw_->thumbnail.thumb, raw_->thumbnail.tlength}; }

  std::pair<std::int64_t, std::int64_t> bitmap_size() const {
    const libraw_thumbnail_t& bitmap = raw_->thumbnail;
    if (bitmap.tformat != LIBRAW_THUMBNAIL_BITMAP) throw Error("the RAW file has no preview that can be read");
    check_picture_size(bitmap.twidth, bitmap.theight);
    if (std::uint64_t{3} * bitmap.twidth * bitmap.theight > bitmap.tlength) throw Error("the RAW file is cut short");
    return {bitmap.twidth, bitmap.theight};
  }

  /// Of the preview, as EXIF says it: what the preview says of itself counts, else what the camera says of the photo,
  /// unless the preview lies as the photo is to be seen.
  int orientation(std::int64_t height, std::int64_t width, int of_preview) const {
    if (of_preview != 1) return of_preview;
    const libraw_image_sizes_t& sizes = raw_->sizes;
    const bool exchanges_axes = (sizes.flip & 4) != 0;
    const bool is_turned = exchanges_axes && sizes.width != sizes.height && width != height &&
                           (sizes.width > sizes.height) != (width > height);
    return is_turned ? 1 : orientation_of_flip(sizes.flip);
  }

  std::unique_ptr<libraw_data_t, Free> raw_;
};

class RawPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override { return RawPreview(file).read_header(); }
  StoredPicture decode(std::string_view file) const override { return RawPreview(file).decode(); }
};

const char* raw_version() {
  static const std::string text = std::string("libraw ") + libraw_version();
  return text.c_str();
}

}  // namespace
}  // namespace evener::data

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::RawPhotos>(evener::data::raw_version);
}
