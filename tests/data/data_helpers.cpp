#include "data/data_helpers.h"

#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

// These need cstdio before them.
#include <jpeglib.h>
#include <png.h>

#include "base/error.h"
#include "base/paths.h"

namespace evener::data::test {

namespace fs = std::filesystem;

fs::path golden_file(const std::string& name) {
  return evener::test::source_folder() / "tests/golden/data" / name;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  ASSERT_TRUE(out.good()) << path;
}

std::string plain_png(std::int64_t width, std::int64_t height, const std::vector<std::uint8_t>& color) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < width * height; ++i) pixels.insert(pixels.end(), color.begin(), color.end());
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = color.size() == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  EXPECT_TRUE(png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr)) << image.message;
  file.resize(size);
  return file;
}

std::string interlaced_png(const Picture& picture) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep content, png_size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(content), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < picture.height; ++y) rows.push_back(const_cast<png_bytep>(picture.row(y)));
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string cmyk_jpeg(const std::vector<std::uint8_t>& cmyk, std::int64_t width, std::int64_t height, bool as_ycck) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 4;
  info.in_color_space = JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, as_ycck ? JCS_YCCK : JCS_CMYK);
  for (int c = 0; c < 4; ++c) info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(cmyk.data() + y * width * 4);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

namespace {

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

}  // namespace

std::string png_chunk(const std::string& name, const std::string& content) {
  const std::string body = name + content;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(content.size())) + body + big_endian(static_cast<std::uint32_t>(sum));
}

std::string png_claiming(std::uint32_t width, std::uint32_t height, const std::string& data) {
  const std::string header = big_endian(width) + big_endian(height) + std::string("\x08\x02\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", data) + png_chunk("IEND", "");
}

std::string gzipped(std::string_view content) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string file(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(file.data());
  stream.avail_out = static_cast<uInt>(file.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  file.resize(stream.total_out);
  deflateEnd(&stream);
  return file;
}

std::string idx_file(std::uint32_t magic, const std::vector<std::uint32_t>& extents, std::string_view values) {
  std::string file = big_endian(magic);
  for (const std::uint32_t extent : extents) file += big_endian(extent);
  return file.append(values);
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

CountingDataset::CountingDataset(std::size_t size, ImageShape shape, std::size_t classes) : size_(size), shape_(shape) {
  for (std::size_t c = 0; c < classes; ++c) classes_.push_back("class" + std::to_string(c));
}

void CountingDataset::read(std::size_t index, std::span<std::uint8_t> chw) const {
  std::fill(chw.begin(), chw.end(), static_cast<std::uint8_t>(index % 251));
}

void BoxedDataset::read(std::size_t index, std::span<std::uint8_t> chw) const {
  std::fill(chw.begin(), chw.end(), std::uint8_t{0});
  const auto plane = static_cast<std::size_t>(shape_.height * shape_.width);
  for (const LabelledBox& box : boxes_[index]) {
    for (std::size_t i = 0; i < chw.size(); ++i) {
      const auto x = static_cast<float>(i % plane % static_cast<std::size_t>(shape_.width)) + 0.5F;
      const auto y = static_cast<float>(i % plane / static_cast<std::size_t>(shape_.width)) + 0.5F;
      const bool is_inside = box.x1 < x && x < box.x2 && box.y1 < y && y < box.y2;
      if (is_inside) chw[i] = static_cast<std::uint8_t>(100 + box.label);
    }
  }
}

}  // namespace evener::data::test
