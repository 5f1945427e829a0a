// How long a cool-down waits, on a machine whose load and heat fall as the test says.
#include "sweep/run/child_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/folder_lock.h"
#include "base/own_program.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "record/record.h"

namespace evener::sweeps {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using OfTime = std::function<double(double)>;
using record::RunEnd;
namespace fs = std::filesystem;

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
  EXPECT_EQ(told,
            "waited 8 s before the run, until the machine was nearly as at the start (--cool-down): others' load 0 % "
            "of the CPUs more, 3 degrees more, 4 W more");
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

// Runs of a sweep as processes, made of a shell script here: what their ends, words and records mean.

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A sweep's folder with a program that does what a script says. $DIR: what stands behind --out.
class ChildExecutorTest : public testing::Test {
 protected:
  ExecutedRun run(const std::string& script, ChildExecutorOptions options = {}) {
    const std::string words = (folder_ / "words.txt").string();
    test::write_text(folder_ / "program",
                     "#!/bin/sh\necho \"$* POLICY=$POLICY\" > " + words + "\nfor DIR; do :; done\n" + script + "\n");
    fs::permissions(folder_ / "program", fs::perms::owner_all);
    options.program = folder_ / "program";
    record::SweepCell cell;
    cell.words = {"train", "mlp:4-2"};
    cell.environment = {{"POLICY", "passive"}};
    return ChildExecutor(options).execute(cell, run_folder());
  }
  fs::path run_folder() const { return folder_ / "cell/b001"; }
  std::string words() const { return text_of(folder_ / "words.txt"); }
  /// A script that leaves this record and ends with `code`.
  std::string leaving(const record::Record& record, int code = 0) const {
    fs::create_directories(folder_ / "made");
    record::write_record(folder_ / "made", record);
    return "mkdir -p \"$DIR\"\ncp " + (folder_ / "made/record.json").string() + " \"$DIR\"\nexit " +
           std::to_string(code);
  }

  test::TestFolder folder_;
};

record::Record training_record() {
  record::Record record;
  record.images_per_s.median = 250;
  record.times.total = 12;
  return record;
}

TEST_F(ChildExecutorTest, ARunGetsTheCellsWordsVariablesAndFolder) {
  const ExecutedRun done = run(leaving(training_record()));
  EXPECT_EQ(done.end, RunEnd::kDone) << done.reason;
  EXPECT_EQ(done.reason, "");
  EXPECT_EQ(words(), "train mlp:4-2 --out " + run_folder().string() + " POLICY=passive\n");
  EXPECT_EQ(done.figure, 250);
  EXPECT_GT(done.seconds, 0);
}

TEST_F(ChildExecutorTest, TheRecordTellsOfTheCoolDownBeforeIt) {
  ChildExecutorOptions options;
  options.cool_down = "0.01";
  run(leaving(training_record()), options);
  EXPECT_THAT(record::read_record(run_folder()).notes, testing::Contains("waited 0.01 s before the run (--cool-down)"));
}

TEST_F(ChildExecutorTest, SentencesOfTheSweepStandBehindTheRunsOwn) {
  record::Record record = training_record();
  record.notes = {"its own"};
  ChildExecutorOptions options;
  options.cool_down = "0.01";
  options.note = "as told";
  run(leaving(record), options);
  EXPECT_THAT(record::read_record(run_folder()).notes,
              testing::ElementsAre("its own", HasSubstr("--cool-down"), "as told"));
  EXPECT_EQ(record::read_record(run_folder()).images_per_s.median, 250);
}

class StoppedExecutor : public ChildExecutorTest {
 protected:
  void TearDown() override { clear_stop_request(); }
};

TEST_F(StoppedExecutor, EndsTheRunThatDoesNotCount) {
  const std::string begun = (folder_ / "begun").string();
  const std::jthread stopping([&] {
    while (!fs::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    request_stop();
  });
  // It ends well, as one that was asked to stop does, and leaves a record of what it had measured by then.
  const std::string script = "trap 'kill $!' TERM\nsleep 1000 &\ntouch " + begun + "\nwait\n";
  EXPECT_THAT(test::thrown_by<Interrupted>([&] { run(script + leaving(training_record())); }),
              HasSubstr("the same command goes on with it"));
  EXPECT_TRUE(fs::exists(run_folder() / "record.json"));
}

TEST(ShellError, NamesTheOptionAndEndsAtTheFirstFailure) {
  const test::TestFolder folder;
  const std::string file = (folder / "program").string();
  EXPECT_EQ(shell_error("--setup", ""), "");
  EXPECT_EQ(shell_error("--setup", "echo \"$EVENER\" > " + file), "");
  EXPECT_EQ(text_of(file), program_file().string() + "\n");
  EXPECT_EQ(shell_error("--setup", "false; touch " + file + ".2"),
            "--setup 'false; touch " + file + ".2' ended with exit code 1");
  EXPECT_FALSE(fs::exists(file + ".2"));
  EXPECT_EQ(shell_error("--prepare", "kill -KILL $$"), "--prepare 'kill -KILL $$' ended with signal 9 (Killed)");
}

TEST_F(ChildExecutorTest, WithoutASpeedTheTotalTimeIsTheFigure) {
  record::Record record = training_record();
  record.kind = "quantize";
  record.images_per_s = {};
  EXPECT_EQ(run(leaving(record)).figure, 12);
}

TEST_F(ChildExecutorTest, AnInvalidMeasurementHasItsReasonsAndItsFigure) {
  record::Record record = training_record();
  record.validity.valid = false;
  record.validity.reasons = {{"other load", "others used 40 %", ""}, {"swap", "3 MB were swapped", ""}};
  for (const int code : {0, 3}) {
    const ExecutedRun done = run(leaving(record, code));
    EXPECT_EQ(done.end, RunEnd::kInvalid) << code;
    EXPECT_EQ(done.reason, "others used 40 %; 3 MB were swapped");
    EXPECT_EQ(done.figure, 250);
  }
  record.validity.valid = true;
  EXPECT_EQ(run(leaving(record)).end, RunEnd::kDone);
}

TEST_F(ChildExecutorTest, WhatFailsHasTheLastMessageOfTheProgram) {
  const ExecutedRun failed = run("echo 'evener: first' >&2; echo 'evener: no such data' >&2; echo noise >&2; exit 2");
  EXPECT_EQ(failed.end, RunEnd::kFailed);
  EXPECT_EQ(failed.reason, "no such data");
  EXPECT_FALSE(failed.figure);
  EXPECT_EQ(text_of(run_folder().string() + ".log"), "evener: first\nevener: no such data\nnoise\n");
  EXPECT_EQ(run("exit 4").reason, "exit code 4; its log is b001.log");
  EXPECT_EQ(run("echo 'noise evener: no' >&2; exit 1").reason, "exit code 1; its log is b001.log");
}

TEST_F(ChildExecutorTest, EndsAreToldApart) {
  EXPECT_EQ(run("echo 'evener: out of memory: 3 GB' >&2; exit 1").end, RunEnd::kOutOfMemory);
  EXPECT_EQ(run("echo 'evener: a batch of 9 does not fit into the memory of cuda:0' >&2; exit 1").end,
            RunEnd::kOutOfMemory);
  EXPECT_EQ(run("echo 'evener: ran out of memory cards' >&2; exit 1").end, RunEnd::kFailed);
  const ExecutedRun killed = run("kill -TERM $$");
  EXPECT_EQ(killed.end, RunEnd::kKilled);
  EXPECT_THAT(killed.reason, HasSubstr("ended by signal 15"));
  const ExecutedRun empty = run("exit 0");
  EXPECT_EQ(empty.end, RunEnd::kFailed);
  EXPECT_THAT(empty.reason, HasSubstr("the record of the run can't be read"));
}

TEST_F(ChildExecutorTest, ALimitEndsARunThatTakesLonger) {
  const ExecutedRun late = run("exec sleep 100", {.prepare = {}, .cleanup = {}, .cool_down = {}, .run_limit_s = 0.05});
  EXPECT_EQ(late.end, RunEnd::kOutOfTime);
  EXPECT_THAT(late.reason, HasSubstr("ended after --run-limit"));
  EXPECT_EQ(run(leaving(training_record()), {.prepare = {}, .cleanup = {}, .cool_down = {}, .run_limit_s = 600}).end,
            RunEnd::kDone);
}

TEST_F(ChildExecutorTest, TheLimitIsTold) {
  EXPECT_EQ(run("exec sleep 100", {.prepare = {}, .cleanup = {}, .cool_down = {}, .run_limit_s = 0.25}).reason,
            "ended after --run-limit, 250 ms");
}

TEST_F(ChildExecutorTest, CommandsRunBeforeAndAfter) {
  const std::string order = (folder_ / "order.txt").string();
  ChildExecutorOptions options;
  options.prepare = "echo before >> " + order;
  options.cleanup = "echo after >> " + order;
  EXPECT_EQ(run("echo run >> " + order + "\n" + leaving(training_record()), options).end, RunEnd::kDone);
  EXPECT_EQ(text_of(order), "before\nrun\nafter\n");
  EXPECT_EQ(run("exit 1", options).reason, "exit code 1; its log is b001.log");
  options.cleanup = "false; true";
  const ExecutedRun unclean = run(leaving(training_record()), options);
  EXPECT_EQ(unclean.end, RunEnd::kFailed);
  EXPECT_THAT(unclean.reason,
              AllOf(HasSubstr("--cleanup 'false; true' ended with exit code 1"), HasSubstr("not used")));
  EXPECT_THAT(run("exit 7", options).reason, HasSubstr("exit code 7")) << "what the run itself ended with comes first";
  options.prepare = "exit 3";
  fs::remove(folder_ / "words.txt");
  const ExecutedRun unprepared = run(leaving(training_record()), options);
  EXPECT_EQ(unprepared.end, RunEnd::kFailed);
  EXPECT_EQ(unprepared.reason, "--prepare 'exit 3' ended with exit code 3, so nothing was run");
  EXPECT_FALSE(fs::exists(folder_ / "words.txt"));
}

TEST_F(ChildExecutorTest, WhatARunThatWasCutShortLeftIsRemoved) {
  test::write_text(run_folder() / "half.bin", "x");
  EXPECT_EQ(run("test -e \"$DIR/half.bin\" && exit 9\n" + leaving(training_record())).end, RunEnd::kDone);
}

TEST_F(ChildExecutorTest, ARecordOfARunThatEndedIsTakenOver) {
  ChildExecutor executor({});
  fs::create_directories(run_folder());
  EXPECT_FALSE(executor.left_in(run_folder()));
  record::Record record = training_record();
  record.status = record::Status::kRunning;
  record::write_record(run_folder(), record);
  EXPECT_FALSE(executor.left_in(run_folder()));
  record.status = record::Status::kDone;
  record::write_record(run_folder(), record);
  const auto left = executor.left_in(run_folder());
  ASSERT_TRUE(left);
  EXPECT_EQ(left->end, RunEnd::kDone);
  EXPECT_EQ(left->seconds, 12);
  EXPECT_EQ(left->figure, 250);
  record.validity.valid = false;
  record.validity.reasons = {{"swap", "3 MB were swapped", ""}};
  record::write_record(run_folder(), record);
  EXPECT_EQ(executor.left_in(run_folder())->end, RunEnd::kInvalid);
  EXPECT_EQ(executor.left_in(run_folder())->reason, "3 MB were swapped");
  const FolderLock lock(run_folder());
  if (lock.found() == LockState::kUnknown) return;
  EXPECT_FALSE(executor.left_in(run_folder())) << "its process still works there";
}

}  // namespace

}  // namespace evener::sweeps
