#include "report/disturbances_helpers.h"

#include <algorithm>
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

using Load = std::function<double(std::size_t, Random&)>;

double not_below_0(double percent) {
  return std::max(0.0, percent);
}

/// Programs that begin and end: a tenth of the CPUs or hardly any, for some runs each.
Load coming_and_going(double stays) {
  const auto busy = std::make_shared<bool>(true);
  return [=](std::size_t, Random& random) {
    if (random.uniform() > stays) *busy = !*busy;
    return not_below_0((*busy ? 12 : 3) + random.normal());
  };
}

Load growing(double runs) {
  const auto made = std::make_shared<double>(0);
  return [=](std::size_t, Random& random) { return not_below_0(5 + 30 * (*made)++ / runs + random.normal()); };
}

/// Takes so many percent more beside the cell.
Load leaning(std::size_t on, double more, double deviation) {
  return [=](std::size_t cell, Random& random) {
    return not_below_0(8 + (cell == on ? more : 0) + deviation * random.normal());
  };
}

}  // namespace

const std::vector<OtherLoad>& other_loads() {
  static const std::vector<OtherLoad> all = {
      {"even", false, [](double) { return leaning(0, 0, 1.5); }},
      {"comes and goes after some runs", false, [](double) { return coming_and_going(0.9); }},
      {"comes and goes from run to run", false, [](double) { return coming_and_going(0.5); }},
      {"grows", false, growing},
      {"leans on the first cell by 3 %", true, [](double) { return leaning(0, 3, 1.5); }},
      {"leans on the last cell by 5 %", true, [](double) { return leaning(1, 5, 2); }},
      {"leans on the first cell by 20 %", true, [](double) { return leaning(0, 20, 4); }},
  };
  return all;
}

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
