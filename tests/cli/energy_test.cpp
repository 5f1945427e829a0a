// The energy of a run as a user asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/paths.h"
#include "cli/in_process_helpers.h"
#include "cli/train_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EnergyOfARun : public TrainCommand {};

TEST_F(EnergyOfARun, FromStatedPowersIsEstimatedAndTheIdlePowerComesFirst) {
  // Ended by the clock: meters need more than a second, in which some machines train a thousand epochs.
  const Words words = small_run(out(), {"--assume-power", "cpu=65W,idle=20W", "--idle", "1"});
  RunningProgram program(program_path(), with_value(words, "--epochs", "1000000"));
  ASSERT_TRUE(program.wait_for("epoch 1/")) << program.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  ASSERT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("measuring the idle power"));
  const json record = json::parse(read_file(out() / "record.json"));
  const json& energy = record["energy"];
  ASSERT_EQ(energy["idle"]["seconds"].is_number(), true) << energy.dump(2);
  EXPECT_GE(energy["idle"]["watts"], 19.9);
  EXPECT_LE(energy["idle"]["watts"], 65.1);
  EXPECT_EQ(energy["devices"][0]["name"], "cpu (stated)");
  ASSERT_TRUE(energy["joules"].is_number()) << energy.dump(2);
  EXPECT_EQ(energy["class"], "estimated");
  EXPECT_THAT(result.out, HasSubstr("(estimated)"));
  EXPECT_EQ(energy["joules_by_class"]["estimated"], energy["joules"]);
}

TEST_F(EnergyOfARun, IsAbsentWithAReasonWhereNothingMeasuresIt) {
  const ProgramResult result = run_in_process(small_run(out()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = json::parse(read_file(out() / "record.json"));
  if (!record["energy"]["joules"].is_null()) GTEST_SKIP() << "this machine has sensors";
  EXPECT_EQ(record["energy"]["class"], "absent");
  EXPECT_NE(record["energy"]["reason"], "");
}

TEST_F(EnergyOfARun, WrongWordsAndMetersThatDontAnswerEndBeforeTheWork) {
  const ProgramResult words = run_in_process(small_run(out(), {"--assume-power", "disk=3W"}));
  EXPECT_EQ(words.exit_code, 2);
  EXPECT_THAT(words.err, HasSubstr("'disk=3W'"));
  const ProgramResult meter = run_in_process(small_run(out(), {"--meter", "run:exit 4"}));
  EXPECT_EQ(meter.exit_code, 1);
  EXPECT_THAT(meter.err, HasSubstr("exit code 4"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace evener::test
