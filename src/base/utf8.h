// A reversible conversion of any bytes to UTF-8: file names may be any bytes, but JSON and metadata have to be UTF-8.
// Also reads texts as other systems' editors write them.
#pragma once

#include <string>
#include <string_view>

namespace evener {

/// `bytes` as UTF-8. Text that is UTF-8 stays as it is. Each byte that is part of no character becomes a character of
/// its own from U+F780 to U+F7FF (U+F700 plus the byte), which Unicode leaves to private use; the bytes of such a
/// character in the text are taken one by one too, so that from_utf8_text() gives exactly `bytes` back.
std::string to_utf8_text(std::string_view bytes);
std::string from_utf8_text(std::string_view text);
bool is_utf8(std::string_view bytes);

/// A foreign text file's bytes without the byte order mark that editors put before them; UTF-16, which such a mark or a
/// zero byte beside the first character tells, becomes UTF-8. Throws Error with the reason alone for UTF-32.
std::string text_without_byte_order_mark(std::string bytes);

}  // namespace evener
