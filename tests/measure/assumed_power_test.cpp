// The energy of a power that a user states for a processor, by what /proc says of its use.
#include <gmock/gmock.h>

#include "measure/energy_meter.h"
#include "measure/sensors/open_sensors.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using test::TurnedClock;

constexpr double kThousandth = 1e-3;

TEST(AssumedPower, FollowsTheUseOfTheProcessor) {
  const test::TestFolder root;
  TurnedClock clock;
  const auto cpus = [&](int busy, int idle) {
    test::write_text(root / "proc/stat",
                     "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\n");
  };
  cpus(0, 0);
  EnergyMeter meter(open_sensors({.assumed = {.cpu = 65, .idle = 20}}, root.path(), clock.reader()), clock.reader());
  ASSERT_EQ(meter.refusal(), "");
  meter.poll();
  clock.turn(10);
  cpus(1000, 1000);  // half busy
  meter.poll();
  clock.turn(10);
  cpus(1000, 3000);  // idle
  meter.poll();
  const record::Energy energy = meter.energy(20);
  EXPECT_NEAR(*energy.joules, 10 * (20 + 22.5) + 10 * 20, 625 * kThousandth);
  EXPECT_EQ(energy.kind, record::EnergyClass::kEstimated);
}

TEST(AssumedPower, TimeThatTheHostKeptIsNotBusy) {
  const test::TestFolder root;
  TurnedClock clock;
  const auto cpus = [&](int busy, int idle, int steal) {
    test::write_text(root / "proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 " +
                                             std::to_string(steal) + " 0 0\n");
  };
  cpus(10, 20, 30);
  EnergyMeter meter(open_sensors({.assumed = {.cpu = 65, .idle = 20}}, root.path(), clock.reader()), clock.reader());
  meter.poll();
  clock.turn(10);
  cpus(210, 120, 730);  // 200 busy of 1000
  meter.poll();
  clock.turn(4);
  meter.poll();  // within a tick: waits for the next look
  clock.turn(6);
  cpus(710, 620, 730);  // half of 1000
  meter.poll();
  EXPECT_NEAR(meter.energy(20).joules.value_or(0), 10 * (20 + 45 * 0.2) + 10 * (20 + 45 * 0.5), 1e-3);
}

}  // namespace
}  // namespace evener::measure
