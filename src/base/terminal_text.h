// Text from elsewhere (names of files and classes) made harmless for a terminal and for a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace evener {

/// Replaces the control characters that a terminal would obey (C0 and C1) by '?', but keeps newlines and tabs.
std::string terminal_text(std::string_view text);
/// The same in one line: newlines and tabs are replaced as well.
std::string one_line(std::string_view text);

/// `text` as one word of a shell's command line, in quotes where it needs them.
std::string shell_word(std::string text);

}  // namespace evener
