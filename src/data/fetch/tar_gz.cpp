#include "data/fetch/tar_gz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/names.h"

namespace evener::data {
namespace {

constexpr std::size_t kBlock = 512;  // of tar
constexpr std::size_t kPiece = 1U << 18;

// The fields of a header that matter: offset and length.
struct Field {
  std::size_t at, length;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kType{156, 1}, kMagic{257, 5}, kPrefix{345, 155};

std::string_view bytes_of(const char* header, Field field) {
  return {header + field.at, field.length};
}

std::string text_of(const char* header, Field field) {
  const std::string_view bytes = bytes_of(header, field);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

/// Octal digits between blanks and zeros. The binary form, for files above 8 GB, is refused.
std::uint64_t number_of(const char* header, Field field, const char* what) {
  std::uint64_t value = 0;
  bool digits = false, ended = false;
  for (const char c : bytes_of(header, field)) {
    if (c == ' ' || c == '\0') {
      ended = digits;
    } else if (c >= '0' && c <= '7' && !ended) {
      value = value * 8 + static_cast<std::uint64_t>(c - '0');
      digits = true;
    } else {
      throw Error(std::string("the tar archive is damaged: a header's ") + what + " is not an octal number");
    }
  }
  if (!digits) throw Error(std::string("the tar archive is damaged: a header has no ") + what);
  return value;
}

void check_header(const char* header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    sum += own ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(header[i]);
  }
  if (sum != number_of(header, kChecksum, "checksum")) {
    throw Error("the tar archive is damaged: the checksum of a header is wrong");
  }
}

void check_name(const std::string& name) {
  const auto refuse = [&name](const char* why) {
    throw Error("the tar archive has an entry '" + name + "', whose name " + why + ": not unpacked");
  };
  if (name.empty()) refuse("is empty");
  if (name.front() == '/') refuse("is absolute");
  if (name.find('\\') != std::string::npos) refuse("has a backslash");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.compare(begin, end - begin, "..") == 0) refuse("leads out of its folder");
    begin = end + 1;
  }
}

}  // namespace

/// The unpacked bytes one after the other.
class TarGzReader::Gunzip {
 public:
  Gunzip(Source source, std::uint64_t limit_bytes) : source_(std::move(source)), left_(limit_bytes) {
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw Error("zlib could not be started (no memory?)");
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Fills `out` as far as the data goes; returns how many bytes it wrote.
  std::size_t read(char* out, std::size_t count) {
    std::size_t given = 0;
    while (given < count && !at_end_) given += inflate_some(out + given, count - given);
    return given;
  }

 private:
  std::size_t inflate_some(char* out, std::size_t count) {
    if (stream_.avail_in == 0) refill();
    const auto room = static_cast<uInt>(std::min<std::size_t>(count, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t written = room - stream_.avail_out;
    if (written > left_) throw Error("the archive unpacks to more than is accepted");
    left_ -= written;
    if (result == Z_STREAM_END) {
      end_member();
    } else if (result != Z_OK && !(result == Z_BUF_ERROR && stream_.avail_in == 0)) {
      throw Error(std::string("damaged gzip data: ") + (stream_.msg ? stream_.msg : "unknown reason"));
    }
    return written;
  }

  void refill() {
    const std::size_t got = source_(input_.data(), input_.size());
    if (got == 0) throw Error("the gzip data is cut short");
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
  }

  // A gzip file may have several members, which follow each other.
  void end_member() {
    if (stream_.avail_in == 0) {
      const std::size_t got = source_(input_.data(), input_.size());
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(got);
    }
    at_end_ = stream_.avail_in == 0 || *stream_.next_in != 0x1f || inflateReset(&stream_) != Z_OK;
  }

  Source source_;
  std::uint64_t left_;
  std::string input_ = std::string(std::size_t{1} << 16, '\0');
  bool at_end_ = false;
  z_stream stream_ = {};
};

TarGzReader::TarGzReader(Source source, const TarLimits& limits)
    : gunzip_(std::make_unique<Gunzip>(std::move(source), limits.bytes)),
      entries_left_(limits.entries),
      piece_(kPiece, '\0') {}

TarGzReader::~TarGzReader() = default;

void TarGzReader::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    const std::size_t count = std::min<std::uint64_t>(bytes, piece_.size());
    if (gunzip_->read(piece_.data(), count) != count) throw Error("the tar archive is cut short");
    bytes -= count;
  }
}

// Archives end with blocks of zeros; one that simply stops after an entry is fine as well.
bool TarGzReader::read_header(Entry& entry, char& type) {
  char header[kBlock];
  const std::size_t got = gunzip_->read(header, kBlock);
  if (got == 0 || (got == kBlock && std::all_of(header, header + kBlock, [](char c) { return c == '\0'; })))
    return false;
  if (got != kBlock) throw Error("the tar archive is cut short");
  check_header(header);
  entry.name = text_of(header, kName);
  if (bytes_of(header, kMagic) == "ustar" && header[kMagic.at + kMagic.length] == '\0') {
    const std::string prefix = text_of(header, kPrefix);
    if (!prefix.empty()) entry.name = prefix + "/" + entry.name;
  }
  entry.bytes = number_of(header, kSize, "size");
  type = header[kType.at];
  return true;
}

bool TarGzReader::next(Entry& entry) {
  char type = 0;
  while (true) {
    skip(left_);
    skip(padding_);
    left_ = padding_ = 0;
    if (!read_header(entry, type)) return false;
    if (--entries_left_ < 0) throw Error("the tar archive has more entries than are accepted");
    left_ = entry.bytes;
    padding_ = (kBlock - entry.bytes % kBlock) % kBlock;
    if (type != '0' && type != '\0') continue;  // folders, links, long names: passed over
    check_name(entry.name);
    return true;
  }
}

std::string_view TarGzReader::read() {
  const std::size_t count = std::min<std::uint64_t>(left_, piece_.size());
  if (gunzip_->read(piece_.data(), count) != count) throw Error("the tar archive is cut short");
  left_ -= count;
  return {piece_.data(), count};
}

}  // namespace evener::data
