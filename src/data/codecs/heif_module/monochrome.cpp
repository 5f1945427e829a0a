#include "data/codecs/heif_module/monochrome.h"

#include <cstdint>
#include <optional>

namespace evener::data::heif_module {

namespace {

struct Box {
  std::string_view kind;
  std::string_view content;
};

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

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

}  // namespace

bool is_monochrome(std::string_view file) {
  constexpr std::size_t kVersionAndFlags = 4, kHevcChroma = 16, kAv1Chroma = 2;
  const std::string_view meta = content_of(file, "meta");
  if (meta.size() < kVersionAndFlags) return false;
  std::string_view properties = content_of(content_of(meta.substr(kVersionAndFlags), "iprp"), "ipco");
  bool found = false;
  while (const std::optional<Box> box = next_box(properties)) {
    const bool is_hevc = box->kind == "hvcC" && box->content.size() > kHevcChroma;
    const bool is_av1 = box->kind == "av1C" && box->content.size() > kAv1Chroma;
    if (is_hevc && (box->content[kHevcChroma] & 3) != 0) return false;
    if (is_av1 && (box->content[kAv1Chroma] & 0x10) == 0) return false;
    found = found || is_hevc || is_av1;
  }
  return found;
}

}  // namespace evener::data::heif_module
