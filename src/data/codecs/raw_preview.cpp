#include "data/codecs/raw_preview.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

constexpr std::string_view kFujifilm = "FUJIFILMCCD-RAW";

enum RawTag : std::uint32_t {
  kPanasonicPreview = 46,
  kStoredWidth = 256,
  kStoredHeight = 257,
  kCompression = 259,
  kStripOffsets = 273,
  kUprightTag = 274,
  kStripBytes = 279,
  kSubDirectories = 330,
  kPreviewBegin = 513,
  kPreviewBytes = 514
};

/// A tag's values in a TIFF directory: the first ones as numbers, and where they stand.
struct RawEntry {
  std::vector<std::uint32_t> values;
  std::size_t begin = 0, bytes = 0;
};

using RawDirectory = std::map<std::uint32_t, RawEntry>;

struct Preview {
  std::string_view file;  // JPEG
  StoredHeader header;
};

class RawFile {
 public:
  explicit RawFile(std::string_view file) : bytes_{file, !file.starts_with("MM")} {
    if (file.starts_with(kFujifilm)) {
      bytes_.is_little = false;
      add_part(bytes_.number(84, 4), bytes_.number(88, 4));
      return;
    }
    walk_directories();
  }

  /// Of all that were found the largest that is a picture: what JPEG compresses losslessly are the sensor's values.
  Preview preview() const {
    std::vector<std::string_view> parts = parts_;
    std::ranges::stable_sort(parts, std::ranges::greater{}, &std::string_view::size);
    std::string reason;
    for (const std::string_view part : parts) {
      try {
        StoredHeader header = read_jpeg_header(part);
        header.orientation = orientation(header);
        return {part, header};
      } catch (const Error& error) {
        if (reason.empty()) reason = std::string(": ") + error.what();
      }
    }
    throw Error("damaged RAW file, or one without a preview; save the photo as JPEG or TIFF" + reason);
  }

 private:
  int orientation(const StoredHeader& header) const {
    return preview_orientation(header.height, header.width, header.orientation, orientation_, is_landscape_);
  }

  /// Directories are chained, and have others below them; a damaged file may lead in circles.
  void walk_directories() {
    constexpr std::size_t kMostDirectories = 64;
    std::vector<std::size_t> waiting{bytes_.number(4, 4)};
    std::set<std::size_t> walked;
    bool is_first = true;
    for (std::size_t next = 0; next < waiting.size() && walked.size() < kMostDirectories; ++next) {
      const std::size_t at = waiting[next];
      if (at == 0 || at >= bytes_.file.size() || !walked.insert(at).second) continue;
      const std::size_t entries = bytes_.number(at, 2);
      const RawDirectory directory = read_directory(at, entries);
      if (is_first) orientation_ = static_cast<int>(std::clamp(value_of(directory, kUprightTag, 1), 1u, 8u));
      is_first = false;
      take(directory);
      if (const auto below = directory.find(kSubDirectories); below != directory.end()) {
        waiting.insert(waiting.end(), below->second.values.begin(), below->second.values.end());
      }
      waiting.push_back(bytes_.number(at + 2 + 12 * entries, 4));
    }
  }

  RawDirectory read_directory(std::size_t at, std::size_t entries) const {
    constexpr std::size_t kMostValues = 16;
    static constexpr std::size_t kTypeBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};
    RawDirectory directory;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::size_t entry = at + 2 + 12 * i;
      if (entry + 12 > bytes_.file.size()) break;
      const std::uint32_t type = bytes_.number(entry + 2, 2), count = bytes_.number(entry + 4, 4);
      if (type == 0 || type >= std::size(kTypeBytes)) continue;
      const std::size_t each = kTypeBytes[type], bytes = each * count;
      RawEntry& stored = directory[bytes_.number(entry, 2)];
      stored = {{}, bytes <= 4 ? entry + 8 : bytes_.number(entry + 8, 4), bytes};
      for (std::size_t value = 0; each <= 4 && value < std::min<std::size_t>(count, kMostValues); ++value) {
        stored.values.push_back(bytes_.number(stored.begin + value * each, each));
      }
    }
    return directory;
  }

  static std::uint32_t value_of(const RawDirectory& directory, std::uint32_t tag, std::uint32_t otherwise = 0) {
    const auto found = directory.find(tag);
    return found == directory.end() || found->second.values.empty() ? otherwise : found->second.values.front();
  }

  /// What of a directory may be a preview; and how the largest picture of all, the sensor's, lies.
  void take(const RawDirectory& directory) {
    constexpr std::uint32_t kOldJpeg = 6, kJpeg = 7;
    add_part(value_of(directory, kPreviewBegin), value_of(directory, kPreviewBytes));
    const std::uint32_t compression = value_of(directory, kCompression);
    if (compression == kOldJpeg || compression == kJpeg) {
      add_part(value_of(directory, kStripOffsets), value_of(directory, kStripBytes));
    }
    if (const auto preview = directory.find(kPanasonicPreview); preview != directory.end()) {
      add_part(preview->second.begin, preview->second.bytes);
    }
    const std::uint64_t width = value_of(directory, kStoredWidth), height = value_of(directory, kStoredHeight);
    if (width * height <= largest_) return;
    largest_ = width * height;
    is_landscape_ = width >= height;
  }

  void add_part(std::size_t begin, std::size_t bytes) {
    constexpr std::string_view kJpegMagic = "\xFF\xD8\xFF";
    if (begin == 0 || begin >= bytes_.file.size()) return;
    const std::string_view part = bytes_.file.substr(begin, bytes);
    if (part.starts_with(kJpegMagic)) parts_.push_back(part);
  }

  TiffBytes bytes_;
  std::vector<std::string_view> parts_;
  int orientation_ = 1;  // of the photo
  bool is_landscape_ = true;
  std::uint64_t largest_ = 0;  // pixels
};

}  // namespace

bool has_known_preview(std::string_view file) {
  static constexpr std::string_view kBeginnings[] = {{"II*\0", 4}, {"MM\0*", 4}, {"IIU\0", 4}, kFujifilm};
  return std::ranges::any_of(kBeginnings, [file](std::string_view beginning) { return file.starts_with(beginning); });
}

int preview_orientation(std::int64_t height, std::int64_t width, int of_preview, int of_photo, bool is_landscape) {
  if (of_preview != 1 || !is_transposed(of_photo) || height == width) return of_preview != 1 ? of_preview : of_photo;
  return is_landscape == (width > height) ? of_photo : 1;
}

StoredHeader read_raw_header(std::string_view file) {
  return RawFile(file).preview().header;
}

StoredPicture decode_raw(std::string_view file) {
  const Preview preview = RawFile(file).preview();
  StoredPicture stored = decode_jpeg(preview.file);
  stored.orientation = preview.header.orientation;
  return stored;
}

}  // namespace evener::data
