// evener quantize where something is odd: the options, the images, what is to be quantised.
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "cli/quantize_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

class QuantizeTrouble : public test::QuantizeCommand {
 protected:
  void expect_refused(const Words& words, const std::string& reason) const {
    const ProgramResult result = refused(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  /// A folder of grey pictures, of which the first is broken.
  std::string pictures(const std::string& name, int count) const {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "a.pgm") << "no picture";
    for (int i = 0; i < count; ++i) {
      std::ofstream(folder_ / name / ("b" + std::to_string(i) + ".pgm"), std::ios::binary)
          << "P5\n28 28\n255\n"
          << std::string(784, static_cast<char>(10 * i));
    }
    return file(name);
  }
};

TEST_F(QuantizeTrouble, MistakesAreTold) {
  const std::string run_folder = trained();
  expect_refused({"resnet20"}, "--data");
  expect_refused({run_folder, "--images", "0"}, "--images");
  expect_refused({run_folder, "--keep", "conv*"}, "they are 0, 2");
  expect_refused({run_folder, "--calibration", "best"}, "minmax");
  expect_refused({run_folder, "--data", "random:20", "--accuracy-drop", "1"},
                 "--accuracy-drop needs images whose classes");
  expect_refused({run_folder, "--data", "synth:digits:50", "--split", "0/0/100"}, "no images in its train part");
}

TEST_F(QuantizeTrouble, FewAndManyImagesCalibrate) {
  const std::string run_folder = trained();
  const ProgramResult one = quantize({run_folder, "--images", "1"}), many = quantize({run_folder, "--images", "10000"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("calibrated on 1 image alone"));
  EXPECT_EQ(many.exit_code, 0) << many.err;
  EXPECT_THAT(many.err, HasSubstr("there were only 360 images"));
  const ProgramResult ten_thousand =
      quantize({run_folder, "--data", "synth:digits:30", "--calibration-data", "random:10000", "--images", "10000"});
  EXPECT_EQ(ten_thousand.exit_code, 0) << ten_thousand.err;
  EXPECT_THAT(ten_thousand.err, Not(HasSubstr("there were only")));
}

TEST_F(QuantizeTrouble, FewImagesTellNoChange) {
  const std::string run_folder = trained();
  const ProgramResult few = quantize({run_folder, "--data", "synth:digits:20", "--split", "80/0/20"});
  ASSERT_EQ(few.exit_code, 0) << few.err;
  EXPECT_THAT(few.out, AllOf(HasSubstr("of 10 images, too few to tell a change: before "), HasSubstr("(95 %)"),
                             Not(HasSubstr("points of"))));
  EXPECT_THAT(quantize({run_folder}).out, HasSubstr("points of 120 images"));
}

TEST_F(QuantizeTrouble, CtrlCEndsInGoodOrder) {
  const std::string run_folder = trained();
  test::RunningProgram program(test::program_path(), {"quantize", run_folder, "--out", out_, "--seconds", "20"});
  ASSERT_TRUE(program.wait_for("running the network in float")) << program.err();
  program.send_to_group(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(test::record_in(out_)["status"], "interrupted");
  for (const auto& entry : fs::directory_iterator(out_)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp-"))) << "half-written";
  }
  EXPECT_EQ(quantize({run_folder}).exit_code, 0) << "another goes in its place";
}

TEST_F(QuantizeTrouble, NoImagesAtAllAreAnError) {
  const std::string run_folder = trained();
  fs::create_directories(folder_ / "empty");
  const ProgramResult empty = refused({run_folder, "--calibration-data", file("empty")});
  EXPECT_NE(empty.exit_code, 0);
  EXPECT_THAT(empty.err, HasSubstr("empty"));
  expect_refused({run_folder, "--data", pictures("broken", 0)}, "no images to calibrate with");
}

// As of folders train/ and val/.
TEST_F(QuantizeTrouble, WithoutATestPartTheValidationIsEvaluated) {
  const ProgramResult result = quantize({trained(), "--data", "synth:digits:200", "--split", "70/30/0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("points of 60 images"));
  const Words detector = {"ssdlite_mobilenet_v2", "--classes", "3", "--size", "64x64", "--data", "synth:shapes:8"};
  const ProgramResult found = quantize(test::joined(detector, {"--split", "50/50/0", "--images", "4"}));
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("mAP@0.5 "));
  expect_refused(test::joined(detector, {"--split", "100/0/0"}), "nor in one to validate on");
}

TEST_F(QuantizeTrouble, AnUnreadablePictureIsLeftOutAndTold) {
  const ProgramResult result = quantize({trained(), "--data", pictures("pictures", 5)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 image could not be read"), HasSubstr("a.pgm")));
  EXPECT_THAT(result.out, HasSubstr("same class"));
}

TEST_F(QuantizeTrouble, FoldersThatAreNoClassesAreTakenWhole) {
  pictures("photos/cats", 3);
  pictures("photos/dogs", 3);
  const ProgramResult result = quantize({trained(), "--data", file("photos")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("are no classes that"), Not(HasSubstr("--part"))));
}

TEST_F(QuantizeTrouble, ADetectorIsJudgedByItsPrecision) {
  const Words detector = {"ssdlite_mobilenet_v2", "--classes", "3", "--size", "64x64", "--split", "50/0/50"};
  const ProgramResult result =
      quantize(test::joined(detector, {"--data", "synth:shapes:8", "--images", "4", "--accuracy-drop", "100"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mAP@0.5 "), HasSubstr("mAP@0.5:0.95"), Not(HasSubstr("same"))));
  EXPECT_THAT(result.err, HasSubstr("1 network tried"));
  EXPECT_NEAR(test::metric(out_, "map_50"), test::metric(out_, "float_map_50"), 0.02) << "next to nothing";
  const ProgramResult found = run({"detect", out_, "--data", "synth:shapes:4", "--part", "all", "--quiet"});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  expect_refused(test::joined(detector, {"--data", "random:4", "--accuracy-drop", "1"}),
                 "--accuracy-drop needs images whose boxes");
}

TEST_F(QuantizeTrouble, AnOnnxFileBecomesAnotherThatItsFolderStandsFor) {
  if (!test::module_is_built("onnx")) GTEST_SKIP() << "onnx is not built";
  const std::string onnx = file("float.onnx");
  ASSERT_EQ(test::run_program({"export", trained(), "--onnx", onnx}).exit_code, 0);
  const ProgramResult result = quantize({onnx, "--data", "synth:digits:200", "--split", "50/0/50"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(test::metric(out_, "same_class"), 0.95);
  EXPECT_NEAR(test::metric(out_, "accuracy"), test::metric(out_, "float_accuracy"), 0.04);
  const ProgramResult shown = run({"infer", out_, "synth:digits:20", "--quiet"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, run({"infer", out_ + "/quantized.onnx", "synth:digits:20", "--quiet"}).out);
  const ProgramResult again =
      run({"quantize", out_ + "/quantized.onnx", "--data", "synth:digits:50", "--out", file("again")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("is quantised already"));
  const ProgramResult exported = test::run_program({"export", out_, "--onnx", file("more.onnx")});
  EXPECT_EQ(exported.exit_code, 1);
  EXPECT_THAT(exported.err, HasSubstr("holds quantized.onnx"));
}

TEST_F(QuantizeTrouble, AnOnnxFileMayNormalizeItself) {
  if (!test::module_is_built("onnx")) GTEST_SKIP() << "onnx is not built";
  const std::string onnx = file("float.onnx");
  const ProgramResult exported = test::run_program({"export", "mobilenet_v2", "--size", "64x64", "--classes", "5",
                                                    "--normalize", "0.5/0.25", "--normalize-inside", "--onnx", onnx});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const ProgramResult result = quantize({onnx, "--data", "random:40", "--images", "40"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(test::metric(out_, "last_layer_sqnr_db"), 10);
  EXPECT_THAT(result.out, HasSubstr("same largest output"));
  const ProgramResult shown = run({"infer", out_, "random:3", "--quiet"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
}

}  // namespace
}  // namespace evener
