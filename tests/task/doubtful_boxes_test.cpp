// Labels of boxes that look wrong by what a detector finds.
#include "task/labels/doubtful_boxes.h"

#include <gmock/gmock.h>

namespace evener::task {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TrueBox label_at(double x1, double y1, double x2, double y2, std::int32_t label) {
  TrueBox box;
  box.x1 = x1, box.y1 = y1, box.x2 = x2, box.y2 = y2, box.label = label;
  return box;
}

std::vector<DoubtfulBox> doubts_of(const std::vector<Detection>& found, const std::vector<TrueBox>& truth) {
  BoxDoubts doubts({});
  doubts.add(3, found, truth);
  return doubts.worst_first();
}

TEST(DoubtfulBoxes, NothingWhereAllFits) {
  EXPECT_THAT(doubts_of({{10, 10, 50, 50, 1, 0.9F}, {200, 10, 240, 50, 1, 0.3F}}, {label_at(12, 10, 50, 52, 1)}),
              IsEmpty());
}

TEST(DoubtfulBoxes, MissedOnlyWhereFoundSurelyAndNoLabelIsNear) {
  const auto doubts = doubts_of({{10, 10, 50, 50, 1, 0.9F}, {12, 11, 50, 50, 0, 0.6F}, {90, 10, 130, 50, 1, 0.4F}}, {});
  ASSERT_THAT(doubts, SizeIs(1)) << "of two classes at one place the likelier one";
  EXPECT_EQ(doubts[0].kind, BoxDoubt::kMissed);
  EXPECT_EQ(doubts[0].image, 3U);
  EXPECT_EQ(doubts[0].label, -1);
  EXPECT_EQ(doubts[0].suggested, 1);
  EXPECT_NEAR(doubts[0].score, 0.9, 1e-6);
  EXPECT_FALSE(doubts[0].labelled);
  EXPECT_EQ(doubts[0].found->at(2), 50);
}

TEST(DoubtfulBoxes, ExtraOnlyWhereNotATraceIsFound) {
  BoxDoubts doubts({});
  doubts.add(0, std::vector<Detection>{{10, 10, 50, 50, 1, 0.9F}},
             std::vector<TrueBox>{label_at(10, 10, 50, 50, 1), label_at(100, 100, 140, 140, 1)});
  doubts.add(1, std::vector<Detection>{{100, 100, 140, 140, 0, 0.06F}},
             std::vector<TrueBox>{label_at(100, 100, 140, 140, 1)});
  const auto found = doubts.worst_first();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, BoxDoubt::kExtra);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_EQ(found[0].suggested, -1);
  EXPECT_NEAR(found[0].score, 2.0 / 5, 1e-6) << "one of three labels of that class and size was found";
  EXPECT_EQ(found[0].labelled->at(0), 100);
  EXPECT_EQ(doubts.labels(), 3U);
}

TEST(DoubtfulBoxes, AnotherClassWhereTheLabelsOwnIsUnlikelier) {
  const std::vector<TrueBox> label = {label_at(10, 10, 50, 50, 0)};
  const auto doubts = doubts_of({{10, 10, 50, 50, 1, 0.8F}, {10, 10, 50, 50, 0, 0.25F}}, label);
  ASSERT_THAT(doubts, SizeIs(1));
  EXPECT_EQ(doubts[0].kind, BoxDoubt::kClass);
  EXPECT_EQ(doubts[0].label, 0);
  EXPECT_EQ(doubts[0].suggested, 1);
  EXPECT_NEAR(doubts[0].label_probability, 0.25, 1e-6);
  EXPECT_NEAR(doubts[0].score, 0.8 * 0.75, 1e-6);
  EXPECT_THAT(doubts_of({{10, 10, 50, 50, 1, 0.8F}, {10, 10, 50, 50, 0, 0.7F}}, label), IsEmpty());
}

TEST(DoubtfulBoxes, BadFitBetweenTheLimits) {
  // 40 x 40 pixels, of which 20 x 40 are common: an intersection over union of 1/3.
  const auto doubts = doubts_of({{10, 10, 50, 50, 1, 0.9F}}, {label_at(30, 10, 70, 50, 1)});
  ASSERT_THAT(doubts, SizeIs(1));
  EXPECT_EQ(doubts[0].kind, BoxDoubt::kFit);
  EXPECT_NEAR(doubts[0].score, 0.9 * (1 - 1.0 / 3), 1e-6);
  EXPECT_THAT(doubts_of({{30, 10, 70, 50, 1, 0.6F}, {10, 10, 50, 50, 1, 0.9F}}, {label_at(30, 10, 70, 50, 1)}),
              IsEmpty())
      << "another box fits";
}

TEST(DoubtfulBoxes, CrowdsAndDifficultLabelsAreNotJudged) {
  std::vector<TrueBox> labels = {label_at(0, 0, 100, 100, 0), label_at(200, 0, 220, 20, 1)};
  labels[0].is_crowd = true;
  labels[1].is_difficult = true;
  EXPECT_THAT(doubts_of({{10, 10, 30, 30, 1, 0.9F}}, labels), IsEmpty()) << "one of the crowd, of whatever class";
  BoxDoubts judged({});
  labels.push_back(label_at(300, 0, 340, 40, 1));
  judged.add(0, {}, labels);
  EXPECT_EQ(judged.labels(), 1U);
}

TEST(DoubtfulBoxes, WorstFirst) {
  BoxDoubts doubts({});
  doubts.add(0, std::vector<Detection>{{10, 10, 50, 50, 1, 0.7F}}, {});
  doubts.add(1, std::vector<Detection>{{10, 10, 50, 50, 0, 0.95F}}, {});
  const auto found = doubts.worst_first();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].image, 1U);
}

}  // namespace
}  // namespace evener::task
