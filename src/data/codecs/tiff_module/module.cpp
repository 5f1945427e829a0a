// TIFF through libtiff, whose RGBA interface knows all the ways in which pixels are stored. The first page is read.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/codecs.h"

namespace evener::data::tiff_module {
namespace {

constexpr std::uint64_t kMaxBlockBytes = std::uint64_t{1} << 30;  // of a strip or tile, which is decoded as a whole

/// The file in memory, as the library's callbacks see it, and the first error it reported.
struct Memory {
  std::string_view file;
  std::uint64_t position = 0;
  char message[160] = {};
};

tmsize_t read_bytes(thandle_t handle, void* out, tmsize_t count) {
  auto& memory = *static_cast<Memory*>(handle);
  if (count <= 0 || memory.position >= memory.file.size()) return 0;
  const std::size_t given =
      std::min<std::size_t>(static_cast<std::size_t>(count), memory.file.size() - memory.position);
  std::memcpy(out, memory.file.data() + memory.position, given);
  memory.position += given;
  return static_cast<tmsize_t>(given);
}

tmsize_t write_bytes(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto& memory = *static_cast<Memory*>(handle);
  const std::uint64_t base = whence == SEEK_CUR ? memory.position : whence == SEEK_END ? memory.file.size() : 0;
  memory.position = base + offset;
  return memory.position;
}

void keep_error(thandle_t handle, const char*, const char* format, va_list values) {
  if (handle == nullptr) return;
  auto& memory = *static_cast<Memory*>(handle);
  if (memory.message[0] == 0) std::vsnprintf(memory.message, sizeof(memory.message), format, values);
}

/// The handlers are the library's, for the whole process; ours tells the files apart by their handles.
void silence_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    TIFFSetErrorHandlerExt(keep_error);
  });
}

class TiffDecoder {
 public:
  explicit TiffDecoder(std::string_view file) {
    silence_library();
    memory_.file = file;
    // 'm': not mapped, so that no size is asked for that could change.
    tiff_.reset(TIFFClientOpen(
        "memory", "rm", &memory_, read_bytes, write_bytes, seek, [](thandle_t) { return 0; },
        [](thandle_t handle) -> toff_t { return static_cast<Memory*>(handle)->file.size(); }, nullptr, nullptr));
    if (!tiff_) fail();
  }

  StoredHeader read_header() {
    std::uint32_t width = 0, height = 0;
    if (TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
        TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
      throw Error("damaged TIFF file: it does not say how large it is");
    }
    check_picture_size(width, height);
    check_storage(width, height);
    const std::uint16_t photometric = field(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    const bool is_grey = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    const std::uint16_t orientation = field(TIFFTAG_ORIENTATION, 1);
    const std::uint16_t format = field(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    const bool is_deep = field(TIFFTAG_BITSPERSAMPLE, 1) == 16 && format == SAMPLEFORMAT_UINT &&
                         (is_grey || photometric == PHOTOMETRIC_RGB);
    return {is_grey ? 1 : 3, height, width, orientation >= 1 && orientation <= 8 ? orientation : 1, is_deep};
  }

  Picture read_pixels(const StoredHeader& header) {
    // Alpha is to be dropped; taken for what it is, colours would be multiplied by it.
    std::uint16_t count = 0;
    std::uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
    if (count == 1 && kinds[0] == EXTRASAMPLE_UNASSALPHA) {
      std::uint16_t other = EXTRASAMPLE_ASSOCALPHA;
      TIFFSetField(tiff_.get(), TIFFTAG_EXTRASAMPLES, 1, &other);
    }
    const auto pixels = static_cast<std::size_t>(header.width * header.height);
    const auto raster = std::make_unique_for_overwrite<std::uint32_t[]>(pixels);
    TIFFRGBAImage image;
    char reason[1024] = {};
    if (TIFFRGBAImageOK(tiff_.get(), reason) == 0 || TIFFRGBAImageBegin(&image, tiff_.get(), 1, reason) == 0) {
      throw Error(std::string("the TIFF file can't be decoded: ") + (reason[0] != 0 ? reason : memory_.message));
    }
    // As stored: turning upright comes later.
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;
    const int done = TIFFRGBAImageGet(&image, raster.get(), static_cast<std::uint32_t>(header.width),
                                      static_cast<std::uint32_t>(header.height));
    TIFFRGBAImageEnd(&image);
    if (done == 0 || memory_.message[0] != 0) fail();
    Picture picture = Picture::unset(header.channels, header.height, header.width);
    std::uint8_t* out = picture.pixels.get();
    for (std::size_t i = 0; i < pixels; ++i) {
      *out++ = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
      if (header.channels == 1) continue;
      *out++ = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
      *out++ = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
    }
    if (header.has_16_bits) picture.largest_of_16_bits = largest_value(static_cast<std::size_t>(header.channels));
    return picture;
  }

 private:
  struct Closer {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  std::uint16_t field(std::uint32_t tag, std::uint16_t otherwise) const {
    std::uint16_t value = otherwise;
    return TIFFGetFieldDefaulted(tiff_.get(), tag, &value) != 0 ? value : otherwise;
  }

  /// The largest of the values of 16 bits, without those of alpha; or the first that is large enough to be seen. They
  /// are decoded once more, as the interface that knows all ways to store pixels gives 8 bits alone.
  std::uint16_t largest_value(std::size_t colours) const {
    constexpr std::uint16_t kEnough = 1 << 15;
    const bool is_tiled = TIFFIsTiled(tiff_.get()) != 0;
    const std::uint32_t blocks = is_tiled ? TIFFNumberOfTiles(tiff_.get()) : TIFFNumberOfStrips(tiff_.get());
    const tmsize_t bytes = is_tiled ? TIFFTileSize(tiff_.get()) : TIFFStripSize(tiff_.get());
    const std::size_t samples = field(TIFFTAG_SAMPLESPERPIXEL, 1);
    const bool is_separate = field(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
    const std::size_t of_plane = std::max<std::size_t>(blocks / samples, 1);
    const auto values = std::make_unique<std::uint16_t[]>(static_cast<std::size_t>(bytes) / 2 + 1);
    std::uint16_t largest = 0;
    for (std::uint32_t block = 0; block < blocks && largest < kEnough; ++block) {
      if (is_separate && block / of_plane >= colours) break;
      const tmsize_t read = is_tiled ? TIFFReadEncodedTile(tiff_.get(), block, values.get(), bytes)
                                     : TIFFReadEncodedStrip(tiff_.get(), block, values.get(), bytes);
      for (std::size_t i = 0; i < static_cast<std::size_t>(std::max<tmsize_t>(read, 0)) / 2; ++i) {
        if (is_separate || i % samples < colours) largest = std::max(largest, values[i]);
      }
    }
    return largest;
  }

  /// Refuses what would take memory out of proportion, and what no file that short can hold.
  void check_storage(std::uint64_t width, std::uint64_t height) const {
    const std::uint64_t samples = field(TIFFTAG_SAMPLESPERPIXEL, 1), bits = field(TIFFTAG_BITSPERSAMPLE, 1);
    if (samples < 1 || samples > 8 || bits < 1 || bits > 64) {
      throw Error("the TIFF file has " + std::to_string(samples) + " samples of " + std::to_string(bits) +
                  " bits per pixel, which can't be decoded");
    }
    const std::uint16_t compression = field(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    if (compression == COMPRESSION_OJPEG) throw Error("the TIFF file uses the old kind of JPEG compression");
    const bool is_tiled = TIFFIsTiled(tiff_.get()) != 0;
    const std::uint64_t block = is_tiled ? TIFFTileSize64(tiff_.get()) : TIFFStripSize64(tiff_.get());
    if (block == 0 || block > kMaxBlockBytes) {
      throw Error("the TIFF file's strips or tiles have " + std::to_string(block) + " bytes, which can't be decoded");
    }
    const bool is_subsampled = field(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) == PHOTOMETRIC_YCBCR;
    if (compression == COMPRESSION_NONE && !is_subsampled &&
        width * height * samples * bits / 8 > memory_.file.size()) {
      throw Error("the TIFF file is cut short: " + std::to_string(memory_.file.size()) + " bytes can't hold " +
                  std::to_string(width) + "x" + std::to_string(height) + " pixels");
    }
  }

  [[noreturn]] void fail() const {
    const std::string message = memory_.message;
    // The library reads whole strips and says how much of one it got.
    const bool is_short = message.find("Read error") != std::string::npos || message.find("got ") != std::string::npos;
    if (is_short) throw Error("the TIFF file is cut short or damaged: " + message);
    throw Error("damaged TIFF file: " + (message.empty() ? "the library gives no reason" : message));
  }

  Memory memory_;
  std::unique_ptr<TIFF, Closer> tiff_;
};

class TiffPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override { return TiffDecoder(file).read_header(); }

  StoredPicture decode(std::string_view file) const override {
    TiffDecoder decoder(file);
    const StoredHeader header = decoder.read_header();
    const auto turn = wait_for_turn(header.width, header.height);
    return {decoder.read_pixels(header), header.orientation};
  }
};

const char* version() {
  static const std::string text = [] {
    std::string first_line = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0", and lines of copyright
    first_line.resize(std::min(first_line.find('\n'), first_line.size()));
    return "libtiff " + first_line.substr(first_line.rfind(' ') + 1);
  }();
  return text.c_str();
}

}  // namespace
}  // namespace evener::data::tiff_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::tiff_module::TiffPhotos>(
        evener::data::tiff_module::version);
}
