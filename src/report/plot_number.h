// A number as plots take it. Inside report/ only.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace evener::report {

/// null for what is missing or not finite, where a curve has a gap.
inline nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

}  // namespace evener::report
