// evener quantize and train --quantize, as a user runs them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/module.h"
#include "cli/run_helpers.h"
#include "cli/run_program.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

/// The value of a figure in a run's record.
double metric(const fs::path& folder, const std::string& name) {
  const json metrics = record_in(folder)["metrics"];
  if (!metrics.contains(name)) throw std::runtime_error("no figure " + name);
  return metrics[name]["value"].get<double>();
}

class QuantizeCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino"}) {
      if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << name << " is not built";
    }
  }

  ProgramResult run(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return run_program(joined(words, {"--on", "cpu/t1"}), {.environment = environment});
  }
  /// An MLP of torch that has learnt some digits.
  std::string trained() const {
    const std::string folder = (folder_ / "float").string();
    const ProgramResult result = run({"train", "mlp:784-32-10", "--data", "synth:digits:600", "--split", "60/20/20",
                                      "--epochs", "3", "--lr", "0.1", "--engine", "torch", "--out", folder});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder;
  }
  ProgramResult quantize(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return run(joined({"quantize", "--seconds", "0.05", "--overwrite", "--out", out_}, words), environment);
  }

  test::TemporaryFolder folder_;
  std::string out_ = (folder_ / "int8").string();
};

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
  const ProgramResult shown = run({"infer", out_, "random:3", "--quiet"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, run({"infer", out_ + "/quantized.safetensors", "random:3", "--quiet"}).out);
  const ProgramResult again = quantize({out_ + "/quantized.safetensors", "--data", "synth:digits:100"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("is quantised already"));
}

TEST_F(QuantizeCommand, TheExportedFileSaysTheSame) {
  if (module_status("onnx").state == ModuleState::kNotBuilt) GTEST_SKIP() << "onnx is not built";
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

TEST_F(QuantizeCommand, MistakesAreTold) {
  const std::string run_folder = trained();
  EXPECT_THAT(quantize({"resnet20"}).err, HasSubstr("--data"));
  EXPECT_THAT(quantize({run_folder, "--images", "0"}).err, HasSubstr("--images"));
  EXPECT_THAT(quantize({run_folder, "--keep", "conv*"}).err, HasSubstr("they are 0, 2"));
  EXPECT_THAT(quantize({run_folder, "--calibration", "best"}).err, HasSubstr("minmax"));
  EXPECT_THAT(quantize({run_folder, "--images", "1"}).err, HasSubstr("calibrated on 1 image alone"));
  EXPECT_THAT(quantize({run_folder, "--images", "10000"}).err, HasSubstr("there were only 360 images"));
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
}

TEST_F(QuantizeCommand, AResNetOnRealImagesLosesNoHalfPoint) {
  const fs::path shared = fs::path(EVENER_SOURCE_DIR) / "../shared/data";
  const fs::path weights = shared / "resnet_cifar10/resnet20-12fca82f.th";
  if (!fs::exists(weights) || !fs::exists(shared / "cifar10")) {
    GTEST_SKIP() << "needs ../shared/data/{cifar10,resnet_cifar10}";
  }
  const ProgramResult result = quantize({"resnet20", "--weights", weights.string(), "--normalize", "imagenet", "--data",
                                         (shared / "cifar10/test").string(), "--calibration-data",
                                         (shared / "cifar10/cifar10_train_2000.bin.gz").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(metric(out_, "accuracy"), metric(out_, "float_accuracy") - 0.005);
  EXPECT_LE(fs::file_size(fs::path(out_) / "quantized.safetensors"), 0.27 * metric(out_, "float_weights_bytes"));
}

}  // namespace
}  // namespace evener
