#include "base/utf8.h"

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace evener
