// Sensors that say what can't be, that show one counter twice, or that can be read in part: no joule of theirs is
// called measured in silence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measure/energy_meter.h"
#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors/open_sensors.h"
#include "measure/sensors/outside_meter.h"
#include "measure/sensors_helpers.h"
#include "record/metric.h"
#include "record/record.h"
#include "record/record_json.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

using record::Covers;
using test::MadeUpSensor;
using test::TurnedClock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Curve = std::function<double(double time_s)>;  // joules, or watts of a channel without a counter

/// A channel as RAPL's, whose counter is 1000 J before the run.
Channel rapl(const std::string& name, Covers covers = Covers::kPackage) {
  return {.name = name,
          .covers = covers,
          .joules_per_count = 1e-6,
          .range = 262'143'328'850,
          .step_j = 61e-6,
          .step_s = 0.001};
}

struct FalseChannel {
  Channel channel;
  Curve curve;
  Curve own_watts = {};
};

Sensors one_sensor(const std::vector<FalseChannel>& channels, TurnedClock& clock) {
  std::vector<Channel> all;
  for (const FalseChannel& one : channels) all.push_back(one.channel);
  return test::only(std::make_unique<MadeUpSensor>(
      "made up", all, [=, begin_s = clock.now(), now = clock.reader()]() -> std::vector<Reading> {
        std::vector<Reading> readings;
        for (const FalseChannel& one : channels) {
          const double time_s = now() - begin_s, value = one.curve(time_s);
          Reading& reading = readings.emplace_back();
          if (one.channel.joules_per_count == 0) {
            reading.watts = value;
          } else {
            reading.count = static_cast<std::uint64_t>(std::llround((1000 + value) / one.channel.joules_per_count));
          }
          if (one.own_watts) reading.own_watts = one.own_watts(time_s);
        }
        return readings;
      }));
}

struct Followed {
  record::Energy energy;
  std::optional<double> so_far;
};

/// Looked at each half second for so long, half of whose busy time was this program's.
Followed look_at(const std::vector<FalseChannel>& channels, double seconds) {
  TurnedClock clock;
  EnergyMeter meter(one_sensor(channels, clock), clock.reader());
  meter.poll();
  while (meter.seconds() < seconds - 1e-6) {
    clock.turn(0.5);
    meter.poll(0, 0.5);
  }
  return {meter.energy(seconds), meter.joules_so_far()};
}

double fifty_watts(double t) {
  return 50 * t;
}

TEST(FalseCount, IsNoMeasuredEnergy) {
  struct Case {
    const char* what;
    double seconds;
    Curve curve;
    const char* reason;  // "": the counter is right
    double joules = 0;
  };
  const Case cases[] = {
      {"right", 12, fifty_watts, "", 600},
      {"a busy socket", 12, [](double t) { return 900 * t; }, "", 10'800},
      {"a jump", 12, [](double t) { return 50 * t + (t > 6 ? 5000 : 0); }, "INVALID: it jumped by 5.02e+03 J"},
      {"a jump of the first look", 12, [](double t) { return 50 * t + (t > 0 ? 5000 : 0); }, "INVALID: it jumped"},
      {"a jump above its range", 12, [](double t) { return t > 6 ? 262'000.0 : 50 * t; }, "INVALID"},
      {"a dead one", 1, [](double) { return 0.0; }, "INVALID: its counter did not move in 1.0 s"},
      {"a dead one", 3, [](double) { return 0.0; }, "INVALID: its counter did not move in 3.0 s"},
      {"a dead one", 5, [](double) { return 0.0; }, "INVALID: its counter did not move in 5.0 s"},
      {"dies soon", 6, [](double t) { return 50 * std::min(t, 3.0); },
       "INVALID: its counter stood still in the last 3.0 s"},
      {"dies for a while", 12, [](double t) { return t < 4 ? 50 * t : std::max(200.0, 50 * (t - 3)); },
       "INVALID: its counter stood still for 3.0 s"},
      {"tells late", 12, [](double t) { return t < 4 || t >= 7 ? 50 * t : 200.0; }, "", 600},
  };
  for (const Case& one : cases) {
    const Followed seen = look_at({{rapl("package-0"), one.curve}}, one.seconds);
    if (*one.reason == '\0') {
      EXPECT_NEAR(seen.energy.joules.value_or(0), one.joules, 0.01) << one.what << seen.energy.reason;
      EXPECT_NEAR(seen.so_far.value_or(0), one.joules, 0.01) << one.what;
      continue;
    }
    EXPECT_EQ(seen.energy.joules, std::nullopt) << one.what << " " << one.seconds;
    EXPECT_THAT(seen.energy.reason, HasSubstr(one.reason)) << one.what;
    EXPECT_EQ(seen.energy.lost.size(), 1U) << one.what;
    if (one.what == std::string("a dead one")) {
      EXPECT_EQ(seen.so_far, std::nullopt) << "no 0 J while it goes on";
    }
  }
}

TEST(FalseCount, OfACardIsReplacedByItsPower) {
  const Channel card{
      .name = "gpu 0", .covers = Covers::kGpu, .joules_per_count = 1e-3, .step_s = 0.1, .most_watts = kMostCardWatts};
  const Curve jumps = [](double t) { return 60 * t + (t > 30 ? 5000 : 0); };
  const record::Energy energy = look_at({{card, jumps, [](double) { return 60.0; }}}, 100).energy;
  EXPECT_NEAR(energy.joules.value_or(0), 6000, 1) << energy.reason;
  EXPECT_THAT(energy.devices[0].note, HasSubstr("which its power contradicts"));
  const Curve right = [](double t) { return 60 * t; };
  const record::Energy other = look_at({{card, right, [](double) { return 1e9; }}}, 100).energy;
  EXPECT_NEAR(other.joules.value_or(0), 6000, 1) << "a power that can't be contradicts nothing";
}

TEST(FalsePower, IsNoValue) {
  const Channel meter{.name = "meter", .covers = Covers::kMachine, .step_s = 1, .most_watts = kMostMachineWatts};
  const auto of = [&](const Curve& watts) { return look_at({{meter, watts}}, 30).energy; };
  const record::Energy once = of([](double t) { return t == 10 ? 1e9 : 80; });
  EXPECT_NEAR(once.joules.value_or(0), 2400, 0.01) << once.reason;
  EXPECT_THAT(once.devices[0].note, HasSubstr("1 of its values left out; last: it said 1e+09 W"));
  for (const double wrong_watts : {0.0, 1e9}) {
    const record::Energy energy = of([=](double t) { return t > 12 ? wrong_watts : 80; });
    EXPECT_EQ(energy.joules, std::nullopt);
    EXPECT_THAT(energy.reason, HasSubstr(fmt::format("it said {:g} W", wrong_watts)));
    EXPECT_EQ(energy.lost.size(), 1U);
    EXPECT_THROW(open_meter(fmt::format("run:echo {:.0f}", wrong_watts), "meter"), Error);
  }
  Channel card = meter;
  card.covers = Covers::kGpu;
  card.name = "gpu 0";
  EXPECT_EQ(look_at({{card, [](double) { return 0.0; }}}, 30).energy.joules, 0) << "cards can be switched off";
}

TEST(MirroredZones, OfOneCounterCountOnce) {
  const auto watts = [](double power, double offset_j = 0, double later_s = 0) {
    return [=](double t) { return offset_j + power * (t + later_s); };
  };
  struct Case {
    const char* what;
    std::vector<Curve> zones;
    double watts;
    std::size_t mirrored;
  };
  const Case cases[] = {
      {"two dies", {watts(50), watts(50, 0, 0.0004)}, 50, 1},
      {"four dies", {watts(50), watts(50), watts(50, 0, 0.0009), watts(50)}, 50, 3},
      {"dies of their own", {watts(50), watts(30, -300)}, 80, 0},
      {"that began alike", {watts(50), watts(30)}, 80, 0},
      {"that draw the same", {watts(50), watts(50, 300)}, 100, 0},
      {"nearly alike", {watts(50), watts(51)}, 101, 0},
      {"two pairs", {watts(50), watts(30, -300), watts(50), watts(30, -300)}, 80, 2},
  };
  for (const Case& one : cases) {
    std::vector<FalseChannel> channels;
    for (std::size_t n = 0; n < one.zones.size(); ++n) {
      channels.push_back({rapl("package-0-die-" + std::to_string(n)), one.zones[n]});
    }
    for (const double seconds : {1.0, 12.0}) {
      const Followed seen = look_at(channels, seconds);
      EXPECT_NEAR(seen.energy.joules.value_or(0), seconds * one.watts, 0.01) << one.what << seen.energy.reason;
      EXPECT_NEAR(seen.so_far.value_or(0), seconds * one.watts, 0.01) << one.what;
      EXPECT_NEAR(seen.energy.process_joules.value_or(0), seconds * one.watts / 2, 0.01) << one.what;
      EXPECT_EQ(std::ranges::count(seen.energy.devices, true, &record::DeviceEnergy::added),
                static_cast<std::ptrdiff_t>(one.zones.size() - one.mirrored));
    }
    const record::Energy energy = look_at(channels, 12).energy;
    if (one.mirrored > 0) {
      EXPECT_THAT(energy.source, HasSubstr(" is the same counter as package-0-die-0, and counts once"));
      EXPECT_THAT(energy.devices.back().note, HasSubstr("is the same counter as"));
    }
  }
}

TEST(MirroredZones, AFewReadingsThatCameBetweenWritingAreForgiven) {
  const Curve one = fifty_watts;
  const Curve other = [](double t) { return 50 * t - (t == 3 ? 1 : 0); };
  EXPECT_NEAR(look_at({{rapl("package-0-die-0"), one}, {rapl("package-0-die-1"), other}}, 12).energy.joules.value_or(0),
              600, 0.01);
}

/// What comes, to a user without rights, of two packages of which the second one is spoilt.
struct Partial {
  record::Energy energy;
  SensorState state;
  std::string refusal, remedy;
};
Partial half_read(const std::function<void(const test::PowercapTree&)>& spoil, bool with_first = true) {
  const test::PowercapTree tree;
  if (with_first) tree.zone("intel-rapl:0", "package-0", 1'000'000);
  tree.zone("intel-rapl:1", "package-1", 3'000'000);
  spoil(tree);
  TurnedClock clock;
  auto nobody = std::make_unique<test::WithoutRights>();
  auto sensor = std::make_unique<Powercap>(tree.path());
  nobody.reset();
  Partial partial{.energy = {}, .state = {}, .refusal = sensor->refusal(), .remedy = sensor->remedy()};
  Sensors sensors = test::only(std::move(sensor));
  partial.state = sensor_states(sensors).front();
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  clock.turn(10);
  if (with_first) tree.count("intel-rapl:0", 501'000'000);
  meter.poll();
  partial.energy = meter.energy(10);
  return partial;
}

TEST(PartsThatCantBeRead, AreToldBesideTheSum) {
  struct Case {
    std::function<void(const test::PowercapTree&)> spoil;
    std::string why;
  };
  const auto says = [](const std::string& text) {
    return [=](const test::PowercapTree& tree) { tree.says("intel-rapl:1", text); };
  };
  const std::string no_right = "no right to read ";
  const Case cases[] = {{says(""), "energy_uj is empty"},
                        {says("nan\n"), "energy_uj says 'nan', which is no count"},
                        {says("-5\n"), "energy_uj says '-5', which is no count"},
                        {says("12 J\n"), "energy_uj says '12 J', which is no count"},
                        {[](const test::PowercapTree& tree) { tree.vanish("intel-rapl:1"); }, "energy_uj is not there"},
                        {[](const test::PowercapTree& tree) { tree.unreadable("intel-rapl:1"); }, no_right}};
  for (const auto& [spoil, why] : cases) {
    const Partial partial = half_read(spoil);
    EXPECT_NEAR(partial.energy.joules.value_or(0), 500, 1e-6) << why;
    EXPECT_THAT(partial.energy.lacks, ElementsAre(testing::AllOf(HasSubstr("package-1 ("), HasSubstr(why))));
    EXPECT_TRUE(partial.state.usable);
    EXPECT_TRUE(partial.state.is_partial);
    EXPECT_THAT(partial.state.text, HasSubstr("package-0; without package-1 ("));
    EXPECT_NE(partial.remedy, "");
    record::Record record;
    record.energy = partial.energy;
    EXPECT_THAT(record::energy_text(record), HasSubstr("500 J (measured), without package-1 ("));
    EXPECT_THAT(record::to_json(record)["energy"]["lacks"][0].get<std::string>(), HasSubstr(why));
    const Partial none = half_read(spoil, false);
    EXPECT_THAT(none.refusal, HasSubstr(why));
    EXPECT_EQ(none.remedy.find("udev") != std::string::npos, why == no_right) << none.remedy;
    record.energy = none.energy;
    EXPECT_EQ(none.energy.joules, std::nullopt);
    EXPECT_THAT(record::energy_text(record), HasSubstr("not known, without package-1 ("));
  }
}

TEST(PartsThatCantBeRead, AreNotThoseThatStandThereTwiceOrInAWhole) {
  const Partial both = half_read([](const test::PowercapTree& tree) {
    tree.says("intel-rapl:1", "nan");
    tree.zone("intel-rapl-mmio:1", "package-1", 9'000'000);
    tree.zone("intel-rapl:2", "psys", 5);
    tree.says("intel-rapl:2", "nan");
  });
  EXPECT_THAT(both.energy.lacks, IsEmpty()) << "the repetition serves, and psys is no part";
}

TEST(PartsThatCantBeRead, AreTheProcessorsOfASumOfCards) {
  TurnedClock clock;
  class Refused final : public EnergySensor {
   public:
    Refused() { refuse("no right to read energy_uj", "ask for it"); }
    std::string name() const override { return "powercap"; }
    std::vector<Reading> read(double /*wait_s*/) override { return {}; }
  };
  Sensors sensors = test::only(std::make_unique<Refused>());
  for (auto& sensor : one_sensor({{{.name = "gpu 0", .covers = Covers::kGpu}, [](double) { return 60.0; }}}, clock)) {
    sensors.push_back(std::move(sensor));
  }
  const EnergyMeter meter(std::move(sensors), clock.reader());
  EXPECT_THAT(meter.lacks(), ElementsAre("the processors (no right to read energy_uj)"));
}

TEST(PartsThatCantBeRead, AreToldOfEachHostAndSession) {
  record::Energy here{.joules = 5, .lacks = {"package-1 (why)"}}, there{.joules = 7, .lacks = {"gpu 0 (why)"}};
  record::Energy both = here;
  record::add_hosts(both, {"a", "b"}, {record::Energy{}, record::energy_of_message(record::energy_message(there))});
  EXPECT_THAT(both.lacks, ElementsAre("package-1 (why) on a", "gpu 0 (why) on b"));
}

}  // namespace
}  // namespace evener::measure
