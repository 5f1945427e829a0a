#include "measure/limits/limit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::measure {
namespace {

constexpr double kMostMhz = 1e5, kMostWatts = 1e5;

std::optional<double> positive_number(std::string_view text, double most) {
  const std::optional<double> value = to_number<double>(trimmed(text));
  return value && *value > 0 && *value <= most ? value : std::nullopt;
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

double limit_watts(const std::string& whole, std::string_view word) {
  word = trimmed(word);
  if (word.ends_with("W") || word.ends_with("w")) word.remove_suffix(1);
  const std::optional<double> watts = positive_number(word, kMostWatts);
  if (watts) return *watts;
  throw UsageError(fmt::format("--power-limit {}: {} is no power in watts, such as 250W", quoted_text(whole),
                               quoted_text(std::string(word))));
}

}  // namespace

double parse_frequency_mhz(const std::string& text) {
  const std::pair<const char*, double> units[] = {{"ghz", 1e3}, {"mhz", 1}, {"khz", 1e-3}};
  const std::string lower = in_lower_case(std::string(trimmed(text)));
  for (const auto& [unit, mhz] : units) {
    if (!lower.ends_with(unit)) continue;
    const std::string_view number(lower.data(), lower.size() - std::string_view(unit).size());
    if (const std::optional<double> value = positive_number(number, kMostMhz / mhz)) return *value * mhz;
  }
  throw UsageError(
      fmt::format("--frequency {} is no frequency: give a number with GHz, MHz or kHz, such as 2.0GHz or 2000MHz",
                  quoted_text(text)));
}

PowerLimits parse_power_limits(const std::string& text) {
  if (text.find(',') != std::string::npos) {
    throw UsageError(
        fmt::format("--power-limit {}: write + between two limits, as in gpu=250W+cpu=65W; commas stand "
                    "between the values of a sweep",
                    quoted_text(text)));
  }
  PowerLimits limits;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string name = equals == std::string::npos ? "gpu" : std::string(trimmed(part.substr(0, equals)));
    std::optional<double>* const target = name == "gpu" ? &limits.gpu : name == "cpu" ? &limits.cpu : nullptr;
    if (target == nullptr) {
      throw UsageError(fmt::format("--power-limit {}: {} has no power that can be limited; known: gpu, cpu",
                                   quoted_text(text), quoted_text(name)));
    }
    if (*target) throw UsageError(fmt::format("--power-limit {} limits {} twice", quoted_text(text), name));
    *target = limit_watts(text, std::string_view(part).substr(equals == std::string::npos ? 0 : equals + 1));
    begin = end + 1;
  }
  return limits;
}

}  // namespace evener::measure
