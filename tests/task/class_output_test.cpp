// Which of a network's outputs tells classes.
#include "task/inference/class_output.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Outputs = std::vector<NetworkOutput>;

ClassOutput chosen(const Outputs& outputs, std::size_t labels = 0, const std::string& wanted = "") {
  return choose_class_output(outputs, labels, wanted);
}

TEST(ClassOutput, IsARowOfValuesInWhateverShape) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{3}, {3, 1, 1}, {1, 1, 3}, {1, 3}}) {
    const ClassOutput one = chosen({{.name = "scores", .shape = shape}});
    EXPECT_EQ(one.refusal + one.note, "");
    EXPECT_EQ(one.classes, 3);
  }
  EXPECT_EQ(chosen({{.name = "scores", .shape = {-1}}}).classes, -1);
  EXPECT_EQ(chosen({{.name = "scores", .shape = {}, .rank_is_known = false}}).refusal, "");
  EXPECT_EQ(chosen({{.name = "scores", .shape = {1001}, .type = "u8"}}).classes, 1001) << "a quantised softmax";
}

TEST(ClassOutput, OfSeveralIsTheOneWithAsManyValuesAsNames) {
  const Outputs outputs = {{.name = "embedding", .shape = {120}}, {.name = "scores", .shape = {3}}};
  const ClassOutput fitting = chosen(outputs, 3);
  EXPECT_EQ(fitting.index, 1U);
  EXPECT_THAT(fitting.note, AllOf(HasSubstr("'embedding' 120"), HasSubstr("told by 'scores'"), HasSubstr("names")));
  const ClassOutput first = chosen(outputs);
  EXPECT_EQ(first.index, 0U);
  EXPECT_THAT(first.note, HasSubstr("--output-name"));
  EXPECT_EQ(chosen(outputs, 0, "scores").index, 1U);
  EXPECT_THROW(chosen(outputs, 0, "score"), UsageError);
  const ClassOutput only = chosen({{.name = "map", .shape = {512, 7, 7}}, {.name = "scores", .shape = {3}}});
  EXPECT_EQ(only.index, 1U);
  EXPECT_THAT(only.note, HasSubstr("the only row"));
}

TEST(ClassOutput, WhatADetectorGivesIsNone) {
  const Outputs yolo = {{.name = "boxes", .shape = {25200, 85}}};
  EXPECT_THAT(chosen(yolo).refusal, AllOf(HasSubstr("'boxes' 25200x85"), HasSubstr("--outputs raw --out")));
  EXPECT_NE(chosen(yolo, 80).refusal, "");
  const Outputs scrfd = {{.name = "score_8", .shape = {12800, 1}}, {.name = "bbox_8", .shape = {12800, 4}}};
  EXPECT_THAT(chosen(scrfd).refusal, AllOf(HasSubstr("'score_8' 12800x1"), HasSubstr("'bbox_8' 12800x4")));
  const Outputs suppressed = {{.name = "scores", .shape = {100}}, {.name = "boxes", .shape = {100, 4}}};
  EXPECT_NE(chosen(suppressed).refusal, "") << "a score for each of the boxes";
  EXPECT_EQ(chosen(suppressed, 100).refusal, "") << "names tell otherwise";
}

TEST(ClassOutput, OneValueTellsTwoClassesWhereTheyAreNamed) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{}, {1}, {1, 1}}) {
    const Outputs sigmoid = {{.name = "prob", .shape = shape}};
    EXPECT_TRUE(chosen(sigmoid, 2).from_one_value);
    EXPECT_EQ(chosen(sigmoid, 2).classes, 2);
    for (const std::size_t labels : {0, 1, 3}) {
      EXPECT_THAT(chosen(sigmoid, labels).refusal, AllOf(HasSubstr("'prob'"), HasSubstr("one value for each image")));
    }
    const Outputs number = {{.name = "label", .shape = shape, .type = "i64"}};
    for (const std::size_t labels : {0, 2, 3}) EXPECT_THAT(chosen(number, labels).refusal, HasSubstr("ArgMax"));
  }
}

TEST(ClassOutput, NamesAreCounted) {
  const NetworkOutput output{.name = "scores", .shape = {3}};
  const ClassOutput three = chosen({output});
  EXPECT_EQ(label_mismatch(three, output, {"a", "b", "c"}), "");
  EXPECT_EQ(label_mismatch(three, output, {}), "");
  EXPECT_THAT(label_mismatch(three, output, {"background", "a", "b", "c"}),
              AllOf(HasSubstr("4 names for the 3 classes of output 'scores' 3"), HasSubstr("'background'")));
  EXPECT_THAT(label_mismatch(three, output, {"a", "b"}), AllOf(HasSubstr("2 names"), HasSubstr("a line 'background'")));
  EXPECT_THAT(label_mismatch(three, output, {"a"}), HasSubstr("1 name for the 3 classes"));
}

TEST(ImagenetNames, AreAThousandWithOrWithoutTheBackground) {
  const std::vector<std::string> names = imagenet_names(1000), more = imagenet_names(1001);
  ASSERT_EQ(names.size(), 1000U);
  EXPECT_EQ(names[0], "tench");
  EXPECT_EQ(names[207], "golden retriever");
  EXPECT_EQ(names[999], "toilet tissue");
  ASSERT_EQ(more.size(), 1001U);
  EXPECT_EQ(more[0], "background");
  EXPECT_EQ(more[1], "tench");
  EXPECT_TRUE(imagenet_names(999).empty());
  for (const std::string& name : names) EXPECT_THAT(name, testing::MatchesRegex("[A-Za-z][A-Za-z' .-]+"));
}

}  // namespace
}  // namespace evener::task
