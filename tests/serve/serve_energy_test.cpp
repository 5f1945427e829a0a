// What a server tells of its energy at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/serve.h"

namespace evener::serving {
namespace {

TEST(ServedEnergy, IsToldWithWhatItLacksAndWhoContradicts) {
  record::Energy energy{.joules = 606};
  energy.kind = record::EnergyClass::kMeasured;
  EXPECT_EQ(served_energy_text(energy, 0, false), "energy: 606 J (measured)");
  EXPECT_EQ(served_energy_text(energy, 202, false), "energy: 606 J (measured), 3 J a sample");
  energy.net_joules = 406;
  EXPECT_EQ(served_energy_text(energy, 0, true), "energy: 606 J (measured); 406 J without the idle power");
  energy.net_joules.reset();
  energy.net_reason = "a window of 0.20 s is too short";
  EXPECT_EQ(served_energy_text(energy, 0, true),
            "energy: 606 J (measured); without the idle power it isn't known: a window of 0.20 s is too short");
  energy.lacks = {"package-1 (no right to read it)"};
  energy.checks.push_back({.first = "meter", .second = "meter 2", .agreement = record::Agreement::kAgree});
  EXPECT_EQ(served_energy_text(energy, 0, false), "energy: 606 J (measured), without package-1 (no right to read it)");
  energy.checks.front().agreement = record::Agreement::kDisagree;
  energy.checks.front().fault = record::MeterFault::kGain;
  energy.checks.front().reason = "meter tells 1.3 times what meter 2 does";
  const std::string doubt =
      "; INVALID: meter and meter 2 contradict each other (gain): meter tells 1.3 times what meter 2 does";
  EXPECT_EQ(served_energy_text(energy, 0, false),
            "energy: 606 J (measured), without package-1 (no right to read it)" + doubt);
  energy.joules.reset();
  energy.reason = "INVALID: its counter did not move";
  EXPECT_EQ(served_energy_text(energy, 9, false), "energy isn't known: INVALID: its counter did not move" + doubt);
}

}  // namespace
}  // namespace evener::serving
