// Which phase gets how much of the energy that was used while it lasted.
#include "measure/energy_meter.h"

#include <gtest/gtest.h>

namespace evener::measure {
namespace {

TEST(PhaseEnergy, MarksBelowTenStepsOfTheCounterAreFlagged) {
  PhaseEnergyDivider divider;
  PhaseTotals totals;
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {500'000'000, 1};
  totals.critical[static_cast<std::size_t>(Phase::kUpdate)] = {500'000'000, 1000};
  divider.add(10, 1, totals);
  const auto phases = divider.phases(0.001);
  ASSERT_EQ(phases.size(), 3u);
  for (const record::PhaseEnergy& phase : phases) {
    EXPECT_EQ(phase.short_marks, phase.phase == "update") << phase.phase;
    EXPECT_NEAR(phase.joules, phase.phase == "other" ? 0 : 5, 1e-9);
  }
}

TEST(PhaseEnergy, APhaseOfManyLooksGetsAllThatWasUsedInIt) {
  constexpr int kLooks = 1000;  // the oldest of which are kept as one
  PhaseEnergyDivider divider;
  PhaseTotals totals;
  for (int n = 1; n < kLooks; ++n) divider.add(n, 1, totals);
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {(kLooks - 10) * std::int64_t{1'000'000'000}, 1};
  divider.add(kLooks, 1, totals);
  const auto phases = divider.phases(0.001);
  ASSERT_EQ(phases.size(), 2u);
  // Without the first ten seconds, whose looks have become one with 735 others: their energies are told evenly.
  const double all = kLooks * (kLooks + 1) / 2.0, merged = 745 * 746 / 2.0, other = merged * 10 / 745;
  EXPECT_NEAR(phases[0].joules, all - other, 1e-6);
  EXPECT_EQ(phases[1].phase, "other");
  EXPECT_NEAR(phases[1].joules, other, 1e-6);
  EXPECT_NEAR(phases[1].seconds, 10, 1e-9);
}

}  // namespace
}  // namespace evener::measure
