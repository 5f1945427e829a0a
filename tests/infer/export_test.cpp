// evener export as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/built_modules.h"
#include "base/files.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"

namespace evener {
namespace {

using Words = std::vector<std::string>;
using test::Infer;
using test::ProgramResult;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ExportCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino", "onnx"}) {
      if (!test::module_is_built(name)) GTEST_SKIP() << name << " is not built";
    }
  }

  ProgramResult run(Words words) const {
    words.insert(words.begin(), "export");
    return run_program(words);
  }
  /// In the test's own process: for what is refused.
  ProgramResult refused(Words words) const {
    words.insert(words.begin(), "export");
    return test::run_in_process(words);
  }
  std::string refusal(const Words& words) const {
    const ProgramResult result = refused(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_FALSE(std::filesystem::exists(onnx_));
    return result.err;
  }

  test::TemporaryFolder folder_;
  std::string onnx_ = (folder_ / "model.onnx").string();
};

TEST_F(ExportCommand, ARunBecomesAFileThatIsRun) {
  const std::string run_folder = (folder_ / "run").string();
  const ProgramResult trained = run_program({"train", "mlp:784-8-10", "--data", "synth:digits:200", "--epochs", "1",
                                             "--on", "cpu/t1", "--out", run_folder, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult result = run({run_folder, "--onnx", onnx_, "--normalize-inside"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("mlp:784-8-10 with the weights of " + run_folder + "/best.safetensors"),
                                HasSubstr("Nx1x28x28 (N, C, H, W), pixels from 0 to 255"), HasSubstr("10 outputs"),
                                ContainsRegex("OpenVINO runs it: largest difference [0-9.e-]+ where outputs reach")));
  const auto answers = [](const std::string& model) {
    const ProgramResult shown = run_program({"infer", model, "random:3", "--topk", "2", "--quiet"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return shown.out;
  };
  EXPECT_EQ(answers(onnx_), answers(run_folder)) << "classes, size and normalisation are in the file";
  EXPECT_THAT(run_program({"infer", onnx_, "random:3", "--normalize", "imagenet"}).err,
              HasSubstr("normalises images itself; leave out --normalize"));
}

TEST_F(ExportCommand, RandomWeightsAreSaidToBe) {
  const ProgramResult result = run({"resnet20", "--onnx", onnx_, "--size", "24x16", "--classes", "5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("random weights"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("resnet20 with random weights"), HasSubstr("Nx3x16x24"),
                                HasSubstr("not known"), HasSubstr("5 outputs")));
}

TEST_F(ExportCommand, AnOlderFileIsReplacedOnlyWhereAsked) {
  std::ofstream(onnx_) << "older";
  const ProgramResult kept = refused({"resnet20", "--onnx", onnx_});
  EXPECT_EQ(kept.exit_code, 2);
  EXPECT_THAT(kept.err, AllOf(HasSubstr("model.onnx' exists"), HasSubstr("--overwrite")));
  EXPECT_EQ(read_file(onnx_), "older");
  EXPECT_EQ(run({"resnet20", "--onnx", onnx_, "--overwrite"}).exit_code, 0);
  EXPECT_GT(std::filesystem::file_size(onnx_), 1000000u);
}

TEST_F(ExportCommand, WhatMakesNoSenseIsRefusedBeforeTheWork) {
  EXPECT_THAT(refusal({"resnet20"}), HasSubstr("needs --onnx"));
  EXPECT_THAT(refusal({"resnet20", "--onnx", "model.bin"}), HasSubstr("has to end in .onnx"));
  EXPECT_THAT(refusal({"resnet21", "--onnx", onnx_}), HasSubstr("resnet20"));
  EXPECT_THAT(refusal({"resnet20", "--onnx", onnx_, "--normalize", "data"}), HasSubstr("needs training images"));
  EXPECT_THAT(refusal({"resnet20", "--onnx", onnx_, "--normalize-inside"}), HasSubstr("--normalize imagenet"));
  EXPECT_THAT(refusal({"mlp:784-10", "--onnx", onnx_, "--normalize-inside", "--normalize", "0.5/0.5"}),
              HasSubstr("--size WIDTHxHEIGHT"));
  EXPECT_THAT(refusal({"resnet20", "--onnx", onnx_, "--size", "big"}), HasSubstr("'big'"));
  const ProgramResult unwritable = refused({"resnet20", "--onnx", "/proc/none/model.onnx"});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/proc/none"));
}

TEST_F(ExportCommand, AFolderThatIsMissingIsAnErrorAndIsNotMade) {
  const ProgramResult result = refused({"resnet20", "--onnx", (folder_ / "no/such/model.onnx").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no/such' doesn't exist"), HasSubstr("make it first")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
}

TEST_F(ExportCommand, AfterCtrlCThereIsTheWholeFileOrNone) {
  const std::string whole = (folder_ / "whole.onnx").string();
  ASSERT_EQ(run({"resnet18", "--onnx", whole}).exit_code, 0);
  test::RunningProgram program(test::program_path(), {"export", "resnet18", "--onnx", onnx_});
  ASSERT_TRUE(program.wait_for("random weights")) << program.err();  // it goes on with writing the file
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().extension(), ".onnx") << entry.path();
    EXPECT_EQ(std::filesystem::file_size(entry.path()), std::filesystem::file_size(whole)) << entry.path();
  }
}

// evener share, as a user runs it.

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Infer, SharePageTellsWhatIsRecognisedAndHowToUseIt) {
  const std::string run = trained();
  const ProgramResult result = run_program({"share", run}, options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(run + "/share/page.html"));
  const std::string page = text_of(run + "/share/page.html");
  EXPECT_THAT(page, AllOf(HasSubstr("Tells 0, 1, 2, 3, 4, 5, 6, 7, 8 and 9 apart"), HasSubstr("of 120 images"),
                          HasSubstr("which is known with a certainty of 95 %"), HasSubstr("images per second"),
                          HasSubstr("was right about, and surest of"), HasSubstr("data:image/png;base64,")));
  for (const char* word : {"infer", "quantize", "export", "--onnx"}) EXPECT_THAT(page, HasSubstr(word));
  EXPECT_THAT(page, Not(HasSubstr("http://"))) << "everything is in it";
  const ProgramResult again = run_program({"share", run, "--html", file("other.html")}, options());
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(text_of(file("other.html")), HasSubstr("apart"));
}

TEST_F(Infer, ShareRefusesWhatIsNoTraining) {
  EXPECT_EQ(run_in_process({"share", file("none")}, options()).exit_code, 1);
  const std::string run = trained();
  ASSERT_EQ(run_program({"share", run}, options()).exit_code, 0);
  const ProgramResult of_inference = run_in_process({"share", run + "/share"}, options());
  EXPECT_EQ(of_inference.exit_code, 2);
  EXPECT_THAT(of_inference.err, HasSubstr("is not the folder of a training"));
}

}  // namespace
}  // namespace evener
