#include "weights/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/names.h"

namespace evener::weights {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::size_t kLongestComment = 0xffff;
constexpr std::uint16_t kZip64Extra = 1;

// The largest ratio of unpacked to packed size. Weights hardly compress, so that a larger ratio means a zip bomb.
constexpr std::uint64_t kMostGrowth = 64;
constexpr std::uint64_t kGrowthAllowance_bytes = 1 << 20;

/// A checked view on the fields of a header, little-endian.
class Fields {
 public:
  Fields(std::string_view bytes, std::uint64_t offset, std::uint64_t length, const char* what) {
    if (offset > bytes.size() || length > bytes.size() - offset) {
      throw Error(std::string("its zip archive is cut short or damaged: ") + what + " should be at byte " +
                  std::to_string(offset) + " of " + std::to_string(bytes.size()));
    }
    bytes_ = bytes.substr(offset, length);
  }

  template <class T>
  T get(std::size_t at) const {
    static_assert(std::endian::native == std::endian::little);
    T value;
    if (at > bytes_.size() || sizeof value > bytes_.size() - at)
      throw Error("its zip archive is damaged: a header is too short");
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  std::string_view text(std::size_t at, std::size_t length) const { return bytes_.substr(at, length); }

 private:
  std::string_view bytes_;
};

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

/// The end record lies at the very end, before a comment whose length it gives.
std::size_t find_end(std::string_view bytes) {
  if (bytes.size() >= kEndBytes) {
    const std::size_t last = bytes.size() - kEndBytes;
    const std::size_t first = last - std::min(last, kLongestComment);
    for (std::size_t at = last + 1; at-- > first;) {
      const Fields end(bytes, at, kEndBytes, "the end record");
      if (end.get<std::uint32_t>(0) == kEndSignature && end.get<std::uint16_t>(20) == last - at) return at;
    }
  }
  throw Error("its zip archive has no directory at the end; the file is cut short");
}

Directory find_directory(std::string_view bytes) {
  const std::size_t at = find_end(bytes);
  const Fields end(bytes, at, kEndBytes, "the end record");
  Directory directory{end.get<std::uint32_t>(16), end.get<std::uint32_t>(12), end.get<std::uint16_t>(10)};
  const bool small = directory.offset != 0xffffffff && directory.bytes != 0xffffffff && directory.entries != 0xffff;
  if (at >= kLocator64Bytes) {
    const Fields locator(bytes, at - kLocator64Bytes, kLocator64Bytes, "the zip64 locator");
    if (locator.get<std::uint32_t>(0) == kLocator64Signature) {
      const Fields end64(bytes, locator.get<std::uint64_t>(8), kEnd64Bytes, "the zip64 end record");
      if (end64.get<std::uint32_t>(0) != kEnd64Signature)
        throw Error("its zip archive has no zip64 end record where it should be");
      return {end64.get<std::uint64_t>(48), end64.get<std::uint64_t>(40), end64.get<std::uint64_t>(32)};
    }
  }
  if (!small) throw Error("its zip archive is too large for a directory without zip64 records");
  return directory;
}

/// Replaces each 32-bit field that is full by the 64-bit one of the extra field, in the order of the format.
void widen(ZipEntry& entry, std::string_view extra) {
  std::vector<std::uint64_t*> full;
  for (std::uint64_t* field : {&entry.size, &entry.packed, &entry.header}) {
    if (*field == 0xffffffff) full.push_back(field);
  }
  while (!full.empty() && extra.size() >= 4) {
    const Fields head(extra, 0, 4, "an extra field");
    const std::uint16_t kind = head.get<std::uint16_t>(0), length = head.get<std::uint16_t>(2);
    const Fields body(extra, 4, length, "an extra field");
    if (kind == kZip64Extra) {
      for (std::size_t i = 0; i < full.size(); ++i) *full[i] = body.get<std::uint64_t>(8 * i);
      return;
    }
    extra.remove_prefix(4u + length);
  }
}

/// The entry at `at`; `at` moves behind it.
ZipEntry read_entry(std::string_view directory, std::uint64_t& at) {
  const Fields head(directory, at, kEntryBytes, "an entry of its directory");
  if (head.get<std::uint32_t>(0) != kEntrySignature) throw Error("its zip archive has a damaged directory");
  const std::size_t name = head.get<std::uint16_t>(28), extra = head.get<std::uint16_t>(30),
                    comment = head.get<std::uint16_t>(32);
  const Fields rest(directory, at + kEntryBytes, name + extra + comment, "an entry of its directory");
  ZipEntry entry;
  entry.name = rest.text(0, name);
  entry.packed = head.get<std::uint32_t>(20);
  entry.size = head.get<std::uint32_t>(24);
  entry.header = head.get<std::uint32_t>(42);
  widen(entry, rest.text(name, extra));
  const auto flags = head.get<std::uint16_t>(8), method = head.get<std::uint16_t>(10);
  if (flags & 1) throw Error("entry " + quoted_text(entry.name) + " of its zip archive is encrypted");
  if (method != 0 && method != 8) {
    throw Error("entry " + quoted_text(entry.name) + " of its zip archive is packed with method " +
                std::to_string(method) + "; only stored and deflated ones can be read");
  }
  entry.deflated = method == 8;
  if (!entry.deflated && entry.size != entry.packed) {
    throw Error("entry " + quoted_text(entry.name) + " of its zip archive has two different sizes");
  }
  at += kEntryBytes + name + extra + comment;
  return entry;
}

void check_sizes(const std::vector<ZipEntry>& entries, std::uint64_t archive_bytes) {
  std::uint64_t packed = 0, unpacked = 0;
  for (const ZipEntry& entry : entries) {
    const bool overflow = __builtin_add_overflow(packed, entry.packed, &packed) ||
                          __builtin_add_overflow(unpacked, entry.size, &unpacked);
    if (overflow || packed > archive_bytes) {
      throw Error("the entries of its zip archive are longer than the file; it is cut short or damaged");
    }
    if (unpacked / kMostGrowth > archive_bytes + kGrowthAllowance_bytes) {
      throw Error("its zip archive would unpack to more than " + std::to_string(kMostGrowth) + " times its size");
    }
  }
}

}  // namespace

ZipReader::ZipReader(std::string_view bytes) : bytes_(bytes) {
  const Directory found = find_directory(bytes);
  Fields(bytes, found.offset, found.bytes, "its directory");
  const std::string_view directory = bytes.substr(found.offset, found.bytes);
  if (found.entries > directory.size() / kEntryBytes) throw Error("its zip archive has a damaged directory");
  entries_.reserve(found.entries);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < found.entries; ++i) entries_.push_back(read_entry(directory, at));
  std::ranges::sort(entries_, {}, &ZipEntry::name);
  const auto twice = std::ranges::adjacent_find(entries_, {}, &ZipEntry::name);
  if (twice != entries_.end()) throw Error("its zip archive has the entry " + quoted_text(twice->name) + " twice");
  check_sizes(entries_, bytes.size());
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &ZipEntry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

std::string_view ZipReader::read(const ZipEntry& entry, std::string& buffer) const {
  const Fields local(bytes_, entry.header, kLocalBytes, "an entry");
  if (local.get<std::uint32_t>(0) != kLocalSignature) {
    throw Error("entry " + quoted_text(entry.name) + " of its zip archive isn't where the directory says");
  }
  // The name and the extra field may be longer here than in the directory: PyTorch aligns the data with them.
  const std::uint64_t begin = entry.header + kLocalBytes + local.get<std::uint16_t>(26) + local.get<std::uint16_t>(28);
  Fields(bytes_, begin, entry.packed, "the data of an entry");
  const std::string_view packed = bytes_.substr(begin, entry.packed);
  if (!entry.deflated) return packed;

  constexpr std::uint64_t kMost = std::numeric_limits<uInt>::max();
  if (entry.packed > kMost || entry.size > kMost) {
    throw Error("entry " + quoted_text(entry.name) + " of its zip archive is too large to be unpacked here");
  }
  buffer.assign(entry.size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream.avail_out = static_cast<uInt>(buffer.size());
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error("zlib can't be started");
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.total_out == entry.size;
  inflateEnd(&stream);
  if (!whole) throw Error("entry " + quoted_text(entry.name) + " of its zip archive is damaged");
  return buffer;
}

}  // namespace evener::weights
