// Where YOLO's rules change over: on either side of each bound, and with more than one line.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "data/data_helpers.h"
#include "data/sources/yolo_places.h"
#include "data/sources/yolo_points.h"
#include "data/sources/yolo_set.h"
#include "data/sources/yolo_text.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

constexpr const char* kPosed = "0 .5 .5 .2 .2 .45 .45 .55 .55\n";        // a box and two key points in it
constexpr const char* kDamagedPose = "0 .5 .5 .2 .2 .45 .45 .85 .55\n";  // the second one lies far from the box

std::string repeated(const char* line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line;
  return text;
}

double first_x1(const std::string& text) {
  const std::vector<YoloLabels> files{parse_yolo_labels(text)};
  return LongLines(files, std::nullopt).box_of(files[0].lines[0]).x1;
}

TEST(YoloRules, OneDamagedLineOfTwentyDecidesNothing) {
  EXPECT_DOUBLE_EQ(first_x1(repeated(kPosed, 19) + kDamagedPose), 0.4);
  EXPECT_DOUBLE_EQ(first_x1(repeated(kPosed, 38) + repeated(kDamagedPose, 2)), 0.4);
  EXPECT_DOUBLE_EQ(first_x1(repeated(kPosed, 18) + kDamagedPose), 0.2) << "more than a twentieth: around all numbers";
}

TEST(YoloRules, LinesOfAllFilesDecideTogether) {
  const std::vector<YoloLabels> files{parse_yolo_labels(kPosed), parse_yolo_labels("0 .1 .1 .3 .1 .2 .3\n")};
  const LongLines lines(files, std::nullopt);
  EXPECT_DOUBLE_EQ(lines.box_of(files[0].lines[0]).x1, 0.2) << "outlines have several counts of points";
}

TEST(YoloRules, KeyPointsLieInTheirBoxOrATenthOfItsSidesBeyond) {
  const YoloCorners box{0.4, 0.3, 0.6, 0.7};  // sides of 0.2 and 0.4
  const auto may_be = [&](double x, double y) { return may_be_key_points(box, std::vector{x, y}, 2); };
  for (const auto& [x, y] : {std::pair(0.381, 0.5), {0.619, 0.5}, {0.5, 0.261}, {0.5, 0.739}}) {
    EXPECT_TRUE(may_be(x, y)) << x << ", " << y;
  }
  for (const auto& [x, y] : {std::pair(0.379, 0.5), {0.621, 0.5}, {0.5, 0.259}, {0.5, 0.741}, {0.0, 0.5}, {0.5, 0.0}}) {
    EXPECT_FALSE(may_be(x, y)) << x << ", " << y;
  }
  EXPECT_TRUE(may_be(0, 0)) << "a point that isn't there";
  EXPECT_FALSE(may_be_key_points(box, std::vector{0.5, 0.5, 0.9, 0.5}, 2)) << "the second one counts too";
}

TEST(YoloRules, TheThirdNumberOfAKeyPointTellsWhetherItIsSeen) {
  const YoloCorners box{0.4, 0.3, 0.6, 0.7};
  const auto may_be = [&](double x, double seen) { return may_be_key_points(box, std::vector{x, 0.5, seen}, 3); };
  for (const double seen : {0.0, 1.0, 2.0}) EXPECT_TRUE(may_be(0.5, seen)) << seen;
  for (const double seen : {3.0, 0.5, -1.0}) EXPECT_FALSE(may_be(0.5, seen)) << seen;
  EXPECT_TRUE(may_be(0.9, 0)) << "unseen, it may lie anywhere";
  EXPECT_FALSE(may_be(0.9, 1));
  EXPECT_FALSE(may_be(0.9, 2));
}

TEST(YoloRules, ABoxWithKeyPointsLiesOnTheImage) {
  const std::vector<double> point{0.5, 0.5};
  EXPECT_TRUE(may_be_key_points({-0.009, 0.3, 1.009, 0.7}, point, 2)) << "tools round";
  EXPECT_TRUE(may_be_key_points({0.3, -0.009, 0.7, 1.009}, point, 2));
  for (const YoloCorners& off :
       {YoloCorners{-0.011, 0.3, 0.7, 0.7}, {0.3, -0.011, 0.7, 0.7}, {0.3, 0.3, 1.011, 0.7}, {0.3, 0.3, 0.7, 1.011}}) {
    EXPECT_FALSE(may_be_key_points(off, point, 2)) << off.x1 << ", " << off.y1 << ", " << off.x2 << ", " << off.y2;
  }
  EXPECT_FALSE(may_be_key_points({0.5, 0.3, 0.5, 0.7}, point, 2)) << "no width";
  EXPECT_FALSE(may_be_key_points({0.3, 0.5, 0.7, 0.5}, point, 2)) << "no height";
}

TEST(YoloRules, AnOutlineGoesAroundAnAreaAndCrossesNothing) {
  EXPECT_TRUE(is_simple_outline(std::vector{.1, .1, .5, .1, .5, .4, .1, .4}));
  EXPECT_TRUE(is_simple_outline(std::vector{.1, .1, .1, .4, .5, .4, .5, .1})) << "the other way around";
  EXPECT_FALSE(is_simple_outline(std::vector{.1, .1, .5, .4, .5, .1, .1, .4})) << "a bow tie";
  EXPECT_FALSE(is_simple_outline(std::vector{.1, .1, .3, .3, .5, .5})) << "a line";
  EXPECT_TRUE(is_simple_outline(std::vector{.1, .1, .3, .302, .5, .5})) << "next to a line";
  EXPECT_TRUE(is_simple_outline(std::vector{-.009, .1, 1.009, .1, .5, .4}));
  EXPECT_FALSE(is_simple_outline(std::vector{-.011, .1, .9, .1, .5, .4}));
  EXPECT_FALSE(is_simple_outline(std::vector{.1, .1, .9, 1.011, .5, .4}));
}

TEST(YoloRules, TheBoxOfAnOutlineReachesItsOutermostPoints) {
  const YoloLabels labels = parse_yolo_labels("0 .3 .2 .6 .4 .5 .7 .2 .6\n");
  ASSERT_THAT(labels.lines, SizeIs(1));
  const YoloCorners& box = labels.lines[0].outline;
  EXPECT_EQ(box.x1, .2);
  EXPECT_EQ(box.y1, .2);
  EXPECT_EQ(box.x2, .6);
  EXPECT_EQ(box.y2, .7);
}

TEST(YoloRules, TheBoxOfFourNumbersIsCentreWidthAndHeight) {
  const YoloLabels labels = parse_yolo_labels("7 .5 .4 .2 .6\n");
  ASSERT_THAT(labels.lines, SizeIs(1));
  const YoloCorners& box = labels.lines[0].box;
  EXPECT_DOUBLE_EQ(box.x1, .4);
  EXPECT_DOUBLE_EQ(box.y1, .1);
  EXPECT_DOUBLE_EQ(box.x2, .6);
  EXPECT_DOUBLE_EQ(box.y2, .7);
  EXPECT_EQ(labels.lines[0].class_index, 7);
}

TEST(YoloRules, ClassesAreWholeNumbersBelowAHundredThousand) {
  EXPECT_THAT(parse_yolo_labels("99999 .5 .5 .1 .1\n0 .5 .5 .1 .1\n").lines, SizeIs(2));
  for (const char* none : {"100000 .5 .5 .1 .1\n", "-1 .5 .5 .1 .1\n", "1.5 .5 .5 .1 .1\n"}) {
    EXPECT_THAT(parse_yolo_labels(none).problems, SizeIs(1)) << none;
  }
}

TEST(YoloRules, ProblemsTellTheLineOfTheFile) {
  const YoloLabels labels = parse_yolo_labels("0 .5 .5 .1 .1\n\nwhat\n1 .5 .5 .1 .1\n");
  ASSERT_THAT(labels.lines, SizeIs(2));
  EXPECT_EQ(labels.lines[0].number, 1);
  EXPECT_EQ(labels.lines[1].number, 4);
  ASSERT_THAT(labels.problems, SizeIs(1));
  EXPECT_TRUE(labels.problems[0].starts_with("line 3 ")) << labels.problems[0];
}

TEST(YoloRules, TextsLieUnderLabelsOrBesideTheImage) {
  const TemporaryFolder folder;
  const auto labels = [&](const char* image) { return labels_of(folder / image).lexically_relative(folder.path()); };
  EXPECT_EQ(labels("images/train/a.jpg"), "labels/train/a.txt");
  EXPECT_EQ(labels("images/old/images/a.jpg"), "images/old/labels/a.txt") << "the last folder of that name";
  EXPECT_EQ(labels("photos/a.jpg"), "photos/a.txt");
  write_bytes(folder / "images/train/a.txt", "");
  EXPECT_EQ(labels("images/train/a.jpg"), "images/train/a.txt") << "labels/ has none";
  write_bytes(folder / "labels/train/a.txt", "");
  EXPECT_EQ(labels("images/train/a.jpg"), "labels/train/a.txt") << "labels/ goes first";
}

TEST(YoloRules, PlacesAreLookedForAsTheyStandAndWithoutTheirWayUp) {
  const TemporaryFolder folder;
  const fs::path root = folder / "set";
  for (const char* file :
       {"set/train/images/a.png", "set/train/images/b.png", "valid/images/c.png", "set/valid/images/d.png"}) {
    write_bytes(folder / file, "");
  }
  std::vector<std::string> notes;
  const auto found = [&](const std::string& place) {
    std::vector<std::string> names;
    const auto images = images_at(place, root, notes);
    if (!images) return std::vector<std::string>{"none"};
    for (const fs::path& image : *images) names.push_back(image.lexically_relative(folder.path()).string());
    return names;
  };
  EXPECT_THAT(found("train/images"), ElementsAre("set/train/images/a.png", "set/train/images/b.png"));
  EXPECT_THAT(found("../train/images"), ElementsAre("set/train/images/a.png", "set/train/images/b.png"))
      << "as Roboflow writes it";
  EXPECT_THAT(found("../valid/images"), ElementsAre("valid/images/c.png")) << "what is there goes first";
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(found("gone"), ElementsAre("none"));
}

TEST(YoloRules, AListNamesImagesBelowTheSetOrBesideItself) {
  const TemporaryFolder folder;
  for (const char* file : {"images/a.png", "lists/b.png"}) write_bytes(folder / file, "");
  write_bytes(folder / "lists/train.txt", "images/a.png\n./b.png\n");
  std::vector<std::string> notes;
  const auto images = images_at("lists/train.txt", folder.path(), notes);
  ASSERT_TRUE(images.has_value());
  ASSERT_THAT(*images, SizeIs(2));
  EXPECT_EQ((*images)[0].lexically_normal(), folder / "images/a.png");
  EXPECT_EQ((*images)[1].lexically_normal(), folder / "lists/b.png");
  EXPECT_THAT(notes, IsEmpty());
}

// Only paths with the front that the first one had have moved; others are taken as they stand.
TEST(YoloRules, AListFromAnotherMachineIsFollowedPathByPath) {
  const TemporaryFolder folder;
  for (const char* file : {"images/a.png", "images/more/b.png", "images/c.png"}) write_bytes(folder / file, "");
  write_bytes(folder / "train.txt", "D:\\set\\images\\a.png\nD:\\set\\images\\more\\b.png\nimages/c.png\n");
  std::vector<std::string> notes;
  const auto images = images_at("train.txt", folder.path(), notes);
  ASSERT_TRUE(images.has_value());
  EXPECT_THAT(*images, ElementsAre(folder / "images/a.png", folder / "images/more/b.png", folder / "images/c.png"));
  EXPECT_THAT(notes, SizeIs(1)) << "told once";
}

TEST(YoloRules, ASetTellsItsPartsNamesAndPoints) {
  const YoloSet set =
      parse_yolo_set("path: p\ntrain: [a, '', b]\nvalid: c\ntest: d\nnames: {1: y, 0: x}\nnc: 3\nkpt_shape: [17, 3]\n");
  EXPECT_THAT(set.names, ElementsAre("x", "y", "2"));
  EXPECT_EQ(set.path, "p");
  EXPECT_THAT(set.train, ElementsAre("a", "b"));
  EXPECT_THAT(set.val, ElementsAre("c"));
  EXPECT_THAT(set.test, ElementsAre("d"));
  ASSERT_TRUE(set.key_points.has_value());
  EXPECT_EQ(set.key_points->count, 17u);
  EXPECT_EQ(set.key_points->numbers, 3u);
  EXPECT_THAT(set.notes, SizeIs(1));
  EXPECT_THAT(parse_yolo_set("train: a\nval: v\nvalid: c\nnames: [x, y]\nnc: 2\nkpt_shape: [0, 2]\n").val,
              ElementsAre("v"));
  EXPECT_FALSE(parse_yolo_set("train: a\nnames: [x]\nkpt_shape: [0, 2]\n").key_points.has_value());
  EXPECT_THAT(parse_yolo_set("train: a\nnames: [x, y]\nnc: 2\n").notes, IsEmpty());
  for (const char* wrong : {"[17]", "[17, 4]", "[17, 1]", "[x, 3]", "[1, 2, 3]", "17"}) {
    EXPECT_NE(error_of([&] { parse_yolo_set("train: a\nnames: [x]\nkpt_shape: " + std::string(wrong) + "\n"); }), "")
        << wrong;
  }
}

}  // namespace
}  // namespace evener::data
