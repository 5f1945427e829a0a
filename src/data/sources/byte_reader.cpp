#include "data/sources/byte_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"

namespace evener::data {

struct ByteReader::Inflater {
  z_stream stream = {};
  Inflater() {
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw Error("zlib could not be started (no memory?)");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ByteReader::ByteReader(std::string_view file) : file_(file) {
  if (!file.starts_with("\x1f\x8b")) return;
  if (file.size() > std::numeric_limits<uInt>::max()) throw Error("the gzip file is larger than 4 GB");
  inflater_ = std::make_unique<Inflater>();
  inflater_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  inflater_->stream.avail_in = static_cast<uInt>(file.size());
}

ByteReader::~ByteReader() = default;

std::uint64_t ByteReader::possible_bytes() const {
  constexpr std::uint64_t kMaxDeflateRatio = 1032;
  return inflater_ ? file_.size() * kMaxDeflateRatio : file_.size();
}

std::size_t ByteReader::inflate_some(std::uint8_t* out, std::size_t count) {
  z_stream& stream = inflater_->stream;
  const auto room = static_cast<uInt>(std::min<std::size_t>(count, std::numeric_limits<uInt>::max()));
  stream.next_out = out;
  stream.avail_out = room;
  const int result = inflate(&stream, Z_NO_FLUSH);
  const std::size_t written = room - stream.avail_out;
  if (result == Z_STREAM_END) {
    // A gzip file may have several members, which follow each other.
    at_end_ = stream.avail_in == 0 || inflateReset(&stream) != Z_OK;
  } else if (result == Z_BUF_ERROR && stream.avail_in == 0) {
    throw Error("the gzip data is cut short");
  } else if (result != Z_OK) {
    throw Error(std::string("damaged gzip data: ") + (stream.msg != nullptr ? stream.msg : "unknown reason"));
  }
  return written;
}

std::size_t ByteReader::read(std::uint8_t* out, std::size_t count) {
  if (!inflater_) {
    const std::size_t given = std::min(count, file_.size() - position_);
    std::memcpy(out, file_.data() + position_, given);
    position_ += given;
    return given;
  }
  std::size_t given = 0;
  while (given < count && !at_end_) given += inflate_some(out + given, count - given);
  return given;
}

std::uint64_t ByteReader::read_values(std::uint64_t count, PageBytes& values) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 26;
  while (values.size() < count) {
    const std::size_t before = values.size();
    const std::uint64_t step = std::min(count - before, kStep);
    values.resize(before + step);
    const std::size_t got = read(values.data() + before, step);
    if (got < step) return before + got;
  }
  return count;
}

}  // namespace evener::data
