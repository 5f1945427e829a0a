// Confident learning: by hand, and against figures that cleanlab 2.9.0 gave for the same probabilities.
#include "task/labels/confident_joint.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::task {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

TEST(ConfidentJoint, CountsByHand) {
  // The thresholds are (0.9 + 0.7 + 0.2) / 3 = 0.6 and (0.8 + 0.4) / 2 = 0.6.
  const ClassProbabilities probabilities{2, {0.9F, 0.1F, 0.7F, 0.3F, 0.2F, 0.8F, 0.2F, 0.8F, 0.6F, 0.4F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 1, 1};
  const ConfidentJoint joint = confident_joint(probabilities, labels);
  EXPECT_THAT(joint.thresholds, Pointwise(DoubleNear(1e-6), {0.6, 0.6}));
  EXPECT_THAT(joint.confident, ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(joint.counts, ElementsAre(ElementsAre(2, 1), ElementsAre(1, 1)));
  EXPECT_THAT(estimated_joint(joint, labels), ElementsAre(ElementsAre(2, 1), ElementsAre(1, 1)));
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(doubtful.size(), 2U);
  EXPECT_EQ(doubtful[0].sample, 2U);
  EXPECT_EQ(doubtful[0].suggested, 1);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kWrong);
  EXPECT_NEAR(doubtful[0].score, 0.8, 1e-6) << "(1 + 0.8 - 0.2) / 2";
  EXPECT_EQ(doubtful[1].sample, 4U);
  EXPECT_NEAR(doubtful[1].score, 0.6, 1e-6);
}

/// compute_confident_joint() and find_label_issues(filter_by="confident_learning",
/// return_indices_ranked_by="normalized_margin") of cleanlab 2.9.0 gave these.
TEST(ConfidentJoint, IsThatOfCleanlab) {
  const ClassProbabilities probabilities{
      3, {0.48F, 0.13F, 0.39F, 0.36F, 0.37F, 0.27F, 0.15F, 0.81F, 0.04F, 0.38F, 0.22F, 0.40F, 0.93F, 0.01F, 0.06F,
          0.36F, 0.24F, 0.40F, 0.28F, 0.34F, 0.38F, 0.24F, 0.37F, 0.39F, 0.40F, 0.49F, 0.11F, 0.26F, 0.06F, 0.68F,
          0.25F, 0.51F, 0.24F, 0.62F, 0.30F, 0.08F, 0.27F, 0.57F, 0.16F, 0.33F, 0.21F, 0.46F, 0.69F, 0.30F, 0.01F,
          0.05F, 0.92F, 0.03F, 0.17F, 0.02F, 0.81F, 0.46F, 0.04F, 0.50F, 0.68F, 0.00F, 0.32F, 0.36F, 0.22F, 0.42F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
  const ConfidentJoint joint = confident_joint(probabilities, labels);
  EXPECT_THAT(joint.thresholds, Pointwise(DoubleNear(1e-6), {0.39777778, 0.41, 0.5125}));
  // Rounded as cleanlab does, the diagonal's 1 at least included.
  EXPECT_THAT(estimated_joint(joint, labels),
              ElementsAre(Pointwise(DoubleNear(0.5), {4, 5, 0}), Pointwise(DoubleNear(0.5), {2, 4, 1}),
                          Pointwise(DoubleNear(0.5), {3, 0, 1})));
  std::vector<std::uint32_t> wrong;
  std::vector<double> scores;
  for (const DoubtfulLabel& one : doubtful_labels(probabilities, labels, joint)) {
    if (one.kind != LabelDoubt::kWrong) continue;
    wrong.push_back(one.sample);
    scores.push_back(one.score);
  }
  EXPECT_THAT(wrong, ElementsAre(2, 9, 14, 18, 11, 8)) << "not 17, whose label is its likeliest class";
  EXPECT_THAT(scores, Pointwise(DoubleNear(1e-6), {0.83, 0.81, 0.695, 0.68, 0.66, 0.545}));
}

TEST(ConfidentJoint, TellsWhatLooksLikeBothAndLikeNeither) {
  const ClassProbabilities probabilities{4, {0.7F,  0.1F,  0.1F, 0.1F, 0.0F, 0.6F, 0.2F, 0.2F,  0.05F, 0.05F,
                                             0.80F, 0.10F, 0.1F, 0.1F, 0.1F, 0.7F, 0.0F, 0.55F, 0.43F, 0.02F}};
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 2};
  ConfidentJoint joint = confident_joint(probabilities, labels);
  joint.thresholds = {0.9, 0.8, 0.8, 0.7};
  joint.confident = {-1, -1, 2, 3, -1};
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kBoth);
  EXPECT_EQ(doubtful[0].sample, 4U);
  EXPECT_EQ(doubtful[0].suggested, 1);
  joint.thresholds = {1, 1, 0.8, 1.6};
  joint.confident[4] = 1;
  const std::vector<DoubtfulLabel> others = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].kind, LabelDoubt::kWrong);
  EXPECT_EQ(others[1].kind, LabelDoubt::kNeither);
  EXPECT_EQ(others[1].sample, 3U);
  EXPECT_EQ(others[1].label, 3);
}

TEST(ConfidentJoint, SuggestsTheLikeliestClassAndNotTheOneThatIsEasyToReach) {
  const ClassProbabilities probabilities{3, {0.38F, 0.60F, 0.02F}};
  ConfidentJoint joint = confident_joint(probabilities, std::vector<std::int32_t>{0});
  joint.thresholds = {0.9, 0.9, 0.01};
  joint.confident = {2};
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, std::vector<std::int32_t>{0}, joint);
  ASSERT_EQ(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kWrong);
  EXPECT_EQ(doubtful[0].suggested, 1);
  EXPECT_NEAR(doubtful[0].probability, 0.60, 1e-6);
}

TEST(ConfidentJoint, AClassThatCannotBeJudgedTakesNoSamplesOfOthers) {
  // The only sample of the third class is judged by a head that never saw it, so that its threshold would be 0.01.
  const ClassProbabilities probabilities{
      3, {0.9F, 0.1F, 0.0F, 0.6F, 0.3F, 0.1F, 0.2F, 0.8F, 0.0F, 0.3F, 0.5F, 0.2F, 0.8F, 0.19F, 0.01F}};
  const std::vector<std::int32_t> labels = {0, 0, 1, 1, 2};
  const ConfidentJoint reached = confident_joint(probabilities, labels);
  EXPECT_THAT(reached.confident, ElementsAre(0, 2, 1, 2, 0));
  const ConfidentJoint joint = confident_joint(probabilities, labels, {2});
  EXPECT_THAT(joint.confident, ElementsAre(0, -1, 1, -1, -1));
  EXPECT_THAT(estimated_joint(joint, labels),
              ElementsAre(ElementsAre(2, 0, 0), ElementsAre(0, 2, 0), ElementsAre(0, 0, 1)));
  EXPECT_THAT(doubtful_labels(probabilities, labels, joint), IsEmpty());
}

TEST(ConfidentJoint, AddsTheSurestUntilAsManyAsEstimated) {
  // Thresholds of 0.6 and 0.9: of the last two, which are likelier the first class, none reaches 0.6.
  const ClassProbabilities probabilities{
      2, {0.8F, 0.2F, 0.4F, 0.6F, 0.6F, 0.4F, 0.05F, 0.95F, 0.02F, 0.98F, 0.56F, 0.44F, 0.58F, 0.42F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 1, 1, 1, 1};
  ConfidentJoint joint = confident_joint(probabilities, labels);
  joint.counts = {{3, 0}, {1, 3}};
  joint.confident = {0, 0, 0, 1, 1, -1, -1};
  joint.thresholds = {0.6, 0.9};
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, labels, joint);
  ASSERT_GE(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0].sample, 6U) << "one of four labels of the second class is estimated to be wrong";
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kLikely);
  EXPECT_NEAR(doubtful[0].score, 0.58, 1e-6);
  for (std::size_t i = 1; i < doubtful.size(); ++i) EXPECT_NE(doubtful[i].kind, LabelDoubt::kLikely);
}

TEST(ConfidentJoint, IsOfAllClassesThatHaveSamples) {
  const ClassProbabilities probabilities{3, {0.6F, 0.0F, 0.4F, 0.5F, 0.0F, 0.5F}};
  const ConfidentJoint joint = confident_joint(probabilities, std::vector<std::int32_t>{0, 2});
  EXPECT_GT(joint.thresholds[1], 1);
  EXPECT_THAT(estimated_joint(joint, std::vector<std::int32_t>{0, 2})[1], ElementsAre(0, 0, 0));
  EXPECT_THAT(doubtful_labels({1, {1, 1}}, std::vector<std::int32_t>{0, 0},
                              confident_joint({1, {1, 1}}, std::vector<std::int32_t>{0, 0})),
              IsEmpty());
}

TEST(ConfidentJoint, RefusesOtherLengthsAndLabels) {
  const ClassProbabilities probabilities{2, {0.5F, 0.5F}};
  EXPECT_THROW(confident_joint(probabilities, std::vector<std::int32_t>{0, 1}), Error);
  EXPECT_THROW(confident_joint(probabilities, std::vector<std::int32_t>{2}), Error);
  EXPECT_THROW(confident_joint(probabilities, std::vector<std::int32_t>{-1}), Error);
}

}  // namespace
}  // namespace evener::task
