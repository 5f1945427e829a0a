// How often right meters are accused, and how often faulty ones are found: made-up meters of loads that go in rounds
// and in steps, read at moments of their own, with noise and lags. The rates are printed as tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::MeterCheck;
using test::MadeUpSensor;
using test::TurnedClock;

constexpr double kSimulatedRun_s = 60;

/// How many runs of each kind: EVENER_SIMULATIONS, or a few.
int simulated_rounds() {
  constexpr int kRounds = 12;
  const char* const given = std::getenv("EVENER_SIMULATIONS");
  return given == nullptr ? kRounds : std::max(1, std::atoi(given));
}

/// A power over time, known from 20 s before the run on.
class SimulatedLoad {
 public:
  explicit SimulatedLoad(const std::function<double(double)>& watts) {
    for (int n = 0; n < static_cast<int>((kSimulatedRun_s + 2 * kBefore_s) / kStep_s); ++n) {
      watts_.push_back(watts(n * kStep_s - kBefore_s));
      joules_.push_back((joules_.empty() ? 0 : joules_.back()) + kStep_s * watts_.back());
    }
  }
  double watts(double time_s) const { return watts_[place(time_s)]; }
  double joules(double time_s) const { return joules_[place(time_s)]; }

 private:
  static constexpr double kBefore_s = 20, kStep_s = 0.01;
  std::size_t place(double time_s) const {
    return std::min(static_cast<std::size_t>((time_s + kBefore_s) / kStep_s), watts_.size() - 1);
  }
  std::vector<double> watts_, joules_;
};

using MakeLoad = SimulatedLoad (*)(std::mt19937&);

double draw(std::mt19937& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// Rounds of so many seconds, give or take a tenth, busy for some half of it.
template <int kTenths>
SimulatedLoad in_rounds(std::mt19937& random) {
  const double round_s = 0.1 * kTenths * draw(random, 0.9, 1.1), busy_s = round_s * draw(random, 0.35, 0.65);
  const double begin_s = draw(random, 0, round_s), high = draw(random, 90, 160);
  return SimulatedLoad(
      [=](double t) { return std::fmod(t + begin_s + 100 * round_s, round_s) < busy_s ? high : 60.0; });
}
/// Levels that are held for so long: for 10 s, or for times that differ.
template <bool kRegular>
SimulatedLoad in_steps(std::mt19937& random) {
  std::vector<std::pair<double, double>> levels;  // until when, watts
  for (double end_s = -20; end_s < 2 * kSimulatedRun_s;) {
    end_s += kRegular ? 10 : draw(random, 1, 15);
    levels.emplace_back(end_s, draw(random, 60, 140));
  }
  return SimulatedLoad([=](double t) {
    return std::ranges::find_if(levels, [t](const auto& level) { return t < level.first; })->second;
  });
}
SimulatedLoad one_step(std::mt19937& random) {
  const double at_s = draw(random, 2, 10), high = draw(random, 150, 300);
  return SimulatedLoad([=](double t) { return t < at_s ? 40.0 : high; });
}
SimulatedLoad steady(std::mt19937& random) {
  const double watts = draw(random, 60, 140);
  return SimulatedLoad([=](double) { return watts; });
}

struct NamedLoad {
  const char* name;
  MakeLoad make;
};
const NamedLoad kLoads[] = {{"rounds of 1.3 s", in_rounds<13>},
                            {"rounds of 2.2 s", in_rounds<22>},
                            {"rounds of 5 s", in_rounds<50>},
                            {"rounds of 8 s", in_rounds<80>},
                            {"rounds of 15 s", in_rounds<150>},
                            {"steps of 10 s", in_steps<true>},
                            {"steps of 1 to 15 s", in_steps<false>},
                            {"one step", one_step},
                            {"steady", steady}};

/// A meter at the socket that tells a new value each `every_s`, at moments of its own.
struct SimulatedMeter {
  double every_s = 1, begin_s = 0, lag_s = 0, noise = 0;
  bool counts = false;
  double gain = 1, later_gain = 1, dead_from_s = 1e9, jump_j = 0, changes_at_s = kSimulatedRun_s / 2;
};

SimulatedMeter right_meter(std::mt19937& random) {
  SimulatedMeter meter;
  meter.every_s = std::array{0.5, 1.0, 2.0}[random() % 3];
  meter.begin_s = draw(random, 0, meter.every_s);
  meter.noise = std::array{0.0, 0.01, 0.03}[random() % 3];
  meter.counts = random() % 2 == 0;
  return meter;
}

std::unique_ptr<EnergySensor> simulated_sensor(const SimulatedMeter& meter, const SimulatedLoad& load,
                                               const std::string& name, TurnedClock& clock, std::uint32_t seed) {
  const Channel channel{.name = name,
                        .covers = Covers::kMachine,
                        .joules_per_count = meter.counts ? 1e-3 : 0,
                        .step_s = meter.every_s,
                        .most_watts = kMostMachineWatts,
                        .at_socket = true};
  auto random = std::make_shared<std::mt19937>(seed);
  auto last_s = std::make_shared<double>(-1e9);
  return std::make_unique<MadeUpSensor>(
      name, std::vector{channel}, [=, &load, begin_s = clock.now(), now = clock.reader()]() -> std::vector<Reading> {
        const double time_s = now() - begin_s;
        const double at_s = std::floor((time_s - meter.begin_s) / meter.every_s) * meter.every_s + meter.begin_s;
        if (std::exchange(*last_s, at_s) == at_s) return {Reading{}};
        const double seen_s = std::min(at_s, meter.dead_from_s) - meter.lag_s;
        std::normal_distribution<double> noise(meter.gain, meter.noise);
        const double gain = noise(*random) * (seen_s >= meter.changes_at_s ? meter.later_gain : 1);
        if (!meter.counts) {
          const double watts = meter.dead_from_s < at_s ? load.watts(seen_s) * meter.gain : load.watts(seen_s) * gain;
          return {{.watts = watts, .at_s = begin_s + at_s}};
        }
        const double before_s = std::min(seen_s, meter.changes_at_s);
        const double joules = load.joules(before_s) + (load.joules(seen_s) - load.joules(before_s)) * meter.later_gain;
        const double jump_j = at_s >= meter.changes_at_s ? meter.jump_j : 0;
        return {{.count = static_cast<std::uint64_t>(std::llround(1e3 * (10 + meter.gain * joules + jump_j))),
                 .at_s = begin_s + at_s}};
      });
}

MeterCheck simulated_check(const SimulatedMeter& first, const SimulatedMeter& second, const SimulatedLoad& load,
                           std::uint32_t seed) {
  TurnedClock clock;
  clock.turn(100);
  Sensors sensors = test::only(simulated_sensor(first, load, "meter 1", clock, seed));
  sensors.push_back(simulated_sensor(second, load, "meter 2", clock, seed + 1));
  EnergyMeter meter(std::move(sensors), clock.reader());
  clock.turn(2);
  meter.poll();
  while (meter.seconds() < kSimulatedRun_s - 4.25) {
    clock.turn(0.25);
    meter.poll();
  }
  return meter.energy(meter.seconds()).checks.at(0);
}

struct SimulatedFault {
  const char* name;
  void (*make)(SimulatedMeter& meter);
};
const SimulatedFault kFaults[] = {{"gain 1.3", [](SimulatedMeter& meter) { meter.gain = 1.3; }},
                                  {"dead",
                                   [](SimulatedMeter& meter) {
                                     meter.counts = true;
                                     meter.dead_from_s = kSimulatedRun_s / 2;
                                   }},
                                  {"ratio 1.3", [](SimulatedMeter& meter) { meter.later_gain = 1.3; }},
                                  {"jump",
                                   [](SimulatedMeter& meter) {
                                     meter.counts = true;
                                     meter.jump_j = 2500;
                                   }},
                                  {"lag 3 s", [](SimulatedMeter& meter) { meter.lag_s = 3; }}};

TEST(MeterSimulation, RightMetersAreSeldomAccusedAndFaultyOnesFound) {
  const int rounds = simulated_rounds();
  std::printf("%-20s %8s", "of 100 runs", "accused");
  for (const SimulatedFault& fault : kFaults) std::printf(" %9s", fault.name);
  std::printf("\n");
  int accused = 0, runs = 0;
  std::array<int, std::size(kFaults)> found{};
  for (const NamedLoad& load : kLoads) {
    int accused_here = 0;
    std::array<int, std::size(kFaults)> found_here{};
    for (int round = 0; round < rounds; ++round) {
      std::mt19937 random(static_cast<std::uint32_t>(1000 * (&load - kLoads) + round));
      const SimulatedLoad drawn = load.make(random);
      SimulatedMeter first = right_meter(random), second = right_meter(random);
      second.lag_s = draw(random, 0, 1);
      const auto seed = static_cast<std::uint32_t>(random());
      const MeterCheck right = simulated_check(first, second, drawn, seed);
      accused_here += right.agreement == record::Agreement::kDisagree;
      for (std::size_t n = 0; n < std::size(kFaults); ++n) {
        SimulatedMeter faulty = second;
        kFaults[n].make(faulty);
        const MeterCheck check = simulated_check(first, faulty, drawn, seed);
        found_here[n] += n + 1 == std::size(kFaults) ? check.fault == record::MeterFault::kLag
                                                     : check.agreement == record::Agreement::kDisagree;
      }
    }
    std::printf("%-20s %8.1f", load.name, 100.0 * accused_here / rounds);
    for (const int count : found_here) std::printf(" %9.1f", 100.0 * count / rounds);
    std::printf("\n");
    accused += accused_here;
    runs += rounds;
    for (std::size_t n = 0; n < found.size(); ++n) found[n] += found_here[n];
  }
  // Rounds that are as short as the time between two readings are seen otherwise by each meter, whatever is made of it.
  EXPECT_LE(accused, runs / 20);
  constexpr double kLeastFound[] = {0.8, 0.75, 0.65, 0.85,
                                    0.2};  // of a lag in rounds of a few seconds nothing can be said
  for (std::size_t n = 0; n < found.size(); ++n) EXPECT_GE(found[n], kLeastFound[n] * runs) << kFaults[n].name;
}

}  // namespace
}  // namespace evener::measure
