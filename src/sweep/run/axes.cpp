#include "sweep/run/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/names.h"

namespace evener::sweeps {
namespace {

constexpr std::size_t kMostValues = 1000, kMostCells = 10'000;
constexpr std::size_t kLongestFolder = 80;

double number_of(const std::string& digits) {
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// The number of decimals.
int decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(number.size() - point - 1);
}

[[noreturn]] void too_many(const std::string& text) {
  throw UsageError(fmt::format("the range '{}' has more than {} values", printable(text), kMostValues));
}

std::optional<std::vector<std::string>> powers(const std::string& text) {
  static const std::regex kPowers(R"((\d{1,4})\^(\d{1,3})\.\.(\d{1,4})\^(\d{1,3}))");
  std::smatch part;
  if (!std::regex_match(text, part, kPowers)) return std::nullopt;
  if (part[1] != part[3]) {
    throw UsageError(fmt::format("the range '{}' has two bases; write it as {}^{}..{}^N", text, part[1].str(),
                                 part[2].str(), part[1].str()));
  }
  const double base = number_of(part[1]), first = number_of(part[2]), last = number_of(part[4]);
  if (last < first) throw UsageError(fmt::format("the range '{}' ends before it begins", text));
  std::vector<std::string> values;
  for (double exponent = first; exponent <= last; ++exponent) {
    const double value = std::pow(base, exponent);
    if (value > 1e15 || values.size() >= kMostValues) too_many(text);
    values.push_back(fmt::format("{:.0f}", value));
  }
  return values;
}

std::optional<std::vector<std::string>> steps(const std::string& text) {
  static const std::regex kSteps(
      R"((\d{1,12}(?:\.\d{1,9})?)\.\.(\d{1,12}(?:\.\d{1,9})?)(?:/(\d{1,12}(?:\.\d{1,9})?))?)");
  std::smatch part;
  if (!std::regex_match(text, part, kSteps)) return std::nullopt;
  const std::string step_text = part[3].matched ? part[3].str() : "1";
  const double first = number_of(part[1]), last = number_of(part[2]), step = number_of(step_text);
  if (last < first) throw UsageError(fmt::format("the range '{}' ends before it begins", text));
  if (step <= 0) throw UsageError(fmt::format("the range '{}' has a step of 0", text));
  const int decimals = std::max(decimals_of(part[1]), decimals_of(step_text));
  const double count = std::floor((last - first) / step + 1e-9);
  if (count >= kMostValues) too_many(text);
  std::vector<std::string> values;
  for (int n = 0; n <= static_cast<int>(count); ++n)
    values.push_back(fmt::format("{:.{}f}", first + n * step, decimals));
  return values;
}

std::optional<std::vector<std::string>> range_of(const std::string& text) {
  if (auto values = powers(text)) return values;
  return steps(text);
}

bool is_excluded(const std::map<std::string, std::string>& values, const std::vector<Exclusion>& exclusions) {
  return std::ranges::any_of(exclusions, [&](const Exclusion& exclusion) {
    return std::ranges::all_of(exclusion, [&](const auto& one) {
      return std::ranges::find(one.second, values.at(one.first)) != one.second.end();
    });
  });
}

/// The values of each name. Throws UsageError if a name is on two axes, or an axis has no values.
std::map<std::string, std::vector<std::string>> checked_values(const std::vector<record::SweepAxis>& axes) {
  std::map<std::string, std::vector<std::string>> values;
  for (const record::SweepAxis& axis : axes) {
    for (std::size_t n = 0; n < axis.names.size(); ++n) {
      const std::string& name = axis.names[n];
      if (values.contains(name)) throw UsageError(fmt::format("'{}' stands on two axes", name));
      if (axis.steps.empty()) throw UsageError(fmt::format("the axis '{}' has no values", name));
      for (const auto& step : axis.steps) values[name].push_back(step[n]);
    }
    std::set<std::vector<std::string>> seen;
    for (const auto& step : axis.steps) {
      if (!seen.insert(step).second) {
        throw UsageError(
            fmt::format("the axis '{}' has the value '{}' twice", fmt::join(axis.names, ", "), fmt::join(step, ", ")));
      }
    }
  }
  return values;
}

void check_exclusions(const std::vector<Exclusion>& exclusions,
                      const std::map<std::string, std::vector<std::string>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : values) names.push_back(name);
  for (const Exclusion& exclusion : exclusions) {
    if (exclusion.empty()) throw UsageError("an [[exclude]] that names no value would leave out every cell");
    for (const auto& [name, excluded] : exclusion) {
      const auto known = values.find(name);
      if (known == values.end()) throw UsageError("in [[exclude]]: " + unknown_name_message("axis", name, names));
      for (const std::string& value : excluded) {
        if (std::ranges::find(known->second, value) == known->second.end()) {
          throw UsageError("in [[exclude]]: " + unknown_name_message("value of '" + name + "'", value, known->second));
        }
      }
    }
  }
}

}  // namespace

std::vector<std::string> expanded(const std::string& text) {
  if (auto values = range_of(text)) return *std::move(values);
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) break;
    const auto inner = range_of(text.substr(open + 1, close - open - 1));
    if (!inner) continue;
    std::vector<std::string> values;
    for (const std::string& value : *inner) {
      for (std::string& whole : expanded(text.substr(0, open) + value + text.substr(close + 1))) {
        if (values.size() >= kMostValues) too_many(text);
        values.push_back(std::move(whole));
      }
    }
    return values;
  }
  return {text};
}

std::vector<std::map<std::string, std::string>> combinations(const std::vector<record::SweepAxis>& axes,
                                                             const std::vector<Exclusion>& exclusions) {
  check_exclusions(exclusions, checked_values(axes));
  std::vector<std::map<std::string, std::string>> cells = {{}};
  for (const record::SweepAxis& axis : axes) {
    if (cells.size() * axis.steps.size() > kMostCells) {
      throw UsageError(fmt::format("the axes make more than {} cells; leave values out", kMostCells));
    }
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& cell : cells) {
      for (const auto& step : axis.steps) {
        longer.push_back(cell);
        for (std::size_t n = 0; n < axis.names.size(); ++n) longer.back()[axis.names[n]] = step[n];
      }
    }
    cells = std::move(longer);
  }
  std::erase_if(cells, [&](const auto& cell) { return is_excluded(cell, exclusions); });
  if (cells.empty()) throw UsageError("[[exclude]] leaves no cell");
  return cells;
}

std::string cell_name(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values) {
  const bool all_single = std::ranges::all_of(axes, [](const auto& axis) { return axis.steps.size() < 2; });
  std::string name;
  for (const record::SweepAxis& axis : axes) {
    if (axis.steps.size() < 2 && !all_single) continue;
    for (const std::string& part : axis.names) {
      const auto value = values.find(part);
      if (value != values.end()) name += (name.empty() ? "" : ", ") + part + "=" + value->second;
    }
  }
  return name;
}

std::string cell_folder(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values,
                        const std::string& key) {
  std::string name;
  for (const record::SweepAxis& axis : axes) {
    for (const std::string& part : axis.names) {
      if (axis.steps.size() > 1) name += (name.empty() ? "" : "_") + values.at(part);
    }
  }
  for (char& c : name) {
    const bool plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
    if (!plain) c = '-';
  }
  name = name.substr(0, kLongestFolder);
  const std::string end = key.substr(0, 8);
  return name.empty() || name.front() == '.' ? "cell-" + end : name + "-" + end;
}

}  // namespace evener::sweeps
