// YOLO's text files: lines, YAML, folders, and what is told of bad ones.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/boxes_helpers.h"
#include "data/sources/yolo_text.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(YoloText, ReadsBoxesAndOutlines) {
  const YoloLabels labels =
      parse_yolo_labels("0 0.5 0.5 0.5 0.25\r\n\n 1\t.25 0.5 0.5 1 0.9\n2 0.1 0.2 0.4 0.3 0.2 0.9\n");
  ASSERT_THAT(labels.boxes, SizeIs(3));
  EXPECT_THAT(labels.problems, IsEmpty());
  EXPECT_EQ(labels.boxes[0].x1, 0.25);
  EXPECT_EQ(labels.boxes[0].y2, 0.625);
  EXPECT_EQ(labels.boxes[1].x1, 0);
  EXPECT_EQ(labels.boxes[2].class_index, 2);
  EXPECT_EQ(labels.boxes[2].x1, 0.1);
  EXPECT_EQ(labels.boxes[2].x2, 0.4);
  EXPECT_EQ(labels.boxes[2].y1, 0.2);
  EXPECT_EQ(labels.boxes[2].y2, 0.9);
}

TEST(YoloText, NamesBadLines) {
  const YoloLabels labels = parse_yolo_labels(
      "0 0.5 0.5 0.5\n0 a 1 1 1\n-1 .5 .5 .1 .1\n0.5 .5 .5 .1 .1\n0 .5 .5 0 .1\n0 .5 .5 -1 .1\n0 .5 .5 nan .1\n0 .5 .5 "
      ".1 .1x\n");
  EXPECT_THAT(labels.boxes, IsEmpty());
  EXPECT_THAT(labels.problems,
              ElementsAre(HasSubstr("line 1 is not a class and four numbers"), HasSubstr("line 2 is not"),
                          HasSubstr("line 3 begins with what is no class's number"), HasSubstr("line 4 begins"),
                          HasSubstr("line 5 has zero area"), HasSubstr("line 6 has swapped corners"),
                          HasSubstr("line 7 is not"), HasSubstr("line 8 is not")));
}

TEST(YoloText, ReadsSetsAsTheyAreWritten) {
  for (const char* names : {"names: ['cat', \"big dog\"]", "names: [cat,\n  big dog]  # two",
                            "names:\n- cat\n- big dog", "names:\n  - cat\n  - 'big dog'",
                            "names:\n  0: cat # the first\n  1: big dog", "names: {0: cat, 1: 'big dog'}"}) {
    const YoloSet set =
        parse_yolo_set(std::string("# a set\npath: ../data\ntrain: images/train\nval: [a, b]\n\nnc: 2\n") + names +
                       "\ndownload: https://example.org/x.zip\n");
    EXPECT_THAT(set.names, ElementsAre("cat", "big dog")) << names;
    EXPECT_EQ(set.path, "../data");
    EXPECT_THAT(set.train, ElementsAre("images/train"));
    EXPECT_THAT(set.val, ElementsAre("a", "b"));
    EXPECT_THAT(set.test, IsEmpty());
  }
  EXPECT_THAT(error_of([] { parse_yolo_set("train: a\n"); }), HasSubstr("no \"names\""));
  EXPECT_THAT(error_of([] { parse_yolo_set("names:\n  0: cat\n  2: dog\n"); }), HasSubstr("class 1 has no name"));
  EXPECT_THAT(error_of([] { parse_yolo_set("names:\n  9999999999: cat\n"); }), HasSubstr("no number"));
  EXPECT_THAT(error_of([] { parse_yolo_set("names: [cat,\n"); }), HasSubstr("line 1 can't be read"));
  EXPECT_THAT(error_of([] { parse_yolo_set("just text\n"); }), HasSubstr("line 1 can't be read"));
}

TEST(YoloText, PassesOverTextsAndWhatItDoesNotKnow) {
  for (const char* mark : {"|", ">-", "|2+  # Python"}) {
    const YoloSet set =
        parse_yolo_set(std::string("---\ntrain: a\ndownload: ") + mark +
                       "\n  import os  # not: [YAML\n\n    names: {0: bird\n  'open\nval: b\nroboflow:\n"
                       "  licence: >\n    two lines\n    - of it\n  version: 1\n  and this\n"
                       "names:\n  0: cat\n");
    EXPECT_THAT(set.names, ElementsAre("cat")) << mark;
    EXPECT_THAT(set.train, ElementsAre("a"));
    EXPECT_THAT(set.val, ElementsAre("b"));
  }
  EXPECT_THAT(error_of([] { parse_yolo_set("notes: |\n  a\n  b\nnames:\n  cat\n"); }),
              HasSubstr("line 5 can't be read"));
}

TEST(YoloText, ReadsQuotesAsYamlHasThem) {
  const YoloSet set =
      parse_yolo_set("names: ['it''s, #1', \"a \\\"b\\\": \\u00e9\", driver's cab, \"c\\q\"] # four\ntrain: 'a: b'\n");
  EXPECT_THAT(set.names, ElementsAre("it's, #1", "a \"b\": é", "driver's cab", "c\\q"));
  EXPECT_THAT(set.train, ElementsAre("a: b"));
}

/// Two images for training, one of them without a box, and one for validation.
void write_yolo_set(const std::filesystem::path& root) {
  for (const char* name : {"train/a", "train/b", "val/c"}) {
    write_bytes(root / "images" / (std::string(name) + ".png"), small_image());
  }
  write_bytes(root / "labels/train/a.txt", "1 0.5 0.5 0.5 0.5\n0 0.1 0.1 0.2 0.2\n");
  write_bytes(root / "labels/val/c.txt", "1 0.5 0.5 1 1\n");
}

TEST(Yolo, ReadsASetByItsYaml) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  write_bytes(folder.path() / "data.yaml",
              "path: /nowhere/data\ntrain: ../images/train\nval: images/val\nnames: [cat, dog]\n");
  for (const char* location : {"", "data.yaml"}) {
    const OpenedData opened = open_boxes(folder.path() / location);
    EXPECT_EQ(opened.kind, "YOLO annotations");
    EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
    ASSERT_EQ(opened.dataset->size(), 3u);
    const auto boxes = boxes_of(opened, 0);
    ASSERT_THAT(boxes, SizeIs(2));
    EXPECT_EQ(boxes[0], (LabelledBox{10, 5, 30, 15, 1}));
    EXPECT_THAT(boxes_of(opened, 1), IsEmpty());
    EXPECT_THAT(opened.notes, Contains(HasSubstr("1 image without a text file")));
    EXPECT_EQ(opened.split.train.size(), 2u);
    EXPECT_EQ(opened.split.val, std::vector<std::uint32_t>{2});
  }
  write_bytes(folder.path() / "data.yaml", "train: images/gone\nval: images/val\nnames: [cat]\n");
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), HasSubstr("'images/gone' that the set names are not in"));
}

TEST(Yolo, ReadsAListOfImages) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  write_bytes(folder.path() / "train.txt", "./images/train/a.png\r\nimages/train/b.png\n");
  write_bytes(folder.path() / "data.yaml", "train: train.txt\nval: images/val\nnames: [cat, dog]\n");
  EXPECT_EQ(open_boxes(folder.path()).dataset->size(), 3u);
}

TEST(Yolo, ReadsFoldersWithoutYaml) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  const OpenedData numbered = open_boxes(folder.path());
  EXPECT_THAT(numbered.dataset->classes(), ElementsAre("0", "1"));
  EXPECT_THAT(numbered.notes, Contains(HasSubstr("called by number")));
  EXPECT_EQ(numbered.split.val.size(), 1u);
  write_bytes(folder.path() / "classes.txt", "cat\r\n");
  const OpenedData named = open_boxes(folder.path());
  EXPECT_THAT(named.dataset->classes(), ElementsAre("cat"));
  EXPECT_THAT(reasons_of(named, folder.path()),
              ElementsAre(HasSubstr("labels/train/a.txt: a box of class 1, of which the 1 name"),
                          HasSubstr("labels/val/c.txt: a box of class 1")));
}

}  // namespace
}  // namespace evener::data
