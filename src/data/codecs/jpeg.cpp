// JPEG through libjpeg-turbo. Its errors come back by longjmp, so the functions between setjmp and the library hold
// nothing that would need a destructor.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

// These need cstdio before them.
#include <jerror.h>
#include <jpeglib.h>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/codecs/exif.h"

namespace evener::data {
namespace {

constexpr int kMaxScans = 100;  // real progressive files have about ten; more is an attack on our time

/// The library rounds scaled_extent extents up.
std::int64_t scaled_extent(JDIMENSION extent, unsigned int eighths) {
  return (std::int64_t{extent} * eighths + 7) / 8;
}

class JpegDecoder {
 public:
  explicit JpegDecoder(std::string_view file) : file_(file) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    if (!create()) fail();
  }

  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  StoredHeader read_header() {
    if (!parse_header()) fail();
    StoredHeader header;
    header.channels = info_.num_components == 1 ? 1 : 3;
    header.width = info_.image_width;
    header.height = info_.image_height;
    header.orientation = orientation();
    check_picture_size(header.width, header.height);
    return header;
  }

  /// Between read_header and read_pixels: decode quickly, at no less than this size (as stored).
  void hurry(const FastTarget& target) {
    hurries_ = true;
    // Other eighths would do, but the library has no fast transform for them: five are slower than all eight.
    for (const unsigned int eighths : {1u, 2u, 4u}) {
      if (scaled_extent(info_.image_height, eighths) < target.height ||
          scaled_extent(info_.image_width, eighths) < target.width)
        continue;
      eighths_ = eighths;
      return;
    }
  }

  Picture read_pixels() {
    Picture picture = Picture::unset(info_.num_components == 1 ? 1 : 3, scaled_extent(info_.image_height, eighths_),
                                     scaled_extent(info_.image_width, eighths_));
    const bool done = decode_rows(picture.pixels.get());
    // Several scans refine or complete one picture: with the file at its end, some of them may be missing. Arithmetic
    // coding doesn't notice the end by itself.
    const bool data_missing = input_ended_ && (jpeg_has_multiple_scans(&info_) || info_.arith_code);
    if (!done || damaged_ || data_missing) fail();
    return picture;
  }

 private:
  static JpegDecoder& of(j_common_ptr info) { return *static_cast<JpegDecoder*>(info->client_data); }
  static void on_error(j_common_ptr info) {
    JpegDecoder& self = of(info);
    if (self.message_[0] == 0) info->err->format_message(info, self.message_);
    std::longjmp(self.jump_, 1);
  }

  /// Warnings have level -1. Those that mean wrong pixels are kept; others (stray bytes between markers) are common in
  /// files of cameras and harmless.
  static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    JpegDecoder& self = of(info);
    switch (info->err->msg_code) {
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_MUST_RESYNC:
        if (!self.damaged_) info->err->format_message(info, self.message_);
        self.damaged_ = true;
        break;
      default:
        break;
    }
  }

  static void on_progress(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
    std::snprintf(of(info).message_, sizeof(message_), "more than %d scans", kMaxScans);
    std::longjmp(of(info).jump_, 1);
  }

  /// At the end of the file the library is given an end marker: a file that lacks only that one is still whole.
  static boolean fill_input(j_decompress_ptr info) {
    static const JOCTET kEndOfImage[] = {0xFF, JPEG_EOI};
    of(reinterpret_cast<j_common_ptr>(info)).input_ended_ = true;
    info->src->next_input_byte = kEndOfImage;
    info->src->bytes_in_buffer = sizeof(kEndOfImage);
    return TRUE;
  }

  static void skip_input(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    const std::size_t skipped = std::min(static_cast<std::size_t>(count), info->src->bytes_in_buffer);
    info->src->next_input_byte += skipped;
    info->src->bytes_in_buffer -= skipped;
  }

  bool create() {
    if (setjmp(jump_)) return false;
    jpeg_create_decompress(&info_);
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = fill_input;
    source_.skip_input_data = skip_input;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(file_.data());
    source_.bytes_in_buffer = file_.size();
    info_.src = &source_;
    progress_.progress_monitor = on_progress;
    info_.progress = &progress_;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    return true;
  }

  bool parse_header() {
    if (setjmp(jump_)) return false;
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  /// After parse_header. `pixels` has room for the picture in 1 or 3 channels.
  bool decode_rows(std::uint8_t* pixels) {
    if (setjmp(jump_)) return false;
    const bool is_cmyk = info_.num_components == 4;
    info_.out_color_space = info_.num_components == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    if (hurries_) {
      info_.scale_num = eighths_;
      info_.scale_denom = 8;
      // Not the "fast" transform: the exact one has the newer vector code and is as quick.
      info_.do_fancy_upsampling = FALSE;
    }
    jpeg_start_decompress(&info_);
    const std::size_t stride = std::size_t{info_.output_width} * (info_.num_components == 1 ? 1u : 3u);
    JSAMPARRAY ink = nullptr;
    if (is_cmyk) {
      ink = info_.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info_), JPOOL_IMAGE, info_.output_width * 4, 1);
    }
    constexpr JDIMENSION kRowsAtOnce = 16;
    JSAMPROW rows[kRowsAtOnce];
    while (info_.output_scanline < info_.output_height && !damaged_) {
      std::uint8_t* next = pixels + info_.output_scanline * stride;
      if (is_cmyk) {
        jpeg_read_scanlines(&info_, ink, 1);
        inverted_cmyk_to_rgb(ink[0], next, info_.output_width);
        continue;
      }
      const JDIMENSION count = std::min(kRowsAtOnce, info_.output_height - info_.output_scanline);
      for (JDIMENSION i = 0; i < count; ++i) rows[i] = next + i * stride;
      jpeg_read_scanlines(&info_, rows, count);
    }
    return true;
  }

  int orientation() const {
    constexpr std::string_view kSignature("Exif\0\0", 6);
    for (jpeg_saved_marker_ptr marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view content(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (content.substr(0, kSignature.size()) == kSignature)
        return exif_orientation(content.substr(kSignature.size()));
    }
    return 1;
  }

  [[noreturn]] void fail() const {
    if (input_ended_) throw Error("the JPEG file is cut short");
    throw Error(std::string("damaged JPEG file: ") + message_);
  }

  std::string_view file_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_;
  char message_[JMSG_LENGTH_MAX] = {};
  bool input_ended_ = false;
  bool damaged_ = false;
  unsigned int eighths_ = 8;  // of the stored size
  bool hurries_ = false;
};

/// Where errors of the library jump back to. No object with a destructor may live between the setjmp and the library,
/// since longjmp would not destroy it.
struct Encoder {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_destination_mgr destination = {};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  unsigned char* file = nullptr;  // from malloc(), grown as it is filled: what the library has for that frees the
                                  // memory that it still names when an error comes after it has grown
  std::size_t room = 0, bytes = 0;
};

void on_error(j_common_ptr info) {
  Encoder& encoder = *static_cast<Encoder*>(info->client_data);
  info->err->format_message(info, encoder.message);
  std::longjmp(encoder.jump, 1);
}

Encoder& encoder_of(j_compress_ptr info) {
  return *static_cast<Encoder*>(info->client_data);
}

/// Doubles the memory; what there was is full.
boolean grow(j_compress_ptr info) {
  constexpr std::size_t kFirstRoom = 64 * 1024;
  Encoder& encoder = encoder_of(info);
  const std::size_t full = encoder.room, room = full == 0 ? kFirstRoom : 2 * full;
  auto* const file = static_cast<unsigned char*>(std::realloc(encoder.file, room));
  if (file == nullptr) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  encoder.file = file;
  encoder.room = room;
  encoder.destination.next_output_byte = file + full;
  encoder.destination.free_in_buffer = room - full;
  return TRUE;
}

void begin_file(j_compress_ptr info) {
  grow(info);
}

void end_file(j_compress_ptr info) {
  Encoder& encoder = encoder_of(info);
  encoder.bytes = encoder.room - encoder.destination.free_in_buffer;
}

bool encode(Encoder& encoder, const Picture& picture, int quality) {
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_create_compress(&encoder.info);
  encoder.destination.init_destination = begin_file;
  encoder.destination.empty_output_buffer = grow;
  encoder.destination.term_destination = end_file;
  encoder.info.dest = &encoder.destination;
  encoder.info.image_width = static_cast<JDIMENSION>(picture.width);
  encoder.info.image_height = static_cast<JDIMENSION>(picture.height);
  encoder.info.input_components = static_cast<int>(picture.channels);
  encoder.info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder.info);
  jpeg_set_quality(&encoder.info, quality, TRUE);
  jpeg_start_compress(&encoder.info, TRUE);
  while (encoder.info.next_scanline < encoder.info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.row(encoder.info.next_scanline));
    jpeg_write_scanlines(&encoder.info, &row, 1);
  }
  jpeg_finish_compress(&encoder.info);
  return true;
}

}  // namespace

StoredHeader read_jpeg_header(std::string_view file) {
  return JpegDecoder(file).read_header();
}

StoredPicture decode_jpeg(std::string_view file) {
  JpegDecoder decoder(file);
  const StoredHeader header = decoder.read_header();
  const auto turn = wait_for_turn(header.width, header.height);
  return {decoder.read_pixels(), header.orientation};
}

StoredPicture decode_jpeg_fast(std::string_view file, FastTarget upright_target) {
  JpegDecoder decoder(file);
  const StoredHeader header = decoder.read_header();
  const auto turn = wait_for_turn(header.width, header.height);
  if (is_transposed(header.orientation)) std::swap(upright_target.height, upright_target.width);
  decoder.hurry(upright_target);
  return {decoder.read_pixels(), header.orientation};
}

std::string encode_jpeg(const Picture& picture, int quality) {
  Encoder encoder;
  encoder.info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = on_error;
  encoder.info.client_data = &encoder;
  const bool done = encode(encoder, picture, quality);
  std::string file;
  if (done) file.assign(reinterpret_cast<const char*>(encoder.file), encoder.bytes);
  jpeg_destroy_compress(&encoder.info);
  std::free(encoder.file);
  if (!done) throw Error(std::string("can't encode a JPEG file: ") + encoder.message);
  return file;
}

}  // namespace evener::data
