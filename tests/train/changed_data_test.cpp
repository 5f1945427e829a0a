// Data that was changed after a training: what was trained on is never tested with, and what is new is told.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "support/run_helpers.h"
#include "support/train_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::last_weights;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using test::Words;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::SizeIs;

using Names = std::set<std::string>;

class ChangedData : public testing::Test {
 protected:
  /// A run that learnt from 40 of 60 digits, in a folder of files.
  void SetUp() override {
    if (!test::module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
    if (!test::module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
    synth(data_, "1");
    train(data_, run_, "1");
  }

  void synth(const fs::path& folder, const std::string& seed) {
    const ProgramResult made =
        run_in_process({"data", "synth", "digits", "--out", folder.string(), "--count", "60", "--seed", seed});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  ProgramResult train(const fs::path& data, const fs::path& out, const std::string& epochs, const Words& more = {}) {
    return done(test::joined({"train", "mlp:784-8-10", "--data",     data.string(), "--epochs", epochs,      "--batch",
                              "16",    "--split",      "70/10/20",   "--on",        "cpu/t1",   "--engine",  "native",
                              "--lr",  "0.05",         "--schedule", "constant",    "--out",    out.string()},
                             more));
  }
  ProgramResult resume(const Words& more = {}) {
    return run_program(test::joined({"train", "--resume", run_.string(), "--epochs", "2"}, more));
  }
  static ProgramResult done(const Words& words) {
    ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }

  /// The files that `evener infer RUN --part PART` shows, by their paths in the folder; nothing where there are none.
  Names shown(const fs::path& run, const fs::path& data, const std::string& part) {
    const ProgramResult result =
        run_program({"infer", run.string(), data.string(), "--part", part, "--format", "jsonl", "--on", "cpu/t1"});
    Names names;
    for (const std::string& line : test::lines_of(result.out)) {
      if (!line.starts_with("{")) continue;
      const auto answer = nlohmann::json::parse(line);
      names.insert(fs::path(answer.at("file").get<std::string>()).lexically_relative(data).string());
    }
    return names;
  }

  /// Five new files of the class 0, whose names come first.
  void add_new() {
    synth(folder_ / "others", "7");
    int number = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "others")) {
      if (!entry.is_regular_file() || number == 5) continue;
      fs::copy_file(entry.path(), data_ / "0" / ("+" + std::to_string(number++) + ".png"));
    }
    ASSERT_EQ(number, 5);
  }

  test::TemporaryFolder folder_;
  fs::path data_ = folder_ / "digits", run_ = folder_ / "run";
};

TEST_F(ChangedData, NewImagesEnterNoPartOfARun) {
  const Names trained = shown(run_, data_, "train"), tested = shown(run_, data_, "test");
  ASSERT_THAT(trained, SizeIs(40));
  add_new();
  EXPECT_EQ(shown(run_, data_, "train"), trained);
  EXPECT_EQ(shown(run_, data_, "test"), tested);
  EXPECT_THAT(shown(run_, data_, "new"), AllOf(SizeIs(5), Each(HasSubstr("+"))));
  EXPECT_THAT(shown(run_, data_, "all"), SizeIs(65));
  // Its weights by themselves are no more innocent.
  for (const fs::path& network : {run_, run_ / "best.safetensors"}) {
    const ProgramResult told = done({"infer", network.string(), data_.string(), "--format", "none", "--on", "cpu/t1"});
    EXPECT_THAT(told.err, AllOf(HasSubstr("has changed since the training: 5 images are new"), HasSubstr("--part new"),
                                HasSubstr("the test part of")));
  }
}

TEST_F(ChangedData, ARunIsGoneOnWithOnWhatItKnows) {
  const Names trained = shown(run_, data_, "train"), tested = shown(run_, data_, "test");
  add_new();
  fs::remove(data_ / *tested.begin());
  const ProgramResult resumed = resume();
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, AllOf(HasSubstr("1 of 10 test images is gone, 5 images are new"), HasSubstr("--weights")));
  EXPECT_EQ(record_in(run_)["data"]["split"]["train"], 40);
  EXPECT_EQ(record_in(run_)["data"]["split"]["test"], 9);
  EXPECT_EQ(shown(run_, data_, "train"), trained);
}

// The number of training images is as it was: five are new.
TEST_F(ChangedData, ARunWhoseTrainingImagesAreGoneIsRefused) {
  const Names trained = shown(run_, data_, "train");
  add_new();
  fs::remove(data_ / *trained.rbegin());
  const ProgramResult refused = resume();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("1 of 40 training images is gone, 5 images are new"), HasSubstr("--data"),
                                 HasSubstr("best.safetensors")));
}

TEST_F(ChangedData, AFolderThatMovedIsGoneOnWith) {
  const fs::path whole = folder_ / "whole", moved = folder_ / "moved";
  train(data_, whole, "2");
  fs::rename(data_, moved);
  const ProgramResult lost = resume();
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, AllOf(HasSubstr("isn't there any more"), HasSubstr("--data")));
  const ProgramResult found = resume({"--data", moved.string()});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(last_weights(run_), last_weights(whole));
  // And again, now that the record names the new place.
  EXPECT_EQ(run_program({"train", "--resume", run_.string(), "--epochs", "3"}).exit_code, 0);
  EXPECT_THAT(shown(run_, moved, "test"), SizeIs(10));
}

TEST_F(ChangedData, OtherDataIsNoneToGoOnWith) {
  synth(folder_ / "others", "7");
  const ProgramResult refused = resume({"--data", (folder_ / "others").string()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("40 of 40 training images have other content"));
}

// Fine-tuning on data that has grown: images of the first run's test stay a test, the new ones are divided.
TEST_F(ChangedData, ANewRunFromItsWeightsDoesntTestWithWhatTheyLearnt) {
  const Names trained = shown(run_, data_, "train"), tested = shown(run_, data_, "test");
  add_new();
  const fs::path tuned = folder_ / "tuned", divided = folder_ / "divided";
  const Words weights = {"--weights", (run_ / "best.safetensors").string()};
  const ProgramResult grown =
      done(test::joined({"train",  "mlp:784-8-10", "--data", data_.string(), "--epochs", "1",           "--batch",
                         "16",     "--on",         "cpu/t1", "--engine",     "native",   "--lr",        "0.05",
                         "--size", "28x28",        "--crop", "stretch",      "--out",    tuned.string()},
                        weights));
  EXPECT_THAT(grown.err, HasSubstr("60 images stay in the parts that they had"));
  EXPECT_THAT(shown(tuned, data_, "train"), testing::IsSupersetOf(trained));
  EXPECT_THAT(shown(tuned, data_, "test"), testing::IsSupersetOf(tested));
  EXPECT_THAT(shown(tuned, data_, "all"), SizeIs(65));
  // Whatever the user divides by.
  const ProgramResult other = train(data_, divided, "1", test::joined(weights, {"--seed", "5"}));
  EXPECT_THAT(other.err, HasSubstr("in the training part instead"));
  EXPECT_THAT(shown(divided, data_, "train"), testing::IsSupersetOf(trained));
}

// What the weights learnt before they came to other data stays known.
TEST_F(ChangedData, WhatWeightsLearntBeforeIsKnownToo) {
  synth(folder_ / "others", "7");
  const fs::path tuned = folder_ / "tuned";
  train(folder_ / "others", tuned, "1", {"--weights", (run_ / "best.safetensors").string()});
  const ProgramResult told = done({"infer", tuned.string(), data_.string(), "--format", "none", "--on", "cpu/t1"});
  EXPECT_THAT(told.err, HasSubstr("the network was trained on 40 of the 60 images"));
}

TEST_F(ChangedData, NoAccuracyIsToldOfWhatWasTrainedOn) {
  const fs::path trained_alone = folder_ / "trained";
  for (const std::string& name : shown(run_, data_, "train")) {
    fs::create_directories((trained_alone / name).parent_path());
    fs::copy_file(data_ / name, trained_alone / name);
  }
  const ProgramResult refused = run_program({"train", "mlp:784-8-10", "--data", trained_alone.string(), "--epochs", "0",
                                             "--split", "0/0/100", "--size", "28x28", "--on", "cpu/t1", "--engine",
                                             "native", "--weights", (run_ / "best.safetensors").string()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("was trained on all 40 images"));
  const ProgramResult told =
      run_program({"infer", run_.string(), data_.string(), "--split", "0/0/100", "--format", "none", "--on", "cpu/t1"});
  EXPECT_THAT(told.err, AllOf(HasSubstr("was trained on 40 of the 60 images"), HasSubstr("40 of them")));
}

TEST_F(ChangedData, QuantizingAndSharingTestWithTheSamePart) {
  const Names tested = shown(run_, data_, "test");
  add_new();
  const fs::path quantized = folder_ / "quantized";
  const ProgramResult done_so = done({"quantize", run_.string(), "--out", quantized.string()});
  EXPECT_THAT(done_so.err, HasSubstr("5 images are new"));
  EXPECT_EQ(record_in(quantized)["data"]["images"], 10);
  EXPECT_EQ(shown(quantized, data_, "test"), tested);
  const ProgramResult shared = done({"share", run_.string()});
  EXPECT_THAT(shared.err, AllOf(HasSubstr("10 of its 65 images"), Not(HasSubstr("--part all"))));
}

// Runs of older programs have no list: numbers that differ are all that is known.
TEST_F(ChangedData, OfARunWithoutAListOtherNumbersAreTold) {
  fs::remove(run_ / "split.safetensors");
  const ProgramResult same = done({"infer", run_.string(), "--format", "none", "--on", "cpu/t1"});
  EXPECT_THAT(same.err, Not(HasSubstr("has changed")));
  add_new();
  const ProgramResult told = done({"infer", run_.string(), "--format", "none", "--on", "cpu/t1"});
  EXPECT_THAT(told.err, AllOf(HasSubstr("has changed since the training, which had 40, 10 and 10 images"),
                              HasSubstr("may have been trained on")));
}

}  // namespace
}  // namespace evener
