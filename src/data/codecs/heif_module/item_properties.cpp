#include "data/codecs/heif_module/item_properties.h"

#include <cstdint>
#include <vector>

#include "data/codecs/exif.h"

namespace evener::data::heif_module {

namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// Takes a number of so many bytes off; beyond the end it is 0.
std::uint32_t take(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) {
    bytes = {};
    return 0;
  }
  const auto value = static_cast<std::uint32_t>(big_endian(bytes.substr(0, count)));
  bytes.remove_prefix(count);
  return value;
}

struct Box {
  std::string_view kind;
  std::string_view content;
};

/// Takes the first box off: its length, four letters, perhaps a longer length, the content. Nothing where none is left.
std::optional<Box> next_box(std::string_view& boxes) {
  if (boxes.size() < 8) return std::nullopt;
  std::size_t begin = 8;
  std::uint64_t length = big_endian(boxes.substr(0, 4));
  if (length == 1 && boxes.size() >= 16) {
    begin = 16;
    length = big_endian(boxes.substr(8, 8));
  }
  if (length == 0 || length > boxes.size()) length = boxes.size();  // to the end
  if (length < begin) return std::nullopt;
  const Box box{boxes.substr(4, 4), boxes.substr(begin, length - begin)};
  boxes.remove_prefix(length);
  return box;
}

std::string_view content_of(std::string_view boxes, std::string_view kind) {
  while (const std::optional<Box> box = next_box(boxes)) {
    if (box->kind == kind) return box->content;
  }
  return {};
}

/// The boxes in "meta", behind its version and flags.
std::string_view meta_of(std::string_view file) {
  std::string_view meta = content_of(file, "meta");
  take(meta, 4);
  return meta;
}

std::vector<Box> properties_of(std::string_view meta) {
  std::string_view boxes = content_of(content_of(meta, "iprp"), "ipco");
  std::vector<Box> properties;
  while (const std::optional<Box> box = next_box(boxes)) properties.push_back(*box);
  return properties;
}

/// Indices of the properties of the file's picture, from 1, in the order in which they are applied.
std::vector<std::uint32_t> properties_of_primary(std::string_view meta) {
  constexpr std::uint32_t kHasWideIndices = 1;
  std::string_view primary = content_of(meta, "pitm");
  const bool has_wide_primary = take(primary, 4) >> 24 != 0;
  const std::uint32_t wanted = take(primary, has_wide_primary ? 4 : 2);
  std::string_view items = content_of(content_of(meta, "iprp"), "ipma");
  const std::uint32_t version_and_flags = take(items, 4);
  const bool is_wide = (version_and_flags & kHasWideIndices) != 0;
  const std::uint32_t count = take(items, 4);
  for (std::uint32_t i = 0; i < count && !items.empty(); ++i) {
    const std::uint32_t item = take(items, version_and_flags >> 24 != 0 ? 4 : 2);
    std::vector<std::uint32_t> indices(take(items, 1));
    for (std::uint32_t& index : indices) index = take(items, is_wide ? 2 : 1) & (is_wide ? 0x7FFF : 0x7F);
    if (item == wanted) return indices;
  }
  return {};
}

}  // namespace

bool is_monochrome(std::string_view file) {
  constexpr std::size_t kHevcChroma = 16, kAv1Chroma = 2;
  bool found = false;
  for (const Box& box : properties_of(meta_of(file))) {
    const bool is_hevc = box.kind == "hvcC" && box.content.size() > kHevcChroma;
    const bool is_av1 = box.kind == "av1C" && box.content.size() > kAv1Chroma;
    if (is_hevc && (box.content[kHevcChroma] & 3) != 0) return false;
    if (is_av1 && (box.content[kAv1Chroma] & 0x10) == 0) return false;
    found = found || is_hevc || is_av1;
  }
  return found;
}

std::optional<int> orientation_of_primary(std::string_view file) {
  const std::string_view meta = meta_of(file);
  const std::vector<Box> properties = properties_of(meta);
  std::optional<int> turns;
  std::optional<Mirror> mirror;
  for (const std::uint32_t index : properties_of_primary(meta)) {
    if (index < 1 || index > properties.size()) continue;
    const auto& [kind, content] = properties[index - 1];
    if (kind == "clap") return std::nullopt;
    if (kind != "irot" && kind != "imir") continue;
    if (content.empty()) return std::nullopt;
    if (kind == "imir") {
      if (mirror) return std::nullopt;
      mirror = (content[0] & 1) == 0 ? Mirror::kTopWithBottom : Mirror::kLeftWithRight;
    } else {
      if (turns) return std::nullopt;
      // Mirrored first and then turned is turned the other way and then mirrored.
      turns = mirror ? -(content[0] & 3) : content[0] & 3;
    }
  }
  return orientation_of_turns(turns.value_or(0), mirror.value_or(Mirror::kNone));
}

}  // namespace evener::data::heif_module
