// Limits of a made-up machine: set, put back by their run or after its death, and refused.
#include "measure/limits/held_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "measure/limits_helpers.h"

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

/// What keeps these limits from being held; "" = nothing.
std::string refusal(const LimitOptions& options, const LimitPlaces& places) {
  try {
    const HeldLimits held(options, places);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Runs as a user without rights for its lifetime, if this process has the rights of root.
class WithoutRights {
 public:
  WithoutRights() {
    if (was_root_ && seteuid(65534) != 0) ADD_FAILURE() << "can't give up root's rights";
  }
  ~WithoutRights() {
    if (was_root_ && seteuid(0) != 0) ADD_FAILURE() << "can't become root again";
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  const bool was_root_ = geteuid() == 0;
};

/// Another process that holds limits until it is killed.
class OtherRun {
 public:
  OtherRun(const LimitOptions& options, const LimitPlaces& places) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    process_ = fork();
    if (process_ == 0) {
      const HeldLimits held(options, places);
      [[maybe_unused]] const auto told = write(ready[1], "x", 1);
      while (true) pause();
    }
    char told = 0;
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &told, 1), 1) << "the other run could not set its limits";
    close(ready[0]);
  }
  ~OtherRun() { kill(); }
  OtherRun(const OtherRun&) = delete;
  OtherRun& operator=(const OtherRun&) = delete;

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  int process() const { return process_; }

 private:
  int process_ = -1;
};

class HeldLimitsTest : public ::testing::Test {
 protected:
  /// Lets a user without rights have a state file, but no limit.
  void open_folders_to_all() const {
    fs::permissions(machine_.path(), fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all);
    fs::create_directories(machine_.state_file().parent_path().parent_path());
    fs::permissions(machine_.state_file().parent_path().parent_path(), fs::perms::all);
  }

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
        refusal({.frequency_mhz = mhz}, machine_.places()),
        AllOf(HasSubstr("--frequency: "), HasSubstr(" MHz is out of range: policy0 takes from 800 MHz to 3500 MHz")));
  }
  EXPECT_EQ(refusal({.frequency_mhz = 800}, machine_.places()), "");
  EXPECT_EQ(refusal({.frequency_mhz = 3500}, machine_.places()), "");
  EXPECT_THAT(refusal({.power = {.cpu = 96}}, machine_.places()), HasSubstr("package-0 takes from 1 W to 95 W"));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_THROW(HeldLimits({.frequency_mhz = 1}, machine_.places()), UsageError);
}

TEST_F(HeldLimitsTest, AMachineWithoutLimitsSaysWhy) {
  const test::TestFolder empty;
  const LimitPlaces places{.root = empty.path(), .state = empty / "run", .nvml = "/nonexistent/nvml.so"};
  EXPECT_THAT(refusal(kTwoGigahertz, places), AllOf(HasSubstr("there is nothing to set"), HasSubstr("virtual machines"),
                                                    HasSubstr("limit it on the host")));
  EXPECT_THAT(refusal({.power = {.cpu = 65}}, places), HasSubstr("sys/class/powercap has no package"));
  EXPECT_THAT(refusal({.power = {.gpu = 250}}, places), HasSubstr("/nonexistent/nvml.so (NVML) is not found"));
}

TEST_F(HeldLimitsTest, WithoutRightsTheCommandIsTold) {
  open_folders_to_all();
  fs::permissions(machine_.frequency_file(), kReadable);
  const WithoutRights user;
  const std::string text = refusal(kTwoGigahertz, machine_.places());
  const std::string files = (machine_.path() / "sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq").string();
  EXPECT_THAT(text, AllOf(HasSubstr("Permission denied"), HasSubstr("echo 2000000 | sudo tee " + files),
                          HasSubstr("sudo chgrp $(id -g) " + files + " && sudo chmod g+w " + files)));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
}

TEST_F(HeldLimitsTest, WhatTheAdministratorHasSetIsCheckedWithoutRights) {
  test::write_text(machine_.frequency_file(), "2000000\n");
  open_folders_to_all();
  {
    const WithoutRights user;
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
  open_folders_to_all();
  {
    const WithoutRights user;
    EXPECT_THAT(refusal(kTwoGigahertz, machine_.places()), HasSubstr("policy1/scaling_max_freq could not be set"));
  }
  EXPECT_EQ(machine_.frequency("policy0"), "3400000\n");
  EXPECT_FALSE(fs::exists(machine_.state_file()));
}

TEST_F(HeldLimitsTest, ARunThatGoesOnIsNamedAndAfterItsDeathItsLimitsArePutBack) {
  OtherRun other(kTwoGigahertz, machine_.places());
  const int process = other.process();
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  EXPECT_THAT(refusal({.power = {.cpu = 65}}, machine_.places()),
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
  OtherRun other({.frequency_mhz = 2000, .power = {.cpu = 65}}, machine_.places());
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
  open_folders_to_all();
  fs::permissions(machine_.frequency_file(), fs::perms::all);
  {
    const WithoutRights user;
    OtherRun other(kTwoGigahertz, machine_.places());
  }
  fs::permissions(machine_.frequency_file(), kReadable);
  {
    const WithoutRights user;
    EXPECT_THAT(put_back_left_limits(machine_.places()).at(0),
                AllOf(HasSubstr("not all that a run that was killed"), HasSubstr("echo 3400000 | sudo tee ")));
    EXPECT_THAT(refusal({.frequency_mhz = 1000}, machine_.places()), HasSubstr("hold still"));
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

TEST_F(HeldLimitsTest, AStateThatWasCutShortIsToldAndRemoved) {
  for (const char* text : {"", "{\"process\": 12, \"bo", "[1]", "{}", "{\"process\": \"x\"}"}) {
    test::write_text(machine_.state_file(), text);
    const auto told = put_back_left_limits(machine_.places());
    ASSERT_THAT(told, SizeIs(1)) << text;
    EXPECT_THAT(told[0], AllOf(HasSubstr(machine_.state_file().string()), HasSubstr("evener doctor"))) << text;
    EXPECT_FALSE(fs::exists(machine_.state_file()));
  }
  test::write_text(machine_.state_file().string() + ".tmp-1", "{");
  EXPECT_EQ(refusal(kTwoGigahertz, machine_.places()), "");
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
  EXPECT_THAT(refusal(kTwoGigahertz, machine_.places()), HasSubstr("this user alone"));
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
    OtherRun root(kTwoGigahertz, machine_.places());
    EXPECT_THAT(refusal(kTwoGigahertz, user), HasSubstr("another run, process"));
    EXPECT_THAT(put_back_left_limits(user), IsEmpty());
  }
  EXPECT_THAT(put_back_left_limits(user), ElementsAre(HasSubstr("sudo evener doctor puts them back")));
}

class GpuLimits : public HeldLimitsTest {
 protected:
  GpuLimits() {
    setenv("MADE_UP_NVML", cards_.path().c_str(), 1);
    put("count", 3);
    for (const int card : {0, 1, 2}) {
      const std::string folder = "gpu" + std::to_string(card) + "/";
      put(folder + "least_limit_mw", 100'000);
      put(folder + "most_limit_mw", 400'000);
      put(folder + "power_limit_mw", 350'000);
      put(folder + "uuid", 0xa0 + static_cast<std::uint64_t>(card));
    }
  }
  ~GpuLimits() override { unsetenv("MADE_UP_NVML"); }

  void put(const std::string& name, std::uint64_t value) const {
    test::write_text(cards_ / name, std::to_string(value) + "\n");
  }
  std::string limit(int card) const { return read_file(cards_ / ("gpu" + std::to_string(card) + "/power_limit_mw")); }
  LimitPlaces places() const { return machine_.places(EVENER_MADE_UP_NVML); }

  const LimitOptions options_{.power = {.gpu = 250},
                              .gpus = {{.index = 0, .uuid = "GPU-000000a2-0000-0000-0000-000000000000"}}};
  const test::TestFolder cards_;
};

TEST_F(GpuLimits, AreOfTheCardsInUseAlone) {
  {
    const HeldLimits held(options_, places());
    EXPECT_EQ(limit(2), "250000\n");
    EXPECT_EQ(limit(0), "350000\n") << "cuda:0 is the driver's card 2, by its UUID";
    EXPECT_THAT(held.records().at(0).devices, ElementsAre("gpu 2"));
    EXPECT_EQ(held.records()[0].unit, "W");
    EXPECT_EQ(held.records()[0].former, 350);
  }
  EXPECT_EQ(limit(2), "350000\n");
  const HeldLimits by_number({.power = {.gpu = 250}, .gpus = {{.index = 1}}}, places());
  EXPECT_EQ(limit(1), "250000\n");
}

TEST_F(GpuLimits, WhatTheDriverRoundsToIsTold) {
  put("gpu2/limit_step_mw", 20'000);
  const HeldLimits held(options_, places());
  EXPECT_EQ(held.records().at(0).asked, 250);
  EXPECT_EQ(held.records()[0].held, 240);
  EXPECT_THAT(held.notes(), ElementsAre("GPU power of gpu 2: at most 240 W (asked: 250, before: 350)"));
  EXPECT_THAT(held.changes(), IsEmpty());
}

TEST_F(GpuLimits, ADriverThatIgnoresThemIsRefused) {
  put("gpu2/limit_step_mw", 350'000);  // rounds 350 W down to itself
  put("gpu2/power_limit_mw", 0);
  EXPECT_THAT(refusal(options_, places()), HasSubstr("ignores limits"));
}

TEST_F(GpuLimits, RangeAndRightsAreThoseOfTheDriver) {
  LimitOptions options = options_;
  options.power.gpu = 99;
  EXPECT_THAT(refusal(options, places()), HasSubstr("gpu 2 takes from 100 W to 400 W"));
  put("gpu2/set_limit_result", 4);
  open_folders_to_all();
  fs::permissions(cards_.path(), fs::perms::all);
  const WithoutRights user;
  EXPECT_THAT(refusal(options_, places()),
              AllOf(HasSubstr("Insufficient Permissions"), HasSubstr("sudo nvidia-smi -i 2 -pl 250")));
}

TEST_F(GpuLimits, ArePutBackAfterAKill) {
  OtherRun(options_, places()).kill();
  EXPECT_EQ(limit(2), "250000\n");
  EXPECT_THAT(put_back_left_limits(places()), ElementsAre(HasSubstr("GPU power to 350 W (gpu 2)")));
  EXPECT_EQ(limit(2), "350000\n");
}

TEST_F(GpuLimits, ACardWithoutALimitSaysSo) {
  fs::remove(cards_ / "gpu2/most_limit_mw");
  EXPECT_THAT(refusal(options_, places()), HasSubstr("no power limit for GPU 2"));
}

}  // namespace
}  // namespace evener::measure
