// Which convolutions a training takes, and that narrower processors learn the same.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/simd_level.h"
#include "support/train_helpers.h"

namespace evener {
namespace {

using nlohmann::json;
using test::last_weights;
using test::ProgramResult;
using test::record_in;
using test::relative_distance;
using test::run_program;
using test::TrainCommand;
using test::Words;

/// Sums are rounded otherwise, which six steps of batch-norms widen; another gradient would be far beyond.
constexpr double kRoundedOtherwise = 0.02;

class ConvolutionsOfTraining : public TrainCommand {
 protected:
  /// Trains a small network of 3x3 convolutions into out() / `name`.
  void train(const std::string& name, const std::string& convolution, const std::string& level,
             const std::string& precision = "fp32", const Words& how = {"--on", "cpu/t1", "--batch", "32"}) {
    Words words = {"train",       "resnet20", "--data", "synth:masks:64", "--size",        "32x32",
                   "--epochs",    "1",        "--lr",   "0.01",           "--split",       "100/0/0",
                   "--precision", precision,  "--out",  out() / name,     "--convolution", convolution};
    words.insert(words.end(), how.begin(), how.end());
    const ProgramResult result = run_program(words, {.environment = {{"EVENER_SIMD", level}}});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  json executed(const std::string& name) const { return record_in(out() / name)["config"]["executed"]; }
};

TEST_F(ConvolutionsOfTraining, TheRecordCountsThem) {
  train("direct", "direct", "");
  train("auto", "auto", "");
  EXPECT_EQ(executed("direct"), json({{"Convolution direct f32", 19}}));
  EXPECT_EQ(executed("auto"), json({{"Convolution direct f32", 9}, {"Convolution winograd f32", 10}}));
  const double distance = relative_distance(last_weights(out() / "auto"), last_weights(out() / "direct"));
  EXPECT_GT(distance, 0);  // otherwise the choice changed nothing
  EXPECT_LT(distance, kRoundedOtherwise);
}

// A stage transforms weights once for all micro-batches, so that 4 images do; record.json has the first stage's.
TEST_F(ConvolutionsOfTraining, StagesTakeThemForFewerImages) {
  train("whole", "auto", "", "fp32", {"--on", "cpu/t1", "--batch", "4"});
  EXPECT_EQ(executed("whole"), json({{"Convolution direct f32", 19}}));
  train(
      "stages", "auto", "", "fp32",
      {"--on", "cpu/t1..cpu/t1", "--cut", "layer3", "--batch-norm", "local", "--batch", "24", "--micro-batches", "6"});
  EXPECT_EQ(executed("stages"), json({{"Convolution direct f32", 8}, {"Convolution winograd f32", 5}}));
}

TEST_F(ConvolutionsOfTraining, ImagesInBfloat16TakeThemWhereTheyAreNotMultipliedInTiles) {
  train("narrow", "auto", "avx2", "bf16");
  EXPECT_EQ(executed("narrow"), json({{"Convolution direct bf16", 9}, {"Convolution winograd bf16", 10}}));
  if (has_bfloat16_tiles()) {
    train("widest", "auto", "", "bf16");
    EXPECT_EQ(executed("widest"), json({{"Convolution direct bf16", 19}}));
  }
}

TEST_F(ConvolutionsOfTraining, FastProductsOfBfloat16AreTakenForManyChannels) {
  if (!has_bfloat16_products()) GTEST_SKIP() << "this processor has no products of bfloat16 (AVX512-BF16)";
  train("fast", "auto", "avx512_bf16", "bf16");
  EXPECT_EQ(executed("fast"), json({{"Convolution direct bf16", 14}, {"Convolution winograd bf16", 5}}));
  train("all", "winograd", "avx512_bf16", "bf16");
  train("direct", "direct", "avx512_bf16", "bf16");
  const double distance = relative_distance(last_weights(out() / "all"), last_weights(out() / "direct"));
  EXPECT_GT(distance, 0);
  EXPECT_LT(distance, kRoundedOtherwise);
}

TEST_F(ConvolutionsOfTraining, ANarrowerProcessorLearnsTheSame) {
  train("widest", "winograd", "");
  for (const char* level : {"avx2", "baseline"}) {
    train(level, "winograd", level);
    EXPECT_LT(relative_distance(last_weights(out() / level), last_weights(out() / "widest")), kRoundedOtherwise)
        << level;
  }
}

}  // namespace
}  // namespace evener
