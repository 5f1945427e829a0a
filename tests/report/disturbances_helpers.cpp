#include "report/disturbances_helpers.h"

#include <cmath>
#include <memory>
#include <optional>

namespace evener::test {
namespace {

std::function<double(Random&)> independent(double deviation) {
  return [deviation](Random& random) { return deviation * random.normal(); };
}

/// A tenth slower at the end, along a straight line.
std::function<double(Random&)> drifting(double runs, double deviation) {
  const auto made = std::make_shared<double>(0);
  return [=](Random& random) { return std::log(1 - 0.1 * (*made)++ / runs) + deviation * random.normal(); };
}

/// Other work that comes and goes: neighbouring runs have so much of their disturbance in common.
std::function<double(Random&)> lasting(double likeness) {
  const auto now = std::make_shared<std::optional<double>>();
  return [=](Random& random) {
    const double fresh = random.normal();
    *now = now->has_value() ? likeness * **now + std::sqrt(1 - likeness * likeness) * fresh : fresh;
    return 0.03 * **now;
  };
}

}  // namespace

const std::vector<Disturbance>& disturbances() {
  static const std::vector<Disturbance> all = {
      {"independent", [](double) { return independent(0.01); }},
      {"drifting by 10 %", [](double runs) { return drifting(runs, 0.01); }},
      {"drifting by 10 %, steady otherwise", [](double runs) { return drifting(runs, 0.001); }},
      {"one-sided (exponential)",
       [](double) { return [](Random& random) { return 0.03 * std::log(1 - random.uniform()); }; }},
      {"lasting, neighbours alike by 0.5", [](double) { return lasting(0.5); }},
      {"lasting, neighbours alike by 0.8", [](double) { return lasting(0.8); }},
      {"lasting, neighbours alike by 0.95", [](double) { return lasting(0.95); }},
      {"outliers: one of ten runs takes 1.4 times as long",
       [](double) {
         return [](Random& random) {
           const double outlier = random.uniform() < 0.1 ? -std::log(1.4) : 0;
           return outlier + 0.01 * random.normal();
         };
       }},
  };
  return all;
}

}  // namespace evener::test
