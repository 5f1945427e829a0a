// --profile layers: a table, and the record's list of layers, after the work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/paths.h"
#include "support/in_process_helpers.h"
#include "support/train_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json layer_named(const json& record, const std::string& name) {
  for (const json& layer : record["layers"]) {
    if (layer["name"] == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name << " in " << record["layers"].dump(1);
  return json::object();
}

using Profile = TrainCommand;

TEST_F(Profile, OfATrainingHasEveryLayer) {
  const ProgramResult result = run_program(small_run(out(), {"--engine", "torch", "--profile", "layers"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("backward ms"), HasSubstr("linear"), HasSubstr("(loss)"), HasSubstr("of the roof")));
  const json record = json::parse(std::ifstream(out() / "record.json"));
  const json last = layer_named(record, "2");
  EXPECT_EQ(last["what"], "linear");
  EXPECT_GT(last["forward_s"], 0);
  EXPECT_GT(last["backward_s"], 0);
  // 16 images, 32 to 10 values: products forward, and those for the gradients of weights and of inputs.
  EXPECT_GE(last["flops"], 16 * 3 * 2 * 32 * 10);
  EXPECT_EQ(last["bytes"], 4 * (16 * (3 * 32 + 2 * 10) + 3 * (32 * 10 + 10)));
  EXPECT_GT(last["roofline"], 0);
  EXPECT_EQ(record["status"], "done");
}

TEST_F(Profile, SaysWhereLayersCanNotBeTimed) {
  const ProgramResult result = run_in_process(small_run(out(), {"--engine", "native", "--profile", "layers"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("no layers were timed"));
  EXPECT_FALSE(json::parse(std::ifstream(out() / "record.json")).contains("layers"));
}

TEST_F(Profile, OfInferenceIsThatOfTheEngine) {
  for (const std::string engine : {"torch", "openvino"}) {
    if (!module_is_built(engine)) GTEST_SKIP() << "the " << engine << " engine is not built";
    const ProgramResult result = run_program({"infer", "resnet20", "random:4", "--engine", engine, "--profile",
                                              "layers", "--seconds", "0", "--format", "none", "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json record = json::parse(result.out);
    const json first = layer_named(record, "conv1");
    EXPECT_GT(first["forward_s"], 0) << engine;
    EXPECT_TRUE(first["backward_s"].is_null());
    EXPECT_GT(first["flops"], 0);
    EXPECT_GT(first["bytes"], 0);
  }
}

TEST_F(Profile, KnowsLayersAlone) {
  const ProgramResult result = run_in_process(small_run(out(), {"--profile", "phases"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("profile 'phases'"), HasSubstr("layers")));
}

// The energy of a run as a user asks for it.

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
