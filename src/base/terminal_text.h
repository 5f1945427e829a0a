// Text from elsewhere (names of files and classes) made harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace evener {

/// Replaces what a terminal would obey (control characters of both sets) by '?', but keeps newlines and tabs.
std::string terminal_text(std::string_view text);
/// The same in one line: newlines and tabs are replaced as well.
std::string one_line(std::string_view text);

}  // namespace evener
