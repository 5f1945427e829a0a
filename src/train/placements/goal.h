// What is wanted of a training: to be the fastest, the most frugal or the cheapest, also by a deadline or within a
// budget of energy.
#pragma once

#include <optional>
#include <string>

namespace evener::training {

/// kEdp: the energy-delay product, joules x seconds.
enum class Objective { kTime, kEnergy, kEdp, kCost };
/// "time", "energy", "edp", "cost".
const char* objective_name(Objective objective);
/// Throws UsageError for any other name.
Objective parse_objective(const std::string& name);

/// What energy and a machine cost, in one currency, whichever it is.
struct Price {
  double per_kwh = 0, per_hour = 0;

  /// The cost of `seconds` in which the machine draws `watts` (3.6e6 joules are a kilowatt-hour).
  double of(double seconds, double watts) const {
    return per_hour * seconds / 3600 + per_kwh * watts * seconds / 3.6e6;
  }
};
/// Reads "kwh=0.30,hour=1.2", in any order, either of which may be left out. Throws UsageError.
Price parse_price(const std::string& text);

struct Goal {
  Objective objective = Objective::kTime;
  Price price = {};                       // for kCost
  int epochs = 1;                         // of the training that the limits are for
  std::optional<double> deadline_s = {};  // for all epochs with their validation
  std::optional<double> budget_j = {};    // likewise

  /// Whether powers have to be known to judge by this goal.
  bool needs_energy() const {
    const bool by_energy = objective == Objective::kEnergy || objective == Objective::kEdp ||
                           (objective == Objective::kCost && price.per_kwh > 0);
    return by_energy || budget_j;
  }
};

}  // namespace evener::training
