// evener infer with every engine and in bf16: the same answers within what they round.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "base/simd_level.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

using test::joined;
using test::lines_of;
using test::ProgramResult;
using Words = test::Words;

constexpr std::size_t kClasses = 10;

/// The scores of each image, by class.
using Scores = std::vector<std::vector<double>>;

std::size_t best_of(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

/// How far the best score is from the second one.
double margin_of(std::vector<double> scores) {
  std::ranges::sort(scores, std::greater<>());
  return scores[0] - scores[1];
}

double relative_difference(const Scores& a, const Scores& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t image = 0; image < std::min(a.size(), b.size()); ++image) {
    for (std::size_t c = 0; c < kClasses; ++c) {
      difference += std::pow(a[image][c] - b[image][c], 2);
      norm += std::pow(b[image][c], 2);
    }
  }
  return std::sqrt(difference / norm);
}

class InferPrecision : public test::Infer {
 protected:
  Scores scores(const Words& words) const {
    const ProgramResult result =
        infer(joined(words, {"--format", "csv", "--topk", "10", "--output-type", "logit", "--on", "cpu/t2"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    Scores scores;
    for (const std::string& line : lines_of(result.out)) {  // file,rank,class_index,class_name,score
      std::vector<std::string> cells;
      std::istringstream stream(line);
      for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
      if (cells.at(1) == "rank") continue;
      if (cells[1] == "1") scores.emplace_back(kClasses);
      scores.back().at(std::stoul(cells[2])) = std::stod(cells[4]);
    }
    return scores;
  }
};

// So few images that no trial of engines is made; LibTorch's runner tries by itself whether Winograd's convolutions
// pay.
TEST_F(InferPrecision, AConvolutionalNetworkGivesTheSameScoresInEveryEngine) {
  const Words what = {"resnet20", "random:6", "--size", "32x32", "--classes", "10"};
  const Scores openvino = scores(joined(what, {"--engine", "openvino"}));
  ASSERT_EQ(openvino.size(), 6U);
  for (const char* batch : {"1", "4", "6"}) {
    EXPECT_LT(relative_difference(scores(joined(what, {"--engine", "torch", "--batch", batch})), openvino), 1e-4);
  }
  for (const std::string engine : {"openvino", "torch"}) {
    const Scores rounded = scores(joined(what, {"--engine", engine, "--precision", "bf16"}));
    // Values of 8 bits, rounded once or twice in each of 20 layers.
    EXPECT_LT(relative_difference(rounded, openvino), 0.03) << engine;
    if (engine == "torch" || has_bfloat16_products()) {
      EXPECT_GT(relative_difference(rounded, openvino), 1e-4) << engine << " has not rounded";
    }
  }
}

TEST_F(InferPrecision, Bf16FindsTheClassesThatFp32Finds) {
  const std::string run = trained();
  const Scores wide = scores({run});
  ASSERT_EQ(wide.size(), 120U);
  for (const std::string engine : {"openvino", "torch"}) {
    const Scores rounded = scores({run, "--engine", engine, "--precision", "bf16"});
    ASSERT_EQ(rounded.size(), wide.size());
    EXPECT_LT(relative_difference(rounded, wide), 0.01) << engine;
    std::size_t agreed = 0;
    for (std::size_t image = 0; image < wide.size(); ++image) {
      const bool agrees = best_of(rounded[image]) == best_of(wide[image]);
      agreed += agrees ? 1 : 0;
      EXPECT_TRUE(agrees || margin_of(wide[image]) < 0.2) << engine << ", image " << image;
    }
    EXPECT_GE(agreed, wide.size() - 3) << engine;
  }
}

}  // namespace
}  // namespace evener
