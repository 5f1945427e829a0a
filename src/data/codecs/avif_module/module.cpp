// AVIF through libavif, which gives pictures as stored: cropping and turning are ours. Untrusted files meet its limits
// and ours. What becomes of pixels is what Pillow makes of them.
#include <avif/avif.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/codecs/exif.h"

namespace evener::data::avif_module {
namespace {

#if AVIF_VERSION >= 1000000
int mirror_of(const avifImage& image) {
  return image.imir.axis;
}
#else
int mirror_of(const avifImage& image) {
  return image.imir.mode;
}
#endif

/// The EXIF orientation (1 to 8) of the properties "irot" and "imir": turned first, then mirrored. Source: ISO/IEC
/// 23008-12 (HEIF), 6.5.10 and 6.5.12.
int orientation_of(const avifImage& image) {
  const int turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return orientation_of_turns(turns, Mirror::kNone);
  return orientation_of_turns(turns, mirror_of(image) == 0 ? Mirror::kTopWithBottom : Mirror::kLeftWithRight);
}

struct Free {
  void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
};
using Decoder = std::unique_ptr<avifDecoder, Free>;

void check(avifResult result, const avifDecoder& decoder) {
  switch (result) {
    case AVIF_RESULT_OK:
      return;
    case AVIF_RESULT_TRUNCATED_DATA:
    case AVIF_RESULT_WAITING_ON_IO:
      throw Error("the AVIF file is cut short");
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
      throw Error("libavif has no decoder of AV1 on this machine (Debian: libdav1d6, libaom3)");
    case AVIF_RESULT_OUT_OF_MEMORY:
      throw Error("not enough memory to decode the AVIF file");
    default:
      throw Error(std::string("damaged AVIF file: ") +
                  (decoder.diag.error[0] != 0 ? decoder.diag.error : avifResultToString(result)));
  }
}

Decoder parse(std::string_view file) {
  Decoder decoder(avifDecoderCreate());
  if (!decoder) throw Error("not enough memory to decode the AVIF file");
  decoder->maxThreads = 1;  // many pictures are decoded at the same time
  decoder->ignoreExif = AVIF_TRUE;
  decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageSizeLimit = static_cast<std::uint32_t>(kMaxPixels);
  // As in Pillow: early writers left "pixi" out, and a crop that is impossible is none.
  decoder->strictFlags &= ~static_cast<avifStrictFlags>(AVIF_STRICT_PIXI_REQUIRED | AVIF_STRICT_CLAP_VALID);
  check(avifDecoderSetIOMemory(decoder.get(), reinterpret_cast<const std::uint8_t*>(file.data()), file.size()),
        *decoder);
  check(avifDecoderParse(decoder.get()), *decoder);
  check_picture_size(decoder->image->width, decoder->image->height);
  return decoder;
}

/// The part of the stored picture that is to be seen.
PictureArea shown_area(const avifImage& image) {
  PictureArea whole{0, 0, image.width, image.height};
  if ((image.transformFlags & AVIF_TRANSFORM_CLAP) == 0) return whole;
  avifCropRect crop;
  avifDiagnostics ignored;
  if (avifCropRectConvertCleanApertureBox(&crop, &image.clap, image.width, image.height, image.yuvFormat, &ignored) ==
      AVIF_FALSE) {
    return whole;
  }
  return {crop.x, crop.y, crop.width, crop.height};
}

StoredHeader header_of(const avifDecoder& decoder) {
  const avifImage& image = *decoder.image;
  const PictureArea area = shown_area(image);
  const bool is_grey = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400, is_deep = image.depth > 8;
  StoredHeader header{is_grey ? 1 : 3, area.height, area.width, orientation_of(image)};
  header.copies = is_grey ? (is_deep ? 12 : 9) : (is_deep || decoder.alphaPresent != AVIF_FALSE ? 5 : 3);
  return header;
}

/// All of the picture, with three or four bytes per pixel. Colours must not be multiplied by alpha, which libavif does
/// where it isn't asked for alpha.
struct Colours {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::int64_t pixel_bytes = 3;
};

void convert(const avifImage& image, const avifDecoder& decoder, std::uint8_t* bytes, std::int64_t pixel_bytes) {
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.depth = 8;
  rgb.format = pixel_bytes == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.pixels = bytes;
  rgb.rowBytes = static_cast<std::uint32_t>(image.width * pixel_bytes);
  check(avifImageYUVToRGB(&image, &rgb), decoder);
}

Picture cut(const Colours& colours, std::int64_t stored_width, const PictureArea& area, std::int64_t channels) {
  Picture picture = Picture::unset(channels, area.height, area.width);
  std::uint8_t* out = picture.pixels.get();
  for (std::int64_t y = 0; y < area.height; ++y) {
    const std::uint8_t* in = colours.bytes.get() + ((area.y + y) * stored_width + area.x) * colours.pixel_bytes;
    for (std::int64_t x = 0; x < area.width; ++x, in += colours.pixel_bytes) {
      for (std::int64_t c = 0; c < channels; ++c) *out++ = in[c];
    }
  }
  return picture;
}

class AvifPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override { return header_of(*parse(file)); }

  StoredPicture decode(std::string_view file) const override {
    const Decoder decoder = parse(file);
    const StoredHeader header = header_of(*decoder);
    const auto turn = wait_for_turn(decoder->image->width, decoder->image->height);
    check(avifDecoderNextImage(decoder.get()), *decoder);
    const avifImage& image = *decoder->image;
    const PictureArea area = shown_area(image);
    if (area.width != header.width || area.height != header.height) {
      throw Error("damaged AVIF file: its picture is of another size than its header says");
    }
    const bool is_whole = area.width == image.width && area.height == image.height;
    if (is_whole && header.channels == 3 && image.alphaPlane == nullptr) {
      Picture picture = Picture::unset(3, header.height, header.width);
      convert(image, *decoder, picture.pixels.get(), 3);
      return {std::move(picture), header.orientation};
    }
    Colours colours{nullptr, image.alphaPlane == nullptr ? 3 : 4};
    colours.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(std::size_t{image.width} * image.height *
                                                                   static_cast<std::size_t>(colours.pixel_bytes));
    convert(image, *decoder, colours.bytes.get(), colours.pixel_bytes);
    return {cut(colours, image.width, area, header.channels), header.orientation};
  }
};

const char* version() {
  static const std::string text = [] {
    char codecs[256] = {};
    avifCodecVersions(codecs);
    return std::string("libavif ") + avifVersion() + ", " + codecs;
  }();
  return text.c_str();
}

const char* unusable_reason() {
  const bool decodes = avifCodecName(AVIF_CODEC_CHOICE_AUTO, AVIF_CODEC_FLAG_CAN_DECODE) != nullptr;
  return decodes ? "" : "libavif was built without a decoder of AV1";
}

}  // namespace
}  // namespace evener::data::avif_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::avif_module::AvifPhotos>(
        evener::data::avif_module::version, evener::data::avif_module::unusable_reason);
}
