// --frequency and --power-limit as a user gives them, on a made-up machine: what holds during a run, and after each way
// to end it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/built_modules.h"
#include "cli/run_helpers.h"
#include "cli/run_program.h"
#include "measure/limits_helpers.h"
#include "record/sweep_file.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

const Words kProduct = {"matmul", "32", "--engine", "native", "--on", "cpu/t1"};

class LimitsCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }

  ProgramOptions options() const {
    return {.environment = {{"EVENER_SYS_ROOT", machine_.path().string()}}, .cwd = folder_.path()};
  }
  ProgramResult run(const Words& words) const { return run_program(words, options()); }
  /// A product that goes on for an hour, begun under a limit of 2 GHz.
  std::unique_ptr<RunningProgram> long_run() const {
    auto program = std::make_unique<RunningProgram>(
        program_path(),
        joined(kProduct, {"--seconds", "3600", "--frequency", "2GHz", "--out", out().string(), "--overwrite"}),
        options());
    EXPECT_TRUE(program->wait_for("at most 2000 MHz")) << program->err();
    EXPECT_EQ(machine_.frequency(), "2000000\n");
    return program;
  }
  fs::path out() const { return folder_ / "run"; }
  void expect_as_before() const {
    EXPECT_EQ(machine_.frequency(), "3400000\n");
    EXPECT_EQ(machine_.power(), "80000000\n");
    EXPECT_FALSE(fs::exists(machine_.state_file()));
  }

  LimitsTree machine_;
  TestFolder folder_;
};

TEST_F(LimitsCommand, StandInTheRecordAndArePutBackAfterTheRun) {
  const ProgramResult result =
      run(joined(kProduct, {"--seconds", "0", "--frequency", "1.5GHz", "--power-limit", "cpu=65W", "--out", out()}));
  ASSERT_THAT(result.exit_code, AnyOf(0, 3)) << result.err;
  expect_as_before();
  const json record = record_in(out());
  EXPECT_EQ(record["config"]["frequency"], "1.5GHz");
  EXPECT_EQ(record["config"]["power-limit"], "cpu=65W");
  ASSERT_EQ(record["limits"].size(), 2U);
  EXPECT_EQ(record["limits"][0],
            json::parse(R"({"what": "CPU frequency", "devices": ["policy0"], "unit": "MHz", "asked": 1500, "held": 1500,
                            "former": 3400})"));
  EXPECT_EQ(record["limits"][1]["held"], 65);
  const ProgramResult report = run({"report", out()});
  EXPECT_THAT(report.out, HasSubstr("CPU frequency of policy0: at most 1500 MHz"));
}

TEST_F(LimitsCommand, ArePutBackAfterCtrlC) {
  const auto program = long_run();
  program->send(SIGINT);
  EXPECT_EQ(program->finish().exit_code, 130);
  expect_as_before();
}

TEST_F(LimitsCommand, ArePutBackByTheNextRunAfterAKill) {
  const auto program = long_run();
  program->send(SIGKILL);
  EXPECT_EQ(program->finish().exit_code, 128 + SIGKILL);
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  const ProgramResult next = run(joined(kProduct, {"--seconds", "0"}));
  EXPECT_THAT(next.err, HasSubstr("put back what a run that was killed"));
  expect_as_before();
}

TEST_F(LimitsCommand, DoctorPutsThemBackTooAndTellsWhatCanBeSet) {
  long_run()->send(SIGKILL);
  const json report = json::parse(run({"doctor", "--json", "-"}).out);
  expect_as_before();
  const auto section = std::ranges::find_if(report["sections"], [](const json& s) { return s["title"] == "Limits"; });
  ASSERT_NE(section, report["sections"].end());
  const json& findings = (*section)["findings"];
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_THAT(findings[0]["text"].get<std::string>(), HasSubstr("to 3400 MHz (policy0)"));
  EXPECT_EQ(findings[1]["name"], "--frequency");
  EXPECT_EQ(findings[1]["text"], "CPU frequency of policy0, policy7: from 800 MHz to 3500 MHz, now 3400 MHz");
  EXPECT_EQ(findings[1]["mark"], "ok");
  EXPECT_EQ(findings[2]["text"], "CPU power of package-0: from 1 W to 95 W, now 80 W");
  EXPECT_EQ(findings[3]["name"], "--power-limit gpu=WATTS");
}

TEST_F(LimitsCommand, ASecondRunWithALimitIsRefusedWhileAnotherHasOne) {
  const auto program = long_run();
  const ProgramResult second = run(joined(kProduct, {"--seconds", "0", "--power-limit", "cpu=50W"}));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, AllOf(HasSubstr("another run, process "), HasSubstr("wait for its end, or end it")));
  EXPECT_EQ(machine_.frequency(), "2000000\n");
  EXPECT_EQ(machine_.power(), "80000000\n");
  const ProgramResult without = run(joined(kProduct, {"--seconds", "0"}));
  EXPECT_THAT(without.exit_code, AnyOf(0, 3)) << without.err;
  EXPECT_EQ(machine_.frequency(), "2000000\n") << "the other run goes on";
}

TEST_F(LimitsCommand, RefusalsSayWhatToDo) {
  const auto refused = [&](const Words& words, int exit_code) {
    const ProgramResult result = run(joined(kProduct, words));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--frequency", "2"}, 2), HasSubstr("such as 2.0GHz or 2000MHz"));
  EXPECT_THAT(refused({"--frequency", "9GHz"}, 2), HasSubstr("policy0 takes from 800 MHz to 3500 MHz"));
  EXPECT_THAT(refused({"--power-limit", "gpu=250W,cpu=65W"}, 2), HasSubstr("as in gpu=250W+cpu=65W"));
  EXPECT_THAT(refused({"--power-limit", "250W"}, 2), HasSubstr("'cpu/t1' has no NVIDIA GPU to limit"));
  fs::remove_all(machine_.path() / "sys/devices");
  EXPECT_THAT(refused({"--frequency", "2GHz"}, 1), HasSubstr("there is nothing to set"));
  EXPECT_EQ(machine_.power(), "80000000\n");
}

TEST_F(LimitsCommand, ReplicasThatAreProcessesWorkUnderThem) {
  const ProgramResult result =
      run({"train", "mlp:784-16-10", "--data", "synth:digits:200", "--engine", "native", "--epochs", "2", "--on",
           "2xcpu/t1", "--oversubscribe", "--frequency", "2GHz", "--quiet", "--out", out()});
  ASSERT_THAT(result.exit_code, AnyOf(0, 3)) << result.err;
  expect_as_before();
  const json record = record_in(out());
  EXPECT_EQ(record["limits"][0]["held"], 2000);
  EXPECT_THAT(record["validity"]["reasons"].dump(), Not(HasSubstr("\"limit\""))) << "no replica has put it back";
}

TEST_F(LimitsCommand, AreAxesOfASweep) {
  const fs::path out = folder_ / "sweep";
  const ProgramResult result = run(
      joined({"sweep", "--out", out, "--repeats", "1", "--no-html"},
             joined(kProduct, {"--seconds", "0", "--frequency", "1.2GHz,2.0GHz", "--power-limit", "cpu=40W,cpu=65W"})));
  ASSERT_THAT(result.exit_code, AnyOf(0, 3)) << result.err;
  expect_as_before();
  EXPECT_THAT(result.out, AllOf(HasSubstr("frequency"), HasSubstr("power-limit"), HasSubstr("cpu=65W")));
  std::set<std::pair<double, double>> held;
  for (const record::SweepRun& run : record::read_journal(out).runs) {
    const json limits = record_in(out / run.folder)["limits"];
    held.emplace(limits[0]["held"], limits[1]["held"]);
  }
  EXPECT_THAT(held, testing::UnorderedElementsAre(std::pair(1200.0, 40.0), std::pair(1200.0, 65.0),
                                                  std::pair(2000.0, 40.0), std::pair(2000.0, 65.0)));
}

}  // namespace
}  // namespace evener::test
