#include <gmock/gmock.h>

#include <cmath>

#include "task/inference/infer.h"

namespace evener::task {
namespace {

float best(const std::vector<float>& scores, OutputType type = OutputType::kAuto) {
  return top_classes(scores, 1, type).front().score;
}

TEST(TopClasses, AreTheLikeliestFirst) {
  const auto top = top_classes(std::vector<float>{1, 3, NAN, 3, 2}, 4, OutputType::kLogits);
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(top[0].index, 1u) << "of equal ones the first";
  EXPECT_EQ(top[1].index, 3u);
  EXPECT_EQ(top[2].index, 4u);
  EXPECT_EQ(top[3].index, 0u);
  EXPECT_EQ(top[2].score, 2);
  EXPECT_TRUE(top_classes({}, 3, OutputType::kAuto).empty());
}

TEST(TopClasses, ScoresBecomeProbabilities) {
  EXPECT_NEAR(best({0, std::log(3.0F)}), 0.75, 1e-6);
  EXPECT_NEAR(best({0, std::log(3.0F)}, OutputType::kLogits), std::log(3.0F), 1e-6);
  EXPECT_NEAR(best({0.3F, 0.5F}), 1 / (1 + std::exp(-0.2)), 1e-6) << "these are no probabilities of everything";
}

TEST(TopClasses, ProbabilitiesStay) {
  EXPECT_FLOAT_EQ(best({0.3F, 0.7F}), 0.7F);
  EXPECT_FLOAT_EQ(best({0.3F, 0.3F}, OutputType::kProbabilities), 0.3F);
}

// 1001 classes in bytes: those below 1/512 are rounded to 0.
TEST(TopClasses, ASoftmaxInBytesDoesNotAddUpToOne) {
  std::vector<float> scores(1001);
  scores[7] = 200.0F / 256;
  scores[8] = 3.0F / 256;
  EXPECT_FLOAT_EQ(best(scores), 200.0F / 256);
}

}  // namespace
}  // namespace evener::task
