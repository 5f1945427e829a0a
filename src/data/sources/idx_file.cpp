#include "data/sources/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace evener::data {

namespace {

/// A file's bytes one after the other, whether it is gzipped or not.
class ByteReader {
 public:
  explicit ByteReader(std::string_view file);
  ~ByteReader() {
    if (is_gzip_) inflateEnd(&stream_);
  }
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Fills `out` as far as the file goes; returns how many bytes it wrote.
  std::size_t read(std::uint8_t* out, std::size_t count);
  /// No more than this can come in all.
  std::uint64_t possible_bytes() const;

 private:
  std::size_t inflate_some(std::uint8_t* out, std::size_t count);

  std::string_view file_;
  std::size_t position_ = 0;  // of plain files
  bool is_gzip_;
  bool at_end_ = false;
  z_stream stream_ = {};
};

ByteReader::ByteReader(std::string_view file) : file_(file), is_gzip_(file.starts_with("\x1f\x8b")) {
  if (!is_gzip_) return;
  if (file.size() > std::numeric_limits<uInt>::max()) throw Error("the gzip file is larger than 4 GB");
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream_.avail_in = static_cast<uInt>(file.size());
  constexpr int kGzipWindow = 15 + 16;
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw Error("zlib could not be started (no memory?)");
}

std::uint64_t ByteReader::possible_bytes() const {
  constexpr std::uint64_t kMaxDeflateRatio = 1032;
  return is_gzip_ ? file_.size() * kMaxDeflateRatio : file_.size();
}

std::size_t ByteReader::inflate_some(std::uint8_t* out, std::size_t count) {
  const auto room = static_cast<uInt>(std::min<std::size_t>(count, std::numeric_limits<uInt>::max()));
  stream_.next_out = out;
  stream_.avail_out = room;
  const int result = inflate(&stream_, Z_NO_FLUSH);
  const std::size_t written = room - stream_.avail_out;
  if (result == Z_STREAM_END) {
    // A gzip file may have several members, which follow each other.
    at_end_ = stream_.avail_in == 0 || inflateReset(&stream_) != Z_OK;
  } else if (result == Z_BUF_ERROR && stream_.avail_in == 0) {
    throw Error("the gzip data is cut short");
  } else if (result != Z_OK) {
    throw Error(std::string("damaged gzip data: ") + (stream_.msg != nullptr ? stream_.msg : "unknown reason"));
  }
  return written;
}

std::size_t ByteReader::read(std::uint8_t* out, std::size_t count) {
  if (!is_gzip_) {
    const std::size_t given = std::min(count, file_.size() - position_);
    std::memcpy(out, file_.data() + position_, given);
    position_ += given;
    return given;
  }
  std::size_t given = 0;
  while (given < count && !at_end_) given += inflate_some(out + given, count - given);
  return given;
}

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// The product, or more than any file holds.
std::uint64_t product(const std::vector<std::int64_t>& extents) {
  unsigned __int128 count = 1;
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;
  for (const std::int64_t extent : extents) {
    count *= static_cast<std::uint64_t>(extent);
    if (count > kTooMany) return kTooMany;
  }
  return static_cast<std::uint64_t>(count);
}

/// Reads up to `count` bytes and returns how many came. Takes memory in steps: the count is not to be trusted.
std::uint64_t read_values(ByteReader& reader, std::uint64_t count, std::vector<std::uint8_t>& values) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 26;
  while (values.size() < count) {
    const std::size_t before = values.size();
    const std::uint64_t step = std::min(count - before, kStep);
    values.resize(before + step);
    const std::size_t got = reader.read(values.data() + before, step);
    if (got < step) return before + got;
  }
  return count;
}

}  // namespace

IdxArray parse_idx(std::string_view file, int dimensions) {
  if (file.empty()) throw Error("the file is empty");
  ByteReader reader(file);
  std::uint8_t word[4];
  const auto next_word = [&] {
    if (reader.read(word, 4) != 4) throw Error("cut short within its header");
    return big_endian(word);
  };
  const std::uint32_t expected = 0x0800U + static_cast<std::uint32_t>(dimensions);
  if (const std::uint32_t magic = next_word(); magic != expected) {
    throw Error("wrong magic number " + hex(magic) + ", expected " + hex(expected) + " (unsigned bytes in " +
                std::to_string(dimensions) + " dimension" + (dimensions == 1 ? "" : "s") + ")");
  }
  IdxArray array;
  for (int d = 0; d < dimensions; ++d) array.extents.push_back(next_word());
  const std::uint64_t count = product(array.extents);
  if (count > reader.possible_bytes()) {
    throw Error("its header announces " + extents_text(array.extents) + " values, more than its " +
                std::to_string(file.size()) + " bytes can hold: cut short or damaged");
  }
  const std::uint64_t found = read_values(reader, count, array.values);
  if (found != count) {
    throw Error("cut short: its header announces " + extents_text(array.extents) + " values, it has " +
                std::to_string(found));
  }
  if (reader.read(word, 1) != 0) {
    throw Error("it has more data than the " + extents_text(array.extents) + " values its header announces");
  }
  return array;
}

}  // namespace evener::data
