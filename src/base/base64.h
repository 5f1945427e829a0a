// Bytes as text: base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evener {

/// Encodes `bytes`, with padding.
std::string to_base64(std::string_view bytes);
/// Decodes `text`, with or without padding; nothing where it isn't base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace evener
