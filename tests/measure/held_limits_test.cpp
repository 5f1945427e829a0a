// Limits of a made-up machine: set, put back by their run or after its death, and refused.
#include "measure/limits/held_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "measure/limits_helpers.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr fs::perms kReadable = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
constexpr LimitOptions kTwoGigahertz{.frequency_mhz = 2000};

class HeldLimitsTest : public ::testing::Test {
 protected:
  test::LimitsTree machine_;
};

TEST_F(HeldLimitsTest, AreSetForTheRunAndPutBackAfterIt) {
  {
    const HeldLimits held({.frequency_mhz = 2000, .power = {.cpu = 65}}, machine_.places());
    EXPECT_EQ(machine_.frequency(), "2000000\n");
    EXPECT_EQ(machine_.frequency("policy7"), "3400000\n") << "none of our CPUs";
    EXPECT_EQ(machine_.power(), "65000000\n");
    const auto records = held.records();
    ASSERT_THAT(records, SizeIs(2));
    EXPECT_EQ(records[0].what, "CPU frequency");
    EXPECT_THAT(records[0].devices, ElementsAre("policy0"));
    EXPECT_EQ(records[0].unit, "MHz");
    EXPECT_EQ(records[0].asked, 2000);
    EXPECT_EQ(records[0].held, 2000);
    EXPECT_EQ(records[0].former, 3400);
    EXPECT_THAT(records[1].devices, ElementsAre("package-0"));
    EXPECT_EQ(records[1].former, 80);
    EXPECT_THAT(held.notes(), ElementsAre("CPU frequency of policy0: at most 2000 MHz (before: 3400)",
                                          "CPU power of package-0: at most 65 W (before: 80)"));
    EXPECT_TRUE(fs::exists(machine_.state_file()));
  }
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_EQ(machine_.power(), "80000000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
}

TEST_F(HeldLimitsTest, DevicesWithTheSameValuesAreOneRecord) {
  machine_.policy("policy1", cpu_topology().allowed.front());
  machine_.policy("policy10", cpu_topology().allowed.front());
  machine_.policy("policy2", cpu_topology().allowed.front());
  test::write_text(machine_.frequency_file("policy2"), "3000000\n");
  const HeldLimits held(kTwoGigahertz, machine_.places());
  const auto records = held.records();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].devices, ElementsAre("policy0", "policy1", "policy10"));
  EXPECT_THAT(records[1].devices, ElementsAre("policy2"));
}

TEST_F(HeldLimitsTest, ManyDevicesAreCounted) {
  EXPECT_EQ(limited_devices_text({"a", "b", "c", "d"}), "a, b, c, d");
  EXPECT_EQ(limited_devices_text({"a", "b", "c", "d", "e"}), "a, b, c and 2 others");
}

TEST_F(HeldLimitsTest, WithoutOptionsNothingIsTouched) {
  const HeldLimits held({}, machine_.places());
  EXPECT_THAT(held.records(), IsEmpty());
  EXPECT_FALSE(fs::exists(machine_.state_file().parent_path()));
  EXPECT_THAT(put_back_left_limits(machine_.places()), IsEmpty());
  EXPECT_FALSE(fs::exists(machine_.state_file().parent_path()));
}

TEST_F(HeldLimitsTest, ValuesOutOfRangeAreRefusedWithTheRange) {
  for (const double mhz : {799.0, 3501.0}) {
    EXPECT_THAT(
        test::limits_refusal({.frequency_mhz = mhz}, machine_.places()),
        AllOf(HasSubstr("--frequency: "), HasSubstr(" MHz is out of range: policy0 takes from 800 MHz to 3500 MHz")));
  }
  EXPECT_EQ(test::limits_refusal({.frequency_mhz = 800}, machine_.places()), "");
  EXPECT_EQ(test::limits_refusal({.frequency_mhz = 3500}, machine_.places()), "");
  EXPECT_THAT(test::limits_refusal({.power = {.cpu = 96}}, machine_.places()),
              HasSubstr("package-0 takes from 1 W to 95 W"));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_THROW(HeldLimits({.frequency_mhz = 1}, machine_.places()), UsageError);
}

TEST_F(HeldLimitsTest, AMachineWithoutLimitsSaysWhy) {
  const test::TestFolder empty;
  const LimitPlaces places{.root = empty.path(), .state = empty / "run", .nvml = "/nonexistent/nvml.so"};
  EXPECT_THAT(
      test::limits_refusal(kTwoGigahertz, places),
      AllOf(HasSubstr("there is nothing to set"), HasSubstr("virtual machines"), HasSubstr("limit it on the host")));
  EXPECT_THAT(test::limits_refusal({.power = {.cpu = 65}}, places), HasSubstr("sys/class/powercap has no package"));
  EXPECT_THAT(test::limits_refusal({.power = {.gpu = 250}}, places),
              HasSubstr("/nonexistent/nvml.so (NVML) is not found"));
}

TEST_F(HeldLimitsTest, WithoutRightsTheCommandIsTold) {
  machine_.open_folders_to_all();
  fs::permissions(machine_.frequency_file(), kReadable);
  const test::WithoutRights user;
  const std::string text = test::limits_refusal(kTwoGigahertz, machine_.places());
  const std::string files = (machine_.path() / "sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq").string();
  EXPECT_THAT(text, AllOf(HasSubstr("Permission denied"), HasSubstr("echo 2000000 | sudo tee " + files),
                          HasSubstr("sudo chgrp $(id -g) " + files + " && sudo chmod g+w " + files)));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
}

TEST_F(HeldLimitsTest, WhatTheAdministratorHasSetIsCheckedWithoutRights) {
  test::write_text(machine_.frequency_file(), "2000000\n");
  machine_.open_folders_to_all();
  {
    const test::WithoutRights user;
    const HeldLimits held(kTwoGigahertz, machine_.places());
    EXPECT_EQ(held.records().at(0).former, 2000);
    EXPECT_FALSE(fs::exists(machine_.state_file())) << "nothing to put back";
  }
  EXPECT_EQ(machine_.frequency(), "2000000\n");
}

TEST_F(HeldLimitsTest, WhenOneIsRefusedTheOthersArePutBack) {
  if (geteuid() != 0) GTEST_SKIP() << "needs files of another user";
  machine_.policy("policy1", cpu_topology().allowed.front());
  fs::permissions(machine_.frequency_file("policy0"), fs::perms::all);
  machine_.open_folders_to_all();
  {
    const test::WithoutRights user;
    EXPECT_THAT(test::limits_refusal(kTwoGigahertz, machine_.places()),
                HasSubstr("policy1/scaling_max_freq could not be set"));
  }
  EXPECT_EQ(machine_.frequency("policy0"), "3400000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
}

TEST_F(HeldLimitsTest, ARunThatGoesOnIsNamedAndAfterItsDeathItsLimitsArePutBack) {
  test::OtherRun other(kTwoGigahertz, machine_.places());
  const int process = other.process();
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  EXPECT_THAT(test::limits_refusal({.power = {.cpu = 65}}, machine_.places()),
              HasSubstr("another run, process " + std::to_string(process) + ", has set limits"));
  EXPECT_THAT(put_back_left_limits(machine_.places()), IsEmpty()) << "it goes on";
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  other.kill();
  EXPECT_THAT(put_back_left_limits(machine_.places()),
              ElementsAre("put back what a run that was killed (process " + std::to_string(process) +
                          ") had set: CPU frequency to 3400 MHz (policy0)"));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
  EXPECT_THAT(put_back_left_limits(machine_.places()), IsEmpty());
}

TEST_F(HeldLimitsTest, ALimitThatIsGoneIsToldAndForgotten) {
  test::OtherRun other({.frequency_mhz = 2000, .power = {.cpu = 65}}, machine_.places());
  other.kill();
  fs::remove(machine_.power_file());
  const auto told = put_back_left_limits(machine_.places());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0],
              AllOf(HasSubstr("to 3400 MHz (policy0)"), HasSubstr("powercap/intel-rapl:0 is not there any more")));
  EXPECT_FALSE(fs::exists(machine_.state_file())) << "what is gone can't hold";
}

TEST_F(HeldLimitsTest, LimitsThatOnlyAnotherUserMayPutBackStayKnown) {
  if (geteuid() != 0) GTEST_SKIP() << "needs files of another user";
  machine_.open_folders_to_all();
  fs::permissions(machine_.frequency_file(), fs::perms::all);
  {
    const test::WithoutRights user;
    test::OtherRun other(kTwoGigahertz, machine_.places());
  }
  fs::permissions(machine_.frequency_file(), kReadable);
  {
    const test::WithoutRights user;
    EXPECT_THAT(put_back_left_limits(machine_.places()).at(0),
                AllOf(HasSubstr("not all that a run that was killed"), HasSubstr("echo 3400000 | sudo tee ")));
    EXPECT_THAT(test::limits_refusal({.frequency_mhz = 1000}, machine_.places()), HasSubstr("hold still"));
    EXPECT_TRUE(fs::exists(machine_.state_file()));
  }
}

TEST_F(HeldLimitsTest, AForkedChildLeavesThemAlone) {
  auto held = std::make_optional<HeldLimits>(kTwoGigahertz, machine_.places());
  const pid_t child = fork();
  if (child == 0) {
    held.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  EXPECT_TRUE(fs::exists(machine_.state_file()));
  EXPECT_THAT(held->put_back(), IsEmpty());
  EXPECT_EQ(machine_.frequency(), "3400000\n");
}

TEST_F(HeldLimitsTest, AStateFromBeforeTheMachineWasStartedIsRemoved) {
  LimitState state = own_limit_state({{"cpufreq/policy0", 1'000'000}});
  state.boot = "another";
  LimitStateFile(machine_.places().state).write(state);
  EXPECT_THAT(put_back_left_limits(machine_.places()), IsEmpty());
  EXPECT_FALSE(fs::exists(machine_.state_file()));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
}

TEST_F(HeldLimitsTest, AProcessOfTheSameNumberIsNotTheOwner) {
  LimitState state = own_limit_state({{"cpufreq/policy0", 1'000'000}});
  EXPECT_EQ(owner_of(state), LimitOwner::kRuns);
  state.began_ticks -= 1;
  EXPECT_EQ(owner_of(state), LimitOwner::kEnded);
}

TEST_F(HeldLimitsTest, AProcessBeganAtItsTwentySecondFieldUnlessItHasEnded) {
  const std::string before = "12 (a (b) c) ", after = " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 2200 23";
  EXPECT_EQ(parse_process_start(before + "S" + after), 2200U);
  EXPECT_EQ(parse_process_start(before + "Z" + after), std::nullopt);
  EXPECT_EQ(parse_process_start(before + "S 4 5"), std::nullopt);
  EXPECT_EQ(parse_process_start("12"), std::nullopt);
}

TEST_F(HeldLimitsTest, AStateThatWasCutShortIsToldAndRemoved) {
  for (const char* text : {"", "{\"process\": 12, \"bo", "[1]", "{}", "{\"process\": \"x\"}"}) {
    test::write_text(machine_.state_file(), text);
    const auto told = put_back_left_limits(machine_.places());
    ASSERT_THAT(told, SizeIs(1)) << text;
    EXPECT_THAT(told[0], AllOf(HasSubstr(machine_.state_file().string()), HasSubstr("evener doctor"))) << text;
    EXPECT_FALSE(fs::exists(machine_.state_file()));
  }
  test::write_text(machine_.state_file().string() + ".tmp-1", "{");
  EXPECT_EQ(test::limits_refusal(kTwoGigahertz, machine_.places()), "");
  EXPECT_EQ(test::file_count(machine_.state_file().parent_path()), 0) << "what a killed writer left goes too";
}

TEST_F(HeldLimitsTest, AStateNamesLimitsAndNeverFiles) {
  LimitState state = own_limit_state({{"../../../etc/passwd", 1}, {"cpufreq/../policy0", 1}});
  state.began_ticks = 0;
  LimitStateFile(machine_.places().state).write(state);
  EXPECT_THAT(put_back_left_limits(machine_.places()).at(0), HasSubstr("is not there any more"));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
}

TEST_F(HeldLimitsTest, AFolderThatOthersMayWriteToIsRefused) {
  fs::create_directories(machine_.places().state);
  fs::permissions(machine_.places().state, fs::perms::all);
  EXPECT_THAT(test::limits_refusal(kTwoGigahertz, machine_.places()), HasSubstr("this user alone"));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
}

TEST_F(HeldLimitsTest, AValueThatOthersChangeIsAReasonOfInvalidity) {
  const HeldLimits held(kTwoGigahertz, machine_.places());
  EXPECT_THAT(held.changes(), IsEmpty());
  test::write_text(machine_.frequency_file(), "1500000\n");
  const auto reasons = held.changes();
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(reasons[0].rule, "limit");
  EXPECT_EQ(reasons[0].what, "the limit of CPU frequency of policy0 was set to 2000 MHz and was 1500 MHz at the end");
}

TEST_F(HeldLimitsTest, RootsStateIsLookedAtByOthers) {
  LimitPlaces user = machine_.places();
  user.others_state = user.state;
  user.state = machine_.path() / "of-user";
  {
    test::OtherRun root(kTwoGigahertz, machine_.places());
    EXPECT_THAT(test::limits_refusal(kTwoGigahertz, user), HasSubstr("another run, process"));
    EXPECT_THAT(put_back_left_limits(user), IsEmpty());
  }
  EXPECT_THAT(put_back_left_limits(user), ElementsAre(HasSubstr("sudo evener doctor puts them back")));
}

}  // namespace
}  // namespace evener::measure
