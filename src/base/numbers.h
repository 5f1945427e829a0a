// Numbers in texts, and percentages, which have their sign there: 5% and a share of 0.05 can't be mixed up.
#pragma once

#include <charconv>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace evener {

/// Parses the whole text as a number, with a decimal point in any locale; nothing where it is no number, or doesn't fit
/// the type.
template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct Percentage {
  double percent = 0;

  double share() const { return percent / 100; }
  std::string text() const;
  auto operator<=>(const Percentage&) const = default;
};

/// Reads "5%"; nothing for a number without the sign, and for other texts.
std::optional<Percentage> to_percentage(std::string_view text);

/// The right spelling of `text`, which to_percentage() doesn't take: "5%" for "5", and for what may be a share "0.5% (a
/// share of 0.5 is 50%)"; `otherwise` for what is no number.
std::string percentage_for(std::string_view text, std::string otherwise);

}  // namespace evener
