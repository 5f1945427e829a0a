// evener train --resume as a user gives it, and what the record says of a run that several sessions worked on.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/built_modules.h"
#include "base/test_folder.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "support/train_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::last_weights;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using test::RunningProgram;
using test::small_run;
using test::TrainCommand;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// A training of a quarter of a second.
Words digits(const fs::path& out, const std::string& epochs, const Words& more = {}) {
  const Words words = {
      "train", "mlp:784-16-10", "--data", "synth:digits:200", "--on", "cpu/t1",  "--batch",  "16",       "--epochs",
      epochs,  "--lr",          "0.1",    "--momentum",       "0.9",  "--split", "70/10/20", "--engine", "native",
      "--out", out.string()};
  return joined(words, more);
}

/// One of so many epochs of a quarter of a second that it can be stopped.
Words stoppable_run(const fs::path& out, const Words& more = {}, const char* data = "synth:digits:2000") {
  const Words words = {
      "train",     "mlp:784-64-10",       "--data",   data,     "--on",  "cpu/t1",    "--batch", "8", "--epochs", "40",
      "--augment", "resized-crop,colour", "--engine", "native", "--out", out.string()};
  return joined(words, more);
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

double sum_of(const json& sessions, const char* key) {
  double sum = 0;
  for (const json& session : sessions) sum += session.at(key).get<double>();
  return sum;
}

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }

  void train(const Words& words) {
    const ProgramResult result = run_program(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  std::string refusal(const Words& words) {
    const ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  }
  /// Stops a run after an epoch; how it ended.
  ProgramResult stopped(const Words& words, int signal) {
    RunningProgram program(test::program_path(), words);
    EXPECT_TRUE(program.wait_for("epoch 2/")) << program.err();
    program.send(signal);
    return program.finish();
  }

  fs::path out() const { return folder_ / "run"; }

  test::TemporaryFolder folder_;
};

TEST_F(Resume, TheFolderOfTheRunIsEnough) {
  train(digits(out(), "2", {"--schedule", "step:2"}));
  train({"train", "--resume", out().string(), "--epochs", "3"});
  train(digits(folder_ / "whole", "3", {"--schedule", "step:2"}));
  EXPECT_EQ(last_weights(out()), last_weights(folder_ / "whole"));
  const json record = record_in(out());
  EXPECT_EQ(record["config"]["schedule"], "step:2:0.1");
  EXPECT_EQ(record["config"]["epochs"], 3);
  EXPECT_EQ(record["config"]["resume"], true);
  // And once more, with what is recorded now.
  train({"train", "--resume=" + out().string() + "/", "--epochs", "4"});
  EXPECT_THAT(record_in(out())["epochs"], SizeIs(4));
}

TEST_F(Resume, OptionsBesideTheFolderAreHeldToWhatMustStay) {
  train(digits(out(), "1"));
  const std::string folder = out().string();
  EXPECT_THAT(refusal({"train", "--resume", folder, "--epochs", "2", "--momentum", "0.5"}),
              HasSubstr("momentum: 0.9 in the checkpoint, 0.5 now"));
  EXPECT_THAT(refusal({"train", "--resume", folder, "--overwrite"}), HasSubstr("give one of them"));
  EXPECT_THAT(refusal({"train", "--resume", folder, "--out", (folder_ / "other").string()}),
              HasSubstr("copy its folder first"));
  EXPECT_THAT(refusal({"train", "--resume", (folder_ / "none").string()}), HasSubstr("nothing to resume"));
  EXPECT_THAT(refusal({"train", "--resume", "mlp:784-10", "--data", "synth:digits:200"}),
              HasSubstr("MODEL comes before it"));
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

TEST_F(Resume, ABatchThatWasFoundIsNotLookedForAgain) {
  train(digits(out(), "1"));
  json record = record_in(out());
  record["options"]["batch"] = {"max"};
  record["options"]["on"] = {"auto"};
  std::ofstream(out() / "record.json") << record.dump();
  train({"train", "--resume", out().string(), "--epochs", "2"});
  EXPECT_EQ(record_in(out())["options"]["batch"], json({"16"}));
  EXPECT_EQ(record_in(out())["options"]["on"], json({"cpu/t1"}));
  record["options"]["gone"] = {"1"};
  std::ofstream(out() / "record.json") << record.dump();
  EXPECT_THAT(refusal({"train", "--resume", out().string()}), HasSubstr("--gone, which is no option here"));
}

TEST_F(Resume, SessionsAddUp) {
  train(digits(out(), "2"));
  const json first = record_in(out());
  train({"train", "--resume", out().string(), "--epochs", "5"});
  const json record = record_in(out());
  const json& sessions = record["sessions"];
  ASSERT_THAT(sessions, SizeIs(2));
  EXPECT_EQ(record["started"], first["started"]);
  EXPECT_EQ(record["command"], first["command"]);
  EXPECT_EQ(sessions[1]["command"][2], "--resume");
  EXPECT_EQ(sessions[0]["epochs"], 2);
  EXPECT_EQ(sessions[1]["epochs"], 3);
  EXPECT_EQ(sum_of(sessions, "images"), 5 * 140);
  EXPECT_EQ(record["placement"]["replicas"][0]["samples"], 5 * 140);
  EXPECT_DOUBLE_EQ(record["times_s"]["total"], sum_of(sessions, "seconds"));
  if (record["cpu"]["seconds"].is_number()) {  // the kernel's ticks are too coarse for sessions below 50 ms
    EXPECT_DOUBLE_EQ(record["cpu"]["seconds"], sum_of(sessions, "cpu_seconds"));
  }
  double train_s = 0;
  for (const json& epoch : record["epochs"]) train_s += epoch["seconds"].get<double>();
  EXPECT_NEAR(record["times_s"]["train"], train_s, 1e-9);
  EXPECT_GT(record["times_s"]["init"].get<double>(), first["times_s"]["init"].get<double>());
  // Blocks of steps of both; each leaves its first epoch out.
  EXPECT_GT(record["images_per_s_details"]["samples"].size(), first["images_per_s_details"]["samples"].size());
  EXPECT_EQ(record["epochs"][0], first["epochs"][0]);
}

TEST_F(Resume, WithNothingToDoTheRecordStaysAsItWas) {
  train(digits(out(), "3"));
  const std::string record = content_of(out() / "record.json"), samples = content_of(out() / "samples.csv");
  for (const Words& words : {Words{"train", "--resume", out().string()}, digits(out(), "3", {"--resume"}),
                             Words{"train", "--resume", out().string(), "--epochs", "2"},
                             Words{"train", "--resume", out().string(), "--epochs", "9", "--until-accuracy", "0.01"}}) {
    const ProgramResult again = run_in_process(words);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_THAT(again.err, HasSubstr("nothing to do: the run ended after 3 epochs"));
    EXPECT_THAT(again.out, HasSubstr("test accuracy"));
    EXPECT_EQ(content_of(out() / "record.json"), record);
    EXPECT_EQ(content_of(out() / "samples.csv"), samples);
    const bool more_epochs = words.back() == "0.01";
    EXPECT_THAT(again.err, HasSubstr(more_epochs ? "--until-accuracy ended it" : "--epochs with more"));
  }
}

TEST_F(Resume, ANewEndOfTheScheduleIsTold) {
  train(digits(out(), "2", {"--schedule", "cosine"}));
  const ProgramResult longer = run_in_process({"train", "--resume", out().string(), "--epochs", "4"});
  EXPECT_THAT(longer.err,
              HasSubstr("the cosine schedule now ends after epoch 4 instead of 2: the rate goes on with 0.05"));
  EXPECT_THAT(record_in(out())["notes"].dump(), HasSubstr("now ends after epoch 4"));
}

TEST_F(Resume, AKilledRunCanBeReportedAndGoneOnWith) {
  EXPECT_EQ(stopped(stoppable_run(out()), SIGKILL).exit_code, 128 + SIGKILL);
  ASSERT_EQ(record_in(out())["status"], "running") << "it could not say more";
  EXPECT_THAT(content_of(out() / "epochs.csv"), HasSubstr("epoch,"));
  const ProgramResult report = run_in_process({"report", out().string(), "--no-html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(HasSubstr("ended without finishing (killed"), HasSubstr("INVALID: unfinished")));
  std::ofstream(out() / "last.safetensors.tmp-12345") << "half";
  train({"train", "--resume", out().string(), "--epochs", "4"});
  EXPECT_FALSE(fs::exists(out() / "last.safetensors.tmp-12345"));
  const json record = record_in(out());
  EXPECT_EQ(record["status"], "done");
  EXPECT_EQ(record["sessions"][0]["status"], "killed");
  EXPECT_TRUE(record["cpu"]["seconds"].is_null());
  EXPECT_THAT(record["missing"].dump(), HasSubstr("\"cpu.seconds\":\"session 1 was killed"));
  EXPECT_THAT(record["validity"].dump(), HasSubstr("lost session"));
  EXPECT_DOUBLE_EQ(record["times_s"]["total"], sum_of(record["sessions"], "seconds"));
}

TEST_F(Resume, ARunCanBeFollowed) {
  RunningProgram program(test::program_path(), stoppable_run(out()));
  ASSERT_TRUE(program.wait_for("epoch 2/")) << program.err();
  const ProgramResult report = run_in_process({"report", out().string(), "--no-html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(HasSubstr("has not ended: these are its figures so far"), Not(HasSubstr("killed"))));
  program.send(SIGINT);
  EXPECT_EQ(program.finish().exit_code, 130) << "the look must not disturb it";
}

TEST_F(Resume, ARunCanBeReportedFromItsFirstStepOn) {
  // Several seconds for the first epoch.
  RunningProgram program(test::program_path(), stoppable_run(out(), {"--batch", "1"}, "synth:digits:20000"));
  for (int tries = 0; tries < 100000 && !fs::exists(out() / "record.json"); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(record_in(out())["epochs"], SizeIs(0));
  EXPECT_EQ(record_in(out())["status"], "running");
}

TEST_F(Resume, EachSignalHasItsExitCode) {
  for (const auto& [signal, code] : {std::pair(SIGHUP, 129), std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const fs::path run = folder_ / std::to_string(code);
    const ProgramResult result = stopped(stoppable_run(run), signal);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr("evener train --resume " + run.string() + " goes on"));
    EXPECT_EQ(record_in(run)["status"], "interrupted");
  }
}

TEST_F(Resume, OutputsThatCannotBeWrittenAreFoundBeforeTheTraining) {
  for (const char* option : {"--json", "--trace"}) {
    const ProgramResult result = run_in_process(digits(out(), "1", {option, (folder_ / "none" / "file").string()}));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("none/file"), HasSubstr("does not exist"), Not(HasSubstr("epoch 1/1"))));
    EXPECT_FALSE(fs::exists(out()));
  }
  const std::string lost = (folder_ / "none" / "file").string();
  for (const Words& words : {Words{"plan", "mlp:784-10", "--data", "synth:digits:200", "--json", lost},
                             Words{"data", "info", "synth:digits:200", "--json", lost}}) {
    const ProgramResult result = run_in_process(words);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("does not exist"));
    EXPECT_EQ(result.out, "");
  }
  train(digits(out(), "1", {"--json", (out() / "copy.json").string()}));  // a place that the run makes itself
  EXPECT_EQ(content_of(out() / "copy.json"), content_of(out() / "record.json"));
}

TEST_F(TrainCommand, ResumeRefusesOtherSettings) {
  ASSERT_EQ(run_in_process(small_run(out())).exit_code, 0);
  const ProgramResult other = run_in_process(small_run(out(), {"--resume", "--seed", "9"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("seed: 1 in the checkpoint, 9 now"));
}

TEST_F(TrainCommand, ResumeNamesADamagedCheckpoint) {
  ASSERT_EQ(run_in_process(small_run(out())).exit_code, 0);
  fs::resize_file(out() / "last.safetensors", 1000);
  const ProgramResult cut = run_in_process(small_run(out(), {"--resume"}));
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.err, HasSubstr("last.safetensors"));
  const ProgramResult nothing = run_in_process(small_run(folder_ / "none", {"--resume"}));
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to resume"));
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

TEST_F(TrainCommand, ResumeOfARunWithoutACheckpointSaysHowToBeginAgain) {
  ASSERT_EQ(run_in_process(small_run(out())).exit_code, 0);
  for (const auto& file : fs::directory_iterator(out())) {  // as a run that was killed in its first epoch leaves it
    if (file.path().filename() != "record.json") fs::remove(file.path());
  }
  const ProgramResult resumed = run_in_process(small_run(out(), {"--resume"}));
  EXPECT_EQ(resumed.exit_code, 1);
  EXPECT_THAT(resumed.err,
              AllOf(HasSubstr("before its first checkpoint"), HasSubstr("--overwrite instead of --resume")));
  EXPECT_EQ(run_in_process(small_run(out(), {"--overwrite"})).exit_code, 0);
}

}  // namespace
}  // namespace evener
