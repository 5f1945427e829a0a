// Which output tells classes, rule by rule: kinds of values, columns, several rows, and how many names there are.
#include <gmock/gmock.h>

#include "base/error.h"
#include "task/inference/class_output.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using AllOutputs = std::vector<NetworkOutput>;

TEST(ClassOutputRules, IntegersOf32And64BitsAreNumbersOfClasses) {
  for (const char* type : {"i64", "i32", "u64", "u32"}) {
    const AllOutputs outputs = {{.name = "classes", .shape = {5}, .type = type}, {.name = "scores", .shape = {7}}};
    EXPECT_EQ(choose_class_output(outputs, 5, "").index, 1U) << type;
    EXPECT_NE(choose_class_output(outputs, 0, "classes").refusal, "") << type;
  }
  for (const char* type : {"i8", "u8", "f16", "f32"}) {
    const AllOutputs outputs = {{.name = "classes", .shape = {5}, .type = type}, {.name = "scores", .shape = {7}}};
    EXPECT_EQ(choose_class_output(outputs, 0, "").index, 0U) << type;
  }
}

TEST(ClassOutputRules, AColumnIsClassesOnlyWhereNamesOrTheUserSaySo) {
  const AllOutputs column = {{.name = "values", .shape = {12, 1}}};
  EXPECT_THAT(choose_class_output(column, 0, "").refusal, HasSubstr("its output 'values' 12x1 can't be classes"));
  EXPECT_NE(choose_class_output(column, 11, "").refusal, "");
  EXPECT_EQ(choose_class_output(column, 12, "").classes, 12);
  EXPECT_EQ(choose_class_output(column, 0, "values").classes, 12);
  EXPECT_EQ(choose_class_output({{.name = "values", .shape = {12, 1, 1}}}, 0, "").classes, 12) << "an image of a pixel";
  EXPECT_EQ(choose_class_output({{.name = "values", .shape = {1, 12}}}, 0, "").classes, 12);
}

TEST(ClassOutputRules, ARowOfWhichAnotherOutputTellsMoreIsNone) {
  const NetworkOutput scores{.name = "scores", .shape = {40}};
  for (const std::vector<std::int64_t>& boxes : std::vector<std::vector<std::int64_t>>{{40, 4}, {4, 40}, {2, 40, 2}}) {
    EXPECT_NE(choose_class_output({scores, {.name = "boxes", .shape = boxes}}, 0, "").refusal, "");
  }
  for (const std::vector<std::int64_t>& other : std::vector<std::vector<std::int64_t>>{{41, 4}, {40}, {40, 1}}) {
    EXPECT_EQ(choose_class_output({scores, {.name = "other", .shape = other}}, 0, "").index, 0U);
  }
}

TEST(ClassOutputRules, OpenExtentsAreARowOfUnknownLength) {
  EXPECT_EQ(choose_class_output({{.name = "a", .shape = {1, -1, 1}}}, 9, "").classes, -1);
  EXPECT_EQ(choose_class_output({{.name = "a", .shape = {-1, -1}}}, 9, "").classes, 0) << "not one row";
  EXPECT_EQ(choose_class_output({{.name = "a", .shape = {2, 3}}, {.name = "b", .shape = {-1}}}, 0, "").index, 1U);
}

TEST(ClassOutputRules, TwoValuesAreARowOfTwoClasses) {
  const ClassOutput two = choose_class_output({{.name = "a", .shape = {2}}}, 2, "");
  EXPECT_EQ(two.classes, 2);
  EXPECT_EQ(two.refusal, "");
  EXPECT_FALSE(two.from_one_value);
}

TEST(ClassOutputRules, OfSeveralRowsTheNoteSaysWhy) {
  const AllOutputs three = {{.name = "a", .shape = {4}}, {.name = "b", .shape = {6}}, {.name = "c", .shape = {6}}};
  const ClassOutput both = choose_class_output(three, 6, "");
  EXPECT_EQ(both.index, 1U);
  EXPECT_EQ(both.classes, 6);
  EXPECT_THAT(both.note, AllOf(HasSubstr("'a' 4, 'b' 6, 'c' 6"), HasSubstr("the first that fits")));
  const ClassOutput one = choose_class_output(three, 4, "");
  EXPECT_EQ(one.index, 0U);
  EXPECT_THAT(one.note, HasSubstr("as many values as there are names"));
  const ClassOutput none = choose_class_output(three, 5, "");
  EXPECT_EQ(none.index, 0U);
  EXPECT_THAT(none.note, HasSubstr("the first that fits"));
  const ClassOutput named = choose_class_output(three, 6, "c");
  EXPECT_EQ(named.index, 2U);
  EXPECT_EQ(named.note, "");
}

TEST(ClassOutputRules, NineOutputsAreToldAndTheRestCounted) {
  AllOutputs outputs;
  for (int i = 0; i < 9; ++i) outputs.push_back({.name = "map" + std::to_string(i), .shape = {3, i + 2}});
  EXPECT_THAT(choose_class_output(outputs, 0, "").refusal,
              AllOf(HasSubstr("its outputs 'map0' 3x2"), HasSubstr("'map8' 3x10 can't"), Not(HasSubstr("more"))));
  outputs.push_back({.name = "map9", .shape = {3, 11}});
  outputs.push_back({.name = "map10", .shape = {3, 12}});
  EXPECT_THAT(choose_class_output(outputs, 0, "").refusal,
              AllOf(HasSubstr("'map8' 3x10 and 2 more can't"), Not(HasSubstr("map9"))));
}

TEST(ClassOutputRules, OneValueBesideMapsIsTheOneThatIsTold) {
  const AllOutputs outputs = {{.name = "map", .shape = {2, 3}}, {.name = "prob", .shape = {1}}};
  const ClassOutput two = choose_class_output(outputs, 2, "");
  EXPECT_EQ(two.index, 1U);
  EXPECT_TRUE(two.from_one_value);
  EXPECT_EQ(two.refusal, "");
  const ClassOutput unnamed = choose_class_output(outputs, 0, "");
  EXPECT_EQ(unnamed.index, 1U);
  EXPECT_EQ(unnamed.classes, 1);
  EXPECT_FALSE(unnamed.from_one_value);
  EXPECT_THAT(unnamed.refusal, HasSubstr("--labels FILE"));
  EXPECT_THAT(choose_class_output(outputs, 2, "map").refusal, HasSubstr("'map' 2x3"));
}

TEST(ClassOutputRules, NamesAreSaidToBeOffByABackgroundWhereOneIs) {
  const NetworkOutput output{.name = "scores", .shape = {5}};
  const ClassOutput five{.classes = 5};
  const auto mismatch = [&](std::size_t names) {
    return label_mismatch(five, output, std::vector<std::string>(names, "name"));
  };
  EXPECT_EQ(mismatch(0), "");
  EXPECT_THAT(mismatch(3), AllOf(HasSubstr("3 names for the 5 classes"), Not(HasSubstr("background"))));
  EXPECT_THAT(mismatch(4), HasSubstr("put a line 'background' before the names"));
  EXPECT_EQ(mismatch(5), "");
  EXPECT_THAT(mismatch(6), HasSubstr("(a background), leave out its line"));
  EXPECT_THAT(mismatch(7), AllOf(HasSubstr("7 names"), Not(HasSubstr("background"))));
  EXPECT_THAT(label_mismatch({.classes = 2}, output, {"a", "b", "c", "d"}), HasSubstr("4 names for the 2 classes"));
  for (const std::int64_t unknown : {-1, 0, 1}) {
    EXPECT_EQ(label_mismatch({.classes = unknown}, output, {"a", "b"}), "") << "nothing to compare them with";
  }
}

TEST(ClassOutputRules, ShapesAreToldWithWhatIsOpen) {
  EXPECT_EQ(open_shape_text({3, -1, 0}), "3x?x0");
  EXPECT_EQ(output_text({.name = "a\n", .shape = {}}), "'a?' of one value");
  EXPECT_EQ(output_text({.name = "a", .shape = {2}, .rank_is_known = false}), "'a' of any shape");
}

}  // namespace
}  // namespace evener::task
