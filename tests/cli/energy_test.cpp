// The energy of a run as a user asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/train_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EnergyOfARun : public TrainCommand {};

TEST_F(EnergyOfARun, FromStatedPowersIsEstimatedAndTheIdlePowerComesFirst) {
  const ProgramResult result = run_program(small_run(out(), {"--assume-power", "cpu=65W,idle=20W", "--idle", "1"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("measuring the idle power"));
  const json record = json::parse(read_file(out() / "record.json"));
  const json& energy = record["energy"];
  ASSERT_EQ(energy["idle"]["seconds"].is_number(), true) << energy.dump(2);
  EXPECT_GE(energy["idle"]["watts"], 19.9);
  EXPECT_LE(energy["idle"]["watts"], 65.1);
  EXPECT_EQ(energy["devices"][0]["name"], "cpu (stated)");
  if (energy["joules"].is_null()) {  // a machine that trains this in less than a second
    EXPECT_THAT(energy["reason"].get<std::string>(), HasSubstr("too short"));
    return;
  }
  EXPECT_EQ(energy["class"], "estimated");
  EXPECT_THAT(result.out, HasSubstr("(estimated)"));
  EXPECT_EQ(energy["joules_by_class"]["estimated"], energy["joules"]);
}

TEST_F(EnergyOfARun, IsAbsentWithAReasonWhereNothingMeasuresIt) {
  const ProgramResult result = run_program(small_run(out()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = json::parse(read_file(out() / "record.json"));
  if (!record["energy"]["joules"].is_null()) GTEST_SKIP() << "this machine has sensors";
  EXPECT_EQ(record["energy"]["class"], "absent");
  EXPECT_NE(record["energy"]["reason"], "");
}

TEST_F(EnergyOfARun, WrongWordsAndMetersThatDontAnswerEndBeforeTheWork) {
  const ProgramResult words = run_program(small_run(out(), {"--assume-power", "disk=3W"}));
  EXPECT_EQ(words.exit_code, 2);
  EXPECT_THAT(words.err, HasSubstr("'disk=3W'"));
  const ProgramResult meter = run_program(small_run(out(), {"--meter", "run:exit 4"}));
  EXPECT_EQ(meter.exit_code, 1);
  EXPECT_THAT(meter.err, HasSubstr("exit code 4"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace evener::test
