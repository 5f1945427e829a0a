#include "data/codecs/jpeg_encode.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// This needs cstdio before it.
#include <jpeglib.h>
// This has the numbers of errors.
#include <jerror.h>

#include "base/error.h"

namespace evener::data {
namespace {

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
