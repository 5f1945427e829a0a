#include "train/placements/goal.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::training {
namespace {

constexpr const char* kObjectives[] = {"time", "energy", "edp", "cost"};

}  // namespace

const char* objective_name(Objective objective) {
  return name_in(kObjectives, objective);
}

Objective parse_objective(const std::string& name) {
  return value_named<Objective>(kObjectives, "for", name);
}

Price parse_price(const std::string& text) {
  Price price;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::string name(trimmed(part.substr(0, equals)));
    double* const target = name == "kwh" ? &price.per_kwh : name == "hour" ? &price.per_hour : nullptr;
    const auto value = equals == std::string::npos ? std::nullopt : to_number<double>(trimmed(part.substr(equals + 1)));
    if (target == nullptr || !std::isfinite(value.value_or(-1)) || value.value_or(-1) < 0) {
      throw UsageError(fmt::format("--price {}: {} is neither kwh=PRICE nor hour=PRICE, with a price of 0 or more",
                                   quoted_text(text), quoted_text(part)));
    }
    *target = *value;
  }
  if (price.per_kwh == 0 && price.per_hour == 0) {
    throw UsageError("--price: say what something costs, such as kwh=0.30,hour=1.2 (a kilowatt-hour, a machine-hour)");
  }
  return price;
}

}  // namespace evener::training
