#include "data/codecs/jpeg_encode.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// This needs cstdio before it.
#include <jpeglib.h>

#include "base/error.h"

namespace evener::data {
namespace {

/// What the library's errors jump back to. Nothing that would need a destructor lives between there and the library.
struct Encoder {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  unsigned char* file = nullptr;  // the library's memory
  unsigned long bytes = 0;
};

void on_error(j_common_ptr info) {
  Encoder& encoder = *static_cast<Encoder*>(info->client_data);
  info->err->format_message(info, encoder.message);
  std::longjmp(encoder.jump, 1);
}

bool encode(Encoder& encoder, const Picture& picture, int quality) {
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_create_compress(&encoder.info);
  jpeg_mem_dest(&encoder.info, &encoder.file, &encoder.bytes);
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
