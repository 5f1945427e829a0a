// Binary values in JSON texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evener::job {

/// What RFC 4648's base64 stands for, with or without its padding; nothing where `text` isn't base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace evener::job
