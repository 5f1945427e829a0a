// The preview in RAW files whose structure isn't TIFF's (Canon's CR3 and CRW, Olympus, Minolta, Sigma), found by
// libraw: what the camera's screen shows. The sensor's own values are not developed. Others are read by
// raw_preview.cpp: damaged ones make libraw 0.20 crash.
#include <libraw/libraw.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/codecs.h"
#include "data/codecs/raw_preview.h"

namespace evener::data {
namespace {

/// EXIF orientation of libraw's flip, whose bits are: exchanged axes, top with bottom, left with right.
int orientation_of_flip(int flip) {
  static constexpr int kOrientations[8] = {1, 2, 4, 3, 5, 8, 6, 7};
  return flip >= 0 && flip < 8 ? kOrientations[flip] : 1;
}

class RawPreview {
 public:
  explicit RawPreview(std::string_view file) : raw_(std::make_unique<LibRaw>()) {
    raw_->set_dataerror_handler(nullptr, nullptr);  // else it writes to stderr
    const int status = raw_->open_buffer(const_cast<char*>(file.data()), file.size());
    if (status == LIBRAW_IO_ERROR) throw Error("the RAW file is cut short");
    if (status != LIBRAW_SUCCESS) {
      throw Error(std::string("damaged RAW file, or of an unknown camera: ") + libraw_strerror(status));
    }
    preview_ = find(file);
  }

  StoredHeader read_header() const {
    StoredHeader header = read_jpeg_header(preview_);
    header.orientation = orientation(header.height, header.width, header.orientation);
    return header;
  }

  StoredPicture decode() const {
    StoredPicture stored = decode_jpeg(preview_);
    stored.orientation = orientation(stored.picture.height, stored.picture.width, stored.orientation);
    return stored;
  }

 private:
  /// Where libraw says that it is. unpack_thumb() would copy it, and writes beyond its memory where a damaged file of
  /// some cameras lies about the size (version 0.20).
  std::string_view find(std::string_view file) const {
    constexpr std::string_view kJpegMagic = "\xFF\xD8\xFF";
    const INT64 begin = raw_->get_internal_data_pointer()->internal_data.toffset;
    const std::size_t bytes = raw_->imgdata.thumbnail.tlength;
    if (begin <= 0 || bytes == 0) throw Error("the RAW file has no preview; save the photo as JPEG or TIFF");
    if (static_cast<std::uint64_t>(begin) >= file.size()) throw Error("the RAW file is cut short");
    const std::string_view preview = file.substr(static_cast<std::size_t>(begin), bytes);
    if (!preview.starts_with(kJpegMagic)) {
      throw Error("the RAW file's preview is no JPEG picture; save the photo as JPEG or TIFF");
    }
    return preview;
  }

  int orientation(std::int64_t height, std::int64_t width, int of_preview) const {
    const libraw_image_sizes_t& sizes = raw_->imgdata.sizes;
    return preview_orientation(height, width, of_preview, orientation_of_flip(sizes.flip), sizes.width >= sizes.height);
  }

  std::unique_ptr<LibRaw> raw_;
  std::string_view preview_;
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
