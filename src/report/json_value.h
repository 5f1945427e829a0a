// Optional values as JSON. Inside report/ only.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "record/statistics.h"

namespace evener::report {

/// null for an absent value; numbers that aren't finite are written as null too.
template <typename T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// [low, high] or null.
inline nlohmann::ordered_json ends_or_null(const std::optional<record::Interval>& interval) {
  if (!interval) return nullptr;
  return nlohmann::ordered_json::array({interval->low, interval->high});
}

}  // namespace evener::report
