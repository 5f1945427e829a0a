#include "base/names.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/terminal_text.h"

namespace evener {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Edits (insert, remove, replace, swap neighbours) that turn `a` into `b`; optimal string alignment.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Three significant digits without trailing zeros: 1.5, 21.3, 850.
std::string three_digits(double value) {
  char text[32];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string result = text;
  if (result.find('.') != std::string::npos) {
    result.erase(result.find_last_not_of('0') + 1);
    if (result.back() == '.') result.pop_back();
  }
  return result;
}

}  // namespace

/// Strips leading dashes, which would make "--out" resemble "--port".
static std::string_view bare(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kShort = 3;
  constexpr std::size_t kLongestCompared = 200;  // nothing we know is longer, and the cost is quadratic
  if (name.empty() || name.size() > kLongestCompared) return "";
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const std::string_view theirs = bare(name), ours = bare(candidate);
    // A short name with another first letter is another word: "out" isn't a misspelt "cut".
    const bool is_short = std::max(theirs.size(), ours.size()) <= kShort;
    if (is_short && !theirs.empty() && !ours.empty() && lower(theirs[0]) != lower(ours[0])) continue;
    const std::size_t distance = edit_distance(theirs, ours);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(theirs.size(), ours.size()) / 3);
    if (distance > allowed || distance >= ours.size()) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  std::string message = "unknown " + std::string(what) + " '" + std::string(name) + "'";
  const std::string nearest = nearest_name(name, known);
  message += nearest.empty() ? "." : "; did you mean '" + nearest + "'?";
  if (known.empty()) return message;
  message += " Known: ";
  for (std::size_t i = 0; i < known.size(); ++i) message += (i ? ", " : "") + known[i];
  return message;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  const std::string result = one_line(text.substr(0, kLongest));
  return text.size() > kLongest ? result + "..." : result;
}

std::string quoted_text(std::string_view text) {
  return "'" + printable(text) + "'";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string bytes_text(std::uint64_t bytes) {
  return si_text(static_cast<double>(bytes), "B");
}

std::string si_text(double value, std::string_view unit) {
  static constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return (std::isnan(value) ? "nan " : value < 0 ? "-inf " : "inf ") + std::string(unit);
  const std::string sign = value < 0 ? "-" : "";
  double scaled = std::abs(value);
  std::size_t prefix = 0;
  while (scaled >= 999.5 && prefix + 1 < kPrefixes.size()) {
    scaled /= 1000;
    ++prefix;
  }
  std::string text = sign + three_digits(scaled);
  const std::string tail = kPrefixes[prefix] + std::string(unit);
  if (!tail.empty()) text += " " + tail;
  return text;
}

std::string duration_text(double seconds) {
  char text[48];
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + duration_text(-seconds);
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 59.95) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
    return text;
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
  } else {
    const long long minutes = std::llround(seconds / 60);
    std::snprintf(text, sizeof text, "%lld h %02lld min", minutes / 60, minutes % 60);
  }
  return text;
}

}  // namespace evener
