#include "job/options/goal_flags.h"

#include "base/error.h"

namespace evener::job {

plan::Goal GoalFlags::goal(int epochs) const {
  constexpr double kSecondsPerMinute = 60, kJoulesPerWattHour = 3600;
  plan::Goal goal;
  goal.epochs = epochs;
  if (!objective->empty()) {
    goal.objective = plan::parse_objective(*objective);
  } else if (deadline->has_value()) {
    goal.objective = plan::Objective::kEnergy;
  }
  if (!price->empty()) goal.price = plan::parse_price(*price);
  if (*deadline) goal.deadline_s = **deadline * kSecondsPerMinute;
  if (*budget) goal.budget_j = **budget * kJoulesPerWattHour;
  return goal;
}

void GoalFlags::check_together() const {
  if (!price->empty()) plan::parse_price(*price);
  const bool by_cost = *objective == "cost";
  if (by_cost && price->empty()) {
    throw UsageError("--for cost needs to know what something costs: give --price kwh=0.30,hour=1.2");
  }
  if (!by_cost && !price->empty()) throw UsageError("--price is for --for cost");
}

}  // namespace evener::job
