#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"

namespace evener {
namespace {

constexpr std::uint32_t kFirstEscape = 0xF780, kLastEscape = 0xF7FF;

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: there is no valid character
};

/// The character that `bytes` begin with (RFC 3629: no longer form than needed, no surrogates, up to U+10FFFF).
Character first_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) return {};
  std::uint32_t code = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

bool is_escape(std::uint32_t code) {
  return code >= kFirstEscape && code <= kLastEscape;
}

/// U+F700 plus the byte, in UTF-8.
void append_escape(std::string& text, std::uint8_t byte) {
  text += '\xEF';
  text += static_cast<char>(0x9C | byte >> 6);
  text += static_cast<char>(0x80 | (byte & 0x3F));
}

void append_character(std::string& text, std::uint32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<std::uint8_t, 4> kFirst = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst.at(static_cast<std::size_t>(more)) | code >> (6 * more));
  for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) text += static_cast<char>(0x80 | (code >> shift & 0x3F));
}

/// Halves of characters without the other one become U+FFFD, as a last odd byte does.
std::string text_of_utf16(std::string_view bytes, bool is_big_endian) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    if (at + 1 >= bytes.size()) return 0xFFFD;
    const auto first = static_cast<std::uint8_t>(bytes[at]), second = static_cast<std::uint8_t>(bytes[at + 1]);
    return is_big_endian ? first << 8 | second : second << 8 | first;
  };
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (code >= 0xD800 && code <= 0xDFFF) {
      const std::uint32_t next = unit(at + 2);
      const bool is_pair = code < 0xDC00 && next >= 0xDC00 && next <= 0xDFFF;
      code = is_pair ? 0x10000 + ((code & 0x3FF) << 10 | (next & 0x3FF)) : 0xFFFD;
      if (is_pair) at += 2;
    }
    append_character(text, code);
  }
  return text;
}

}  // namespace

std::string to_utf8_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character next = first_character(bytes);
    if (next.bytes > 0 && !is_escape(next.code)) {
      text += bytes.substr(0, next.bytes);
      bytes.remove_prefix(next.bytes);
    } else {
      append_escape(text, static_cast<std::uint8_t>(bytes.front()));
      bytes.remove_prefix(1);
    }
  }
  return text;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Character next = first_character(bytes);
    if (next.bytes == 0) return false;
    bytes.remove_prefix(next.bytes);
  }
  return true;
}

std::string from_utf8_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    const std::size_t length = next.bytes > 0 ? next.bytes : 1;
    if (is_escape(next.code)) {
      bytes += static_cast<char>(next.code & 0xFF);
    } else {
      bytes += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return bytes;
}

std::string text_without_byte_order_mark(std::string bytes) {
  const auto begins = [&bytes](std::string_view mark) { return bytes.starts_with(mark); };
  if (begins("\xEF\xBB\xBF")) return bytes.substr(3);
  if (begins({"\xFF\xFE\0\0", 4}) || begins({"\0\0\xFE\xFF", 4})) {
    throw Error("it is a text in UTF-32; save it as UTF-8");
  }
  if (begins("\xFF\xFE")) return text_of_utf16(std::string_view(bytes).substr(2), false);
  if (begins("\xFE\xFF")) return text_of_utf16(std::string_view(bytes).substr(2), true);
  const bool is_zero_first = bytes.size() >= 2 && bytes[0] == 0, is_zero_second = bytes.size() >= 2 && bytes[1] == 0;
  if (is_zero_first == is_zero_second) return bytes;
  // Zero bytes may also divide names, the first of them of one letter. They are fewer then.
  constexpr std::size_t kLookedAt = 256;
  std::size_t zeros = 0, units = 0;
  for (std::size_t i = is_zero_first ? 0 : 1; i < std::min(bytes.size(), kLookedAt); i += 2, ++units) {
    zeros += bytes[i] == 0 ? 1 : 0;
  }
  return 4 * zeros >= units ? text_of_utf16(bytes, is_zero_first) : bytes;
}

std::vector<std::string> lines_of_list(std::string bytes, bool trims) {
  const std::string text = text_without_byte_order_mark(std::move(bytes));
  const bool has_zeros = text.find('\0') != std::string::npos;
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line, has_zeros ? '\0' : '\n');) {
    if (!has_zeros && line.ends_with('\r')) line.pop_back();
    lines.push_back(trims && !has_zeros ? std::string(trimmed(line)) : std::move(line));
  }
  return lines;
}

std::vector<std::string> read_list(const std::filesystem::path& path, std::uint64_t limit_bytes, bool trims) {
  std::string bytes = read_file(path, limit_bytes);
  try {
    std::vector<std::string> lines = lines_of_list(std::move(bytes), trims);
    std::erase(lines, "");
    return lines;
  } catch (const Error& error) {
    throw Error("can't read '" + path.string() + "': " + error.what());
  }
}

}  // namespace evener
