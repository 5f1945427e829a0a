// JPEG XL through libjxl, which turns pictures upright itself, by the codestream; EXIF data is ignored. It decodes in
// the calling thread where it is given no runner, and in the colour space that the file has.
#include <jxl/decode.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/codecs.h"

namespace evener::data {
namespace {

class JxlReader {
 public:
  JxlReader(std::string_view file, int events) : decoder_(JxlDecoderCreate(nullptr)) {
    if (!decoder_) throw Error("not enough memory to decode the JPEG XL file");
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    const bool is_ready = JxlDecoderSubscribeEvents(decoder_.get(), events) == JXL_DEC_SUCCESS &&
                          JxlDecoderSetInput(decoder_.get(), bytes, file.size()) == JXL_DEC_SUCCESS;
    if (!is_ready) throw Error("libjxl could not be started (another version?)");
    JxlDecoderCloseInput(decoder_.get());
  }

  StoredHeader read_header() {
    expect(JXL_DEC_BASIC_INFO);
    JxlBasicInfo info;
    if (JxlDecoderGetBasicInfo(decoder_.get(), &info) != JXL_DEC_SUCCESS) throw Error("damaged JPEG XL file");
    check_picture_size(info.xsize, info.ysize);
    for (std::uint32_t i = 0; i < info.num_extra_channels; ++i) {
      JxlExtraChannelInfo channel;
      if (JxlDecoderGetExtraChannelInfo(decoder_.get(), i, &channel) != JXL_DEC_SUCCESS) continue;
      if (channel.type == JXL_CHANNEL_BLACK) throw Error("a JPEG XL file in CMYK, which is not read; save it as RGB");
    }
    StoredHeader header{info.num_color_channels == 1 ? 1 : 3, info.ysize, info.xsize};
    // Lossless and progressive files are decoded as a whole, in numbers of four bytes.
    header.copies = header.channels == 1 ? 18 : info.uses_original_profile != JXL_FALSE ? 12 : 4;
    return header;
  }

  Picture read_pixels(const StoredHeader& header) {
    expect(JXL_DEC_NEED_IMAGE_OUT_BUFFER);
    const JxlPixelFormat format{static_cast<std::uint32_t>(header.channels), JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    Picture picture = Picture::unset(header.channels, header.height, header.width);
    if (JxlDecoderSetImageOutBuffer(decoder_.get(), &format, picture.pixels.get(), picture.bytes()) !=
        JXL_DEC_SUCCESS) {
      throw Error("damaged JPEG XL file: its frame is of another size than its header says");
    }
    expect(JXL_DEC_FULL_IMAGE);
    return picture;
  }

 private:
  struct Free {
    void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
  };

  void expect(JxlDecoderStatus wanted) {
    const JxlDecoderStatus status = JxlDecoderProcessInput(decoder_.get());
    if (status == wanted) return;
    if (status == JXL_DEC_NEED_MORE_INPUT) throw Error("the JPEG XL file is cut short");
    throw Error("damaged JPEG XL file, or it lacks memory");  // the library gives no reason
  }

  std::unique_ptr<JxlDecoder, Free> decoder_;
};

class JxlPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override {
    return JxlReader(file, JXL_DEC_BASIC_INFO).read_header();
  }

  StoredPicture decode(std::string_view file) const override {
    JxlReader reader(file, JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE);
    const StoredHeader header = reader.read_header();
    const auto turn = wait_for_turn(header.width, header.height);
    return {reader.read_pixels(header), 1};
  }
};

const char* jxl_version() {
  static const std::string text = [] {
    const std::uint32_t number = JxlDecoderVersion();  // 7001 = 0.7.1
    return "libjxl " + std::to_string(number / 1'000'000) + "." + std::to_string(number / 1000 % 1000) + "." +
           std::to_string(number % 1000);
  }();
  return text.c_str();
}

}  // namespace
}  // namespace evener::data

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::JxlPhotos>(evener::data::jxl_version);
}
