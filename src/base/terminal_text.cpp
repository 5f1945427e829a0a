#include "base/terminal_text.h"

#include <cstddef>

namespace evener {
namespace {

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    // U+0080 to U+009F in UTF-8: U+009B alone begins an escape sequence.
    const bool second_set =
        c == '\xc2' && n + 1 < text.size() && (static_cast<unsigned char>(text[n + 1]) & 0xe0) == 0x80;
    if (second_set) ++n;
    const bool first_set = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    safe += second_set || (first_set && kept.find(c) == std::string_view::npos) ? '?' : c;
  }
  return safe;
}

}  // namespace

std::string terminal_text(std::string_view text) {
  return without_controls(text, "\n\t");
}

std::string one_line(std::string_view text) {
  return without_controls(text, "");
}

std::string shell_word(std::string text) {
  if (text.find_first_of(" '\"$&;()<>|*?[]#~`\\!") == std::string::npos) return text;
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4)) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

}  // namespace evener
