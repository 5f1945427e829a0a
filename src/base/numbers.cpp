#include "base/numbers.h"

#include <fmt/format.h>

namespace evener {

std::string Percentage::text() const {
  return fmt::format("{}%", percent);
}

std::optional<Percentage> to_percentage(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  const auto number = to_number<double>(text.substr(0, text.size() - 1));
  return number ? std::optional(Percentage{*number}) : std::nullopt;
}

std::string percentage_for(std::string_view text, std::string otherwise) {
  const auto number = to_number<double>(text);
  if (!number) return otherwise;
  const std::string written = Percentage{*number}.text();
  const bool may_be_share = *number > 0 && *number < 1;
  return may_be_share ? fmt::format("{} (a share of {} is {:g}%)", written, *number, 100 * *number) : written;
}

}  // namespace evener
