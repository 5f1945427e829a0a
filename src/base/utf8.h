// A reversible conversion of any bytes to UTF-8: file names may be any bytes, but JSON and metadata have to be UTF-8.
// Also reads texts as other systems' editors write them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evener {

/// `bytes` as UTF-8. Text that is UTF-8 stays as it is. Each byte that is part of no character becomes a character of
/// its own from U+F780 to U+F7FF (U+F700 plus the byte), which Unicode leaves to private use; the bytes of such a
/// character in the text are taken one by one too, so that from_utf8_text() gives exactly `bytes` back.
std::string to_utf8_text(std::string_view bytes);
std::string from_utf8_text(std::string_view text);
bool is_utf8(std::string_view bytes);

/// A foreign text file's bytes without the byte order mark that editors put before them; UTF-16, which such a mark or
/// zero bytes beside the first character and many others tell, becomes UTF-8. Throws Error with the reason alone for
/// UTF-32.
std::string text_without_byte_order_mark(std::string bytes);

/// What a list's lines hold, "" of empty ones; with `trims` without blanks around it. Where zero bytes are in the list,
/// as `find -print0` puts them behind names, these alone divide it, and names are as they are. Throws as the above.
std::vector<std::string> lines_of_list(std::string bytes, bool trims);
/// The same of a file, without empty lines. Throws Error that names it.
std::vector<std::string> read_list(const std::filesystem::path& path, std::uint64_t limit_bytes, bool trims = true);

}  // namespace evener
