#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/terminal_text.h"
#include "base/utf8.h"

namespace evener::report {

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double step = std::pow(10, magnitude - 2);
  const double rounded = magnitude > 2 ? std::round(value / step) * step : value;
  std::string text = fmt::format("{:.{}f}", rounded, std::max(0, 2 - magnitude));
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t first_digit = value < 0 ? 1 : 0;
  for (std::size_t place = point; place > first_digit + 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}
std::string percent_text(const std::optional<double>& share) {
  return share ? percent_text(*share) : "-";
}

std::string listed(const std::vector<std::string>& words, std::size_t most) {
  if (words.size() > most) {
    std::vector<std::string> first(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most));
    first.push_back(std::to_string(words.size() - most) + " more");
    return listed(first);
  }
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

std::string escape_html(std::string_view text) {
  if (!is_utf8(text)) return escape_html(to_utf8_text(text));
  using Escape = std::pair<char, const char*>;
  static constexpr Escape kEscapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const auto* const known = std::ranges::find(kEscapes, c, &Escape::first);
    if (known != std::end(kEscapes)) {
      escaped += known->second;
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      escaped += c;
    }
  }
  return escaped;
}

std::string escape_json_for_script(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (std::size_t n = 0; n < json.size(); ++n) {
    const char c = json[n];
    const bool separator = json.substr(n, 3) == "\xe2\x80\xa8" || json.substr(n, 3) == "\xe2\x80\xa9";
    if (c == '<' || c == '>' || c == '&') {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (separator) {
      escaped += json[n + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      n += 2;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string url_path(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("/-._~").find(c) != std::string_view::npos;
    is_plain ? url += c : url += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::string escape_markdown(std::string_view text) {
  if (!is_utf8(text)) return escape_markdown(to_utf8_text(text));
  std::string escaped;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      escaped += ' ';
    } else {
      if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return one_line(escaped);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace evener::report
