// How long a cool-down waits, on a machine whose load and heat fall as the test says.
#include "bench/sweep/cool_down.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/test_folder.h"

namespace evener::bench {
namespace {

using OfTime = std::function<double(double)>;

/// Seconds that --cool-down `text` waits where others' load and the heat are so, by seconds since the sweep began. The
/// wait begins `after_s`; a look at the load takes a second.
double waited_s(const std::string& text, const OfTime& load, const OfTime& celsius, double after_s = 100,
                const OfTime& watts = {}, std::string* told = nullptr) {
  const auto time_s = std::make_shared<double>(0);
  CoolDownMachine machine;
  machine.now_s = [=] { return *time_s; };
  machine.sleep_s = [=](double seconds) { *time_s += seconds; };
  machine.others_load = [=] {
    *time_s += 1;
    return load(*time_s);
  };
  machine.warmest_celsius = [=]() -> std::optional<double> {
    const double now = celsius(*time_s);
    return std::isnan(now) ? std::nullopt : std::optional(now);
  };
  machine.watts = [=] { return watts ? std::optional(watts(*time_s)) : std::nullopt; };
  const CoolDown cool_down(text, machine);
  *time_s = after_s;
  const std::string sentence = cool_down.wait();
  if (told != nullptr) *told = sentence;
  return *time_s - after_s;
}

double none(double /*time_s*/) {
  return NAN;
}

/// So much at the start, and from 100 s on `first`, falling by `by` each second down to `last`.
OfTime falling(double at_start, double first, double by, double last) {
  return [=](double t) { return t < 100 ? at_start : std::max(last, first - by * (t - 100)); };
}
OfTime always(double value) {
  return [=](double) { return value; };
}

TEST(CoolDownWaits, AsManySecondsAsItIsTold) {
  EXPECT_DOUBLE_EQ(waited_s("", always(0.9), always(90)), 0);
  EXPECT_DOUBLE_EQ(waited_s("0", always(0.9), always(90)), 0);
  EXPECT_DOUBLE_EQ(waited_s("12.5", always(0.9), always(90)), 12.5) << "whatever the load";
}

TEST(CoolDownWaits, NoLongerThanALookWhereTheMachineIsAsAtTheStart) {
  EXPECT_DOUBLE_EQ(waited_s("load", always(0.3), none), 1) << "it was as busy before";
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), always(65)), 1) << "it was as warm before";
  EXPECT_DOUBLE_EQ(waited_s("load", falling(0.3, 0.1, 0, 0), falling(65, 40, 0, 0)), 1) << "it is quieter and cooler";
  EXPECT_DOUBLE_EQ(waited_s("load", falling(0.3, 0.34, 0, 0.34), none), 1) << "a twentieth of the processors more";
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), falling(45, 47.9, 0, 47.9)), 1) << "three degrees more";
}

TEST(CoolDownWaits, UntilOthersUseNoMoreThanAtTheStart) {
  // 0.60 falling to 0.10 by 0.02 a second: at 0.35 = 0.30 + 0.05 after 12.5 s, seen with the look at 13 s.
  EXPECT_DOUBLE_EQ(waited_s("load", falling(0.3, 0.6, 0.02, 0.1), none), 13);
  EXPECT_DOUBLE_EQ(waited_s("load", falling(0, 0.6, 0.02, 0), none), 28) << "0.05 after 27.5 s";
}

TEST(CoolDownWaits, UntilNoSensorIsMuchWarmerThanAtTheStart) {
  // 71.3 falling by 0.5 a second: at 48 = 45 + 3 after 46.6 s.
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), falling(45, 71.3, 0.5, 30)), 47);
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), falling(60, 71.3, 0.5, 30)), 17) << "63 after 16.6 s";
}

TEST(CoolDownWaits, UntilThePowerIsHardlyMoreThanAtTheStart) {
  // 60 W falling by 2 W a second: at 25 = 20 + 5 after 17.5 s.
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), none, 100, falling(20, 60, 2, 10)), 18);
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), none, 100, falling(20, 25, 0, 25)), 1) << "5 W more";
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), none, 100, falling(20, 60, 0, 60)), 120) << "at most";
}

TEST(CoolDownWaits, TellsHowLongAndHowFarFromTheStart) {
  std::string told;
  waited_s("", always(0), none, 100, {}, &told);
  EXPECT_EQ(told, "");
  waited_s("12.5", always(0), none, 100, {}, &told);
  EXPECT_EQ(told, "waited 12.5 s before the run (--cool-down)");
  waited_s("load", always(0.25), falling(45, 52, 0.5, 30), 100, falling(20, 40, 2, 10), &told);
  EXPECT_EQ(
      told,
      "waited 8 s before the run, until the machine was nearly as at the start (--cool-down): others' load 0 % of "
      "the CPUs more, 3 degrees more, 4 W more");
  waited_s("load", falling(0, 0.9, 0, 0.9), none, 100, {}, &told);
  EXPECT_EQ(told,
            "waited 120 s before the run, the longest, and the machine was still not as at the start (--cool-down): "
            "others' load 90 % of the CPUs more");
}

TEST(CoolDownWaits, TwoMinutesAtMost) {
  EXPECT_DOUBLE_EQ(waited_s("load", falling(0, 0.9, 0, 0.9), none), 120);
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), falling(45, 80, 0, 80)), 120);
}

TEST(CoolDownWaits, SensorsThatOnlySomeLooksSeeAreNotWaitedFor) {
  const OfTime gone = [](double t) { return t < 100 ? 45.0 : NAN; }, come = [](double t) { return t < 100 ? NAN : 80; };
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), gone), 1);
  EXPECT_DOUBLE_EQ(waited_s("load", always(0), come), 1);
}

TEST(CoolDownMachineTest, ReadsTheHeatOfItsRoot) {
  const test::TestFolder root;
  const CoolDownMachine machine = machine_to_cool(root.path());
  EXPECT_FALSE(machine.warmest_celsius().has_value());
  test::write_text(root.path() / "sys/class/thermal/thermal_zone0/temp", "-5000\n");
  EXPECT_EQ(machine.warmest_celsius(), -5);
  test::write_text(root.path() / "sys/class/thermal/thermal_zone1/temp", "52500\n");
  test::write_text(root.path() / "sys/class/thermal/thermal_zone2/temp", "41000\n");
  EXPECT_EQ(machine.warmest_celsius(), 52.5);
}

}  // namespace
}  // namespace evener::bench
