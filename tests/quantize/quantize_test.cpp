// evener quantize and train --quantize, as a user runs them.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/real_data.h"
#include "support/in_process_helpers.h"
#include "support/quantize_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using QuantizeCommand = test::QuantizeCommand;
using Words = test::Words;
using test::joined;
using test::metric;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(QuantizeCommand, ARunBecomesAFileThatOtherCommandsTake) {
  const std::string run_folder = trained();
  const ProgramResult result = quantize({run_folder});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("weights"), HasSubstr("accuracy"), HasSubstr("computed in int8"),
                                HasSubstr("signal to quantisation noise")));
  EXPECT_NEAR(metric(out_, "accuracy"), metric(out_, "float_accuracy"), 0.02);
  EXPECT_LT(metric(out_, "weights_bytes"), 0.35 * metric(out_, "float_weights_bytes"));
  EXPECT_GE(metric(out_, "same_class"), 0.97);
  EXPECT_TRUE(fs::exists(fs::path(out_) / "layers.csv"));
  const ProgramResult features =
      run({"infer", out_, "random:3", "--quiet", "--features", file("features.safetensors")});
  ASSERT_EQ(features.exit_code, 0) << features.err;
  EXPECT_EQ(weights::read_safetensors(file("features.safetensors")).tensors.at("features").shape,
            (std::vector<std::int64_t>{3, 32}));
  const ProgramResult shown = run({"infer", out_, "random:3", "--quiet"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, run({"infer", out_ + "/quantized.safetensors", "random:3", "--quiet"}).out);
  const ProgramResult again = refused({out_ + "/quantized.safetensors", "--data", "synth:digits:100"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("is quantised already"));
}

TEST_F(QuantizeCommand, ItsFolderIsEvaluatedOnTheSameImagesInTheSameWay) {
  ASSERT_EQ(run_in_process({"data", "synth", "digits:300", "--out", file("digits")}).exit_code, 0);
  const ProgramResult training =
      run({"train",    "resnet20", "--data",    file("digits"), "--size",   "8x8",        "--channels",
           "1",        "--class",  "even=0/**", "--class",      "odd=1/**", "--split",    "40/0/60",
           "--epochs", "1",        "--crop",    "letterbox",    "--out",    file("float")});
  ASSERT_EQ(training.exit_code, 0) << training.err;
  const ProgramResult result = quantize({file("float"), "--crop", "centre", "--crop-fraction", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(weights::read_safetensors_metadata(out_ + "/quantized.safetensors").at("crop"), "centre");
  ASSERT_EQ(run({"infer", out_, "--out", file("answers")}).exit_code, 0);
  EXPECT_EQ(record_in(file("answers"))["data"]["images"], record_in(out_)["data"]["images"]);
  EXPECT_EQ(metric(file("answers"), "accuracy"), metric(out_, "accuracy"));
}

TEST_F(QuantizeCommand, TheExportedFileSaysTheSame) {
  if (!test::module_is_built("onnx")) GTEST_SKIP() << "onnx is not built";
  ASSERT_EQ(quantize({trained()}).exit_code, 0);
  const std::string onnx = (folder_ / "int8.onnx").string();
  const ProgramResult exported = run_program({"export", out_, "--onnx", onnx});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr("OpenVINO runs it"));
  EXPECT_LT(fs::file_size(onnx), 40000u) << "weights are bytes there too";
}

TEST_F(QuantizeCommand, AProcessorWithoutInt8ProductsIsTold) {
  const std::string run_folder = trained();
  const ProgramResult result = quantize({run_folder}, {{"EVENER_SIMD", "avx2"}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("no int8 dot products"), HasSubstr("weights have 7 bits")));
  const TensorMap tensors = weights::read_safetensors(fs::path(out_) / "quantized.safetensors").tensors;
  int largest = 0;
  for (const std::byte byte : tensors.at("0.weight").bytes) {
    largest = std::max(largest, std::abs(static_cast<int>(static_cast<std::int8_t>(byte))));
  }
  EXPECT_EQ(largest, 63);
}

TEST_F(QuantizeCommand, LearningWithQuantizationMakesUpForFourBits) {
  const std::string run_folder = trained(), qat = (folder_ / "qat").string();
  const Words data = {"--data", "synth:digits:600", "--split", "60/20/20"};
  const ProgramResult no_weights = run(joined({"train", "mlp:784-32-10", "--quantize", "w4"}, data));
  EXPECT_EQ(no_weights.exit_code, 2);
  EXPECT_THAT(no_weights.err, HasSubstr("--weights"));
  const Words learn = joined({"train", "mlp:784-32-10", "--quantize", "w4", "--weights",
                              run_folder + "/best.safetensors", "--lr", "0.02", "--out", qat},
                             data);
  ASSERT_EQ(run(joined(learn, {"--epochs", "1"})).exit_code, 0);
  const ProgramResult resumed = run({"train", "--resume", qat, "--epochs", "2"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("quantisation-aware"));
  const ProgramResult packed = quantize({qat});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_THAT(packed.err, HasSubstr("its own scales are kept"));
  EXPECT_NEAR(metric(out_, "accuracy"), record_in(qat)["accuracy"]["test"].get<double>(), 0.01);
  EXPECT_GE(metric(out_, "same_class_as_in_training"), 0.97);  // of 120 images
  const ProgramResult told = quantize({qat}, {{"EVENER_SIMD", "avx2"}});
  EXPECT_THAT(told.err, AllOf(HasSubstr("no int8 dot products"), Not(HasSubstr("7 bits"))));
}

TEST_F(QuantizeCommand, WhatLearntWithQuantizationIsSettled) {
  const std::string run_folder = trained(), qat = file("qat"), more = file("more");
  const Words data = {"--data", "synth:digits:300", "--split", "60/20/20", "--epochs", "1"};
  const ProgramResult learnt = run(joined(
      {"train", "mlp:784-32-10", "--quantize", "w4", "--weights", run_folder + "/best.safetensors", "--out", qat},
      data));
  ASSERT_EQ(learnt.exit_code, 0) << learnt.err;
  EXPECT_EQ(record_in(qat)["config"]["lr"], 0.0005);
  for (const Words& option : {Words{"--keep", "first"}, Words{"--weight-bits", "8"}, Words{"--images", "20"}}) {
    const ProgramResult result = refused(joined({qat}, option));
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, AllOf(HasSubstr("learnt with quantisation"), HasSubstr("Leave out " + option.front())));
  }
  const Words on = joined({"train", "mlp:784-32-10", "--weights", qat + "/best.safetensors", "--out", more}, data);
  const ProgramResult other_bits = run(joined(on, {"--quantize", "int8"}));
  EXPECT_EQ(other_bits.exit_code, 2);
  EXPECT_THAT(other_bits.err, HasSubstr("with weights of 4 bits, not 8"));
  ASSERT_EQ(run(on).exit_code, 0);
  EXPECT_EQ(record_in(more)["config"]["lr"], 0.0005) << "as gentle without --quantize";
}

TEST_F(QuantizeCommand, AResNetOnRealImagesLosesNoHalfPoint) {
  constexpr const char* kWeights = "resnet_cifar10/resnet20-12fca82f.th";
  if (const std::string why = test::without_real_data({kWeights, "cifar10"}); !why.empty()) GTEST_SKIP() << why;
  const ProgramResult result =
      quantize({"resnet20", "--weights", test::real_data(kWeights).string(), "--normalize", "imagenet", "--crop",
                "stretch", "--data", test::real_data("cifar10/test").string(), "--calibration-data",
                test::real_data("cifar10/cifar10_train_2000.bin.gz").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(metric(out_, "accuracy"), metric(out_, "float_accuracy") - 0.005);
  EXPECT_LE(fs::file_size(fs::path(out_) / "quantized.safetensors"), 0.27 * metric(out_, "float_weights_bytes"));
  EXPECT_GE(metric(out_, "same_class_as_in_training"), 0.995);
}

// evener quantize where something is odd: the options, the images, what is to be quantised.

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
  expect_refused({run_folder, "--data", "random:20", "--accuracy-drop", "1%"},
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

// Ranges of black pictures have no room for white digits.
TEST_F(QuantizeTrouble, AnAccuracyThatFellEndsWithAWarning) {
  const std::string run_folder = trained();
  EXPECT_THAT(quantize({run_folder}).out, Not(HasSubstr("warning"))) << "a point of 120 images is chance";
  fs::create_directories(folder_ / "black");
  for (int i = 0; i < 12; ++i) {
    std::ofstream(folder_ / "black" / (std::to_string(i) + ".pgm"), std::ios::binary) << "P5\n28 28\n255\n"
                                                                                      << std::string(784, '\0');
  }
  const ProgramResult lost = quantize({run_folder, "--calibration-data", file("black")});
  ASSERT_EQ(lost.exit_code, 0) << lost.err;
  const auto warnings = test::record_in(out_)["warnings"];
  ASSERT_EQ(warnings.size(), 1U) << lost.out;
  const auto percent = [&](const char* name) { return fmt::format("{:.4g} %", 100 * test::metric(out_, name)); };
  EXPECT_THAT(warnings[0].get<std::string>(),
              AllOf(HasSubstr("the accuracy is " + percent("accuracy") + " of 120 images"),
                    HasSubstr("was " + percent("float_accuracy") + " in float"), HasSubstr("--accuracy-drop 1%")));
  EXPECT_THAT(lost.out, HasSubstr("warning               " + warnings[0].get<std::string>() + "\nresults"));
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
      quantize(test::joined(detector, {"--data", "synth:shapes:8", "--images", "4", "--accuracy-drop", "100%"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mAP@0.5 "), HasSubstr("mAP@0.5:0.95"), Not(HasSubstr("same"))));
  EXPECT_THAT(result.err, HasSubstr("1 network tried"));
  EXPECT_NEAR(test::metric(out_, "map_50"), test::metric(out_, "float_map_50"), 0.02) << "next to nothing";
  const ProgramResult found = run({"detect", out_, "--data", "synth:shapes:4", "--part", "all", "--quiet"});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  expect_refused(test::joined(detector, {"--data", "random:4", "--accuracy-drop", "1%"}),
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
