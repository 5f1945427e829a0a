#include "data/sources/binary_files.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/image_files.h"

namespace evener::data {

namespace {

/// Reads the bytes of a file held in memory in sequence, whether it is gzipped or not. Throws Error with the reason
/// alone: gzip data that is damaged or cut short.
class ByteReader {
 public:
  explicit ByteReader(std::string_view file) : file_(file) {
    if (!file.starts_with("\x1f\x8b")) return;
    if (file.size() > std::numeric_limits<uInt>::max()) throw Error("the gzip file is larger than 4 GB");
    inflater_.emplace();
    inflater_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
    inflater_->stream.avail_in = static_cast<uInt>(file.size());
  }

  /// Fills `out` as far as the file goes; returns how many bytes it wrote.
  std::size_t read(std::uint8_t* out, std::size_t count) {
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

  /// Appends to `values` until it has `count` bytes or the file ends; returns how many are valid. Takes memory in
  /// steps, since a count out of a file is not to be trusted.
  std::uint64_t read_values(std::uint64_t count, PageBytes& values) {
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

  /// An upper bound of the bytes in the whole file, unpacked.
  std::uint64_t possible_bytes() const {
    constexpr std::uint64_t kMaxDeflateRatio = 1032;
    return inflater_ ? file_.size() * kMaxDeflateRatio : file_.size();
  }

 private:
  struct Inflater {
    z_stream stream = {};
    Inflater() {
      constexpr int kGzipWindow = 15 + 16;
      if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw Error("zlib could not be started (no memory?)");
    }
    ~Inflater() { inflateEnd(&stream); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
  };

  std::size_t inflate_some(std::uint8_t* out, std::size_t count) {
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

  std::string_view file_;
  std::size_t position_ = 0;  // of plain files
  bool at_end_ = false;
  std::optional<Inflater> inflater_;  // of gzipped files
};

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

constexpr std::size_t kRecordBytes10 = 1 + kCifarImageBytes, kRecordBytes100 = 2 + kCifarImageBytes;
constexpr std::uint8_t kCoarseClasses = 20;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;  // the published files have 30 and 150 MB

CifarKind kind_of(std::size_t size, CifarKind preferred) {
  const bool fits_10 = size % kRecordBytes10 == 0, fits_100 = size % kRecordBytes100 == 0;
  if (fits_10 && fits_100) return preferred;
  if (fits_10) return CifarKind::kCifar10;
  if (fits_100) return CifarKind::kCifar100;
  throw Error("it holds " + std::to_string(size) + " bytes, which is no whole number of records of " +
              std::to_string(kRecordBytes10) + " bytes (CIFAR-10) or " + std::to_string(kRecordBytes100) +
              " bytes (CIFAR-100): cut short, or another kind of file");
}

void check_label(const char* what, std::size_t record, std::uint8_t label, std::size_t count) {
  if (label < count) return;
  throw Error("record " + std::to_string(record) + " has the " + what + " " + std::to_string(label) + "; 0 to " +
              std::to_string(count - 1) + " are possible: damaged, or another kind of file");
}

void check_labels(const CifarRecords& records) {
  const bool is_100 = records.kind == CifarKind::kCifar100;
  for (std::size_t i = 0; i < records.size(); ++i) {
    check_label(is_100 ? "fine label" : "label", i, records.label(i), class_count(records.kind));
    if (is_100) check_label("coarse label", i, records.bytes[i * records.record_bytes()], kCoarseClasses);
  }
}

}  // namespace

std::optional<IdxName> parse_idx_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string rest = lower_case(name);
  // Takes the last word off where it is one of these; "" where it isn't.
  const auto take = [&rest](std::initializer_list<std::string_view> words) -> std::string {
    const std::size_t separator = rest.find_last_of("-_.");
    const std::size_t begin = separator == std::string::npos ? 0 : separator + 1;
    const std::string last = rest.substr(begin);
    if (std::ranges::find(words, last) == words.end()) return "";
    rest.resize(begin == 0 ? 0 : begin - 1);
    return last;
  };
  take({"gz"});
  const std::string ending = take({"idx"}), bytes = take({"ubyte", "byte"}), kind = take({"idx1", "idx3"});
  const std::string what = take({"images", "labels"}), part = take({"train", "t10k", "test"});
  const bool is_marked = !ending.empty() || !bytes.empty() || !kind.empty();
  if (!is_marked || what.empty() || part.empty() || name.starts_with('.')) return std::nullopt;
  const std::size_t prefix_length = rest.empty() ? 0 : rest.size() + 1;
  return IdxName{name.substr(0, prefix_length), part != "train", what == "images"};
}

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
  const std::uint64_t found = reader.read_values(count, array.values);
  if (found != count) {
    throw Error("cut short: its header announces " + extents_text(array.extents) + " values, it has " +
                std::to_string(found));
  }
  if (reader.read(word, 1) != 0) {
    throw Error("it has more data than the " + extents_text(array.extents) + " values its header announces");
  }
  return array;
}

std::size_t class_count(CifarKind kind) {
  return kind == CifarKind::kCifar10 ? 10 : 100;
}

CifarRecords parse_cifar(std::string_view file, CifarKind preferred) {
  if (file.empty()) throw Error("the file is empty");
  ByteReader reader(file);
  CifarRecords records;
  const std::uint64_t limit = std::min(reader.possible_bytes(), kMaxBytes);
  const std::uint64_t got = reader.read_values(limit, records.bytes);
  std::uint8_t more = 0;
  if (got == limit && reader.read(&more, 1) != 0) throw Error("it holds more than 4 GB, which is not accepted");
  records.bytes.resize(got);
  if (records.bytes.empty()) throw Error("it holds no data");
  records.kind = kind_of(records.bytes.size(), preferred);
  check_labels(records);
  return records;
}

}  // namespace evener::data
