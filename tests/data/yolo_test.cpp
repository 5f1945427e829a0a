// YOLO's text files, whether long lines are outlines or key points, sets by YAML files, and layouts of folders.
#include "data/sources/yolo.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/boxes_helpers.h"
#include "data/data_helpers.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

namespace fs = std::filesystem;

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
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }),
              AllOf(HasSubstr("'images/gone' that"), HasSubstr("names are not in")));
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

/// UTF-16 as Windows writes it, of a text in ASCII.
std::string utf16(const std::string& text) {
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += {c, '\0'};
  return wide;
}

TEST(Yolo, ReadsTextsOfOtherEditors) {
  const std::string mark = "\xEF\xBB\xBF", line = "1 0.5 0.5 0.5 0.5\r\n";
  for (const auto& change :
       {std::function([](const std::string& text) { return text; }),
        std::function([&](const std::string& text) { return mark + text; }), std::function(utf16)}) {
    const TemporaryFolder folder;
    for (const char* name : {"train/a", "val/b"}) {
      write_bytes(folder.path() / "pictures" / (std::string(name) + ".png"), small_image());
      write_bytes(folder.path() / "pictures" / (std::string(name) + ".txt"), change(line));
    }
    write_bytes(folder.path() / "train.txt", change("pictures/train/a.png\r\n"));
    for (const char* set : {"train: train.txt\r\nval: pictures/val\r\nnames: [cat, dog]\r\n",
                            "names: [cat, dog]\r\ntrain: pictures/train\r\nval: pictures/val\r\n"}) {
      write_bytes(folder.path() / "data.yaml", change(set));
      const OpenedData opened = open_boxes(folder.path());
      EXPECT_THAT(opened.skipped, IsEmpty());
      ASSERT_EQ(opened.dataset->size(), 2u);
      EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
      EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{10, 5, 30, 15, 1}));
      EXPECT_EQ(opened.split.train.size(), 1u);
    }
  }
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  for (const std::string& list : {mark + "cat\ndog\n", std::string("cat\0dog\0", 8)}) {
    write_bytes(folder.path() / "classes.txt", list);
    EXPECT_THAT(open_boxes(folder.path()).dataset->classes(), ElementsAre("cat", "dog"));
  }
  write_bytes(folder.path() / "data.yaml", std::string("\xFF\xFE\0\0t\0\0\0", 8));
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), AllOf(HasSubstr("data.yaml"), HasSubstr("UTF-32")));
}

TEST(Yolo, ADamagedYamlIsNamedWithItsLine) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  write_bytes(folder.path() / "data.yaml", "train: images\nnames: [cat\nval: images\n");
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }),
              AllOf(HasSubstr("data.yaml' can't be used: line "), HasSubstr("YAML")));
}

TEST(Yolo, TakesTheFirstNumbersOfLinesWithKeyPoints) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  for (const char* name : {"train/a", "train/b", "val/c"}) {
    write_bytes(folder.path() / "labels" / (std::string(name) + ".txt"),
                "1 0.5 0.5 0.5 0.5 0.3 0.3 0.7 0.3 0.7 0.7\n");  // an outline of five points as well
  }
  const std::string set = "train: images/train\nval: images/val\nnames: [cat, dog]\n";
  write_bytes(folder.path() / "data.yaml", set + "kpt_shape: [3, 2]\n");
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{10, 5, 30, 15, 1}));
  EXPECT_THAT(opened.notes, Not(Contains(HasSubstr("key points"))));
  write_bytes(folder.path() / "data.yaml", set + "kpt_shape: [4, 3]\n");
  EXPECT_THAT(open_boxes(folder.path()).skipped, SizeIs(3));
  write_bytes(folder.path() / "data.yaml", set);
  EXPECT_THAT(open_boxes(folder.path()).notes, Contains(HasSubstr("kpt_shape: [3, 2]")));
}

TEST(Yolo, ReadsTextsBesideImagesWhereLabelsHasNone) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  write_bytes(folder.path() / "images/train/b.txt", "0 0.5 0.5 0.5 0.5\n");
  write_bytes(folder.path() / "images/train/a.txt", "0 0.5 0.5 1 1\n");  // labels/ has one
  write_bytes(folder.path() / "data.yaml", "train: images/train\nval: images/val\nnames: [cat, dog]\n");
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(boxes_of(opened, 0), SizeIs(2));
  EXPECT_THAT(boxes_of(opened, 1), ElementsAre(LabelledBox{10, 5, 30, 15, 0}));
  EXPECT_THAT(opened.notes, Not(Contains(HasSubstr("text file"))));
  // Without YAML and labels/ too.
  std::filesystem::remove_all(folder.path() / "labels");
  std::filesystem::remove(folder.path() / "data.yaml");
  EXPECT_EQ(boxes_of(open_boxes(folder.path()), 1).size(), 1u);
  // Texts of another kind don't make a folder one with boxes.
  write_bytes(folder.path() / "images/train/a.txt", "a cat on a mat\n");
  std::filesystem::remove(folder.path() / "images/train/b.txt");
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), HasSubstr("class"));
  write_bytes(folder.path() / "images/train/a.txt", "0 0.5 0.5 0.5 0.5\na cat on a mat\n");
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), HasSubstr("class")) << "one line is by chance as a box's";
}

TEST(Yolo, ReadsImagesAndTextsInOneFolderWithTheNames) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.txt", "1 0.5 0.5 0.5 0.5\n");
  write_bytes(folder.path() / "classes.txt", "cat\ndog\n");
  EXPECT_THAT(boxes_of(open_boxes(folder.path()), 0), ElementsAre(LabelledBox{10, 5, 30, 15, 1}));
}

TEST(Yolo, FollowsLinksToFolders) {
  const TemporaryFolder store, folder;
  write_yolo_set(store.path());
  std::filesystem::create_directories(folder.path() / "images");
  std::filesystem::create_directories(folder.path() / "labels");
  for (const char* each : {"images/train", "images/val", "labels/train", "labels/val"}) {
    std::filesystem::create_symlink(store.path() / each, folder.path() / each);
  }
  std::filesystem::create_symlink("..", folder.path() / "images/up");
  EXPECT_EQ(open_boxes(folder.path()).split.train.size(), 2u);
  write_bytes(folder.path() / "data.yaml", "train: images\nval: images/val\nnames: [cat, dog]\n");
  const OpenedData above = open_boxes(folder.path());
  EXPECT_EQ(above.split.train.size(), 2u);
  EXPECT_EQ(above.split.val.size(), 1u);
  EXPECT_THAT(boxes_of(above, 0), SizeIs(2));
}

TEST(Yolo, GoesWithoutATestPartThatIsAbsent) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  const auto open_with = [&](const std::string& places) {
    write_bytes(folder.path() / "data.yaml", places + "\nnames: [cat, dog]\n");
    return open_boxes(folder.path());
  };
  for (const char* test : {"../test/images", "test.txt", "[test, images/gone]"}) {
    const OpenedData opened = open_with(std::string("train: images/train\nval: images/val\ntest: ") + test);
    EXPECT_EQ(opened.dataset->size(), 3u);
    EXPECT_THAT(opened.notes, Contains(HasSubstr("the test part goes without them"))) << test;
  }
  for (const char* other : {"train: images/train\nval: val.txt", "train: gone/images\nval: images/val"}) {
    EXPECT_THAT(error_of([&] { open_with(other); }), AllOf(HasSubstr("data.yaml"), HasSubstr("are not in"))) << other;
  }
}

TEST(Yolo, FindsWhatAnotherMachinesPathsEndWith) {
  const TemporaryFolder folder;
  write_yolo_set(folder.path());
  const auto open_with = [&](const std::string& train) {
    write_bytes(folder.path() / "data.yaml", "train: " + train + "\nval: images/val\nnames: [cat, dog]\n");
    return open_boxes(folder.path());
  };
  for (const char* train : {"D:\\sets\\images\\train", "/content/set-3/images/train", "images\\train"}) {
    const OpenedData opened = open_with(train);
    EXPECT_EQ(opened.split.train.size(), 2u) << train;
    EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr(train), HasSubstr("is taken for it"))));
  }
  for (const char* front : {"/elsewhere/set/images/train/", "D:\\set\\images\\train\\", "images\\train\\"}) {
    write_bytes(folder.path() / "train.txt", std::string(front) + "a.png\r\n" + front + "b.png\r\n");
    const OpenedData opened = open_with("train.txt");
    EXPECT_EQ(opened.split.train.size(), 2u) << front;
    EXPECT_THAT(boxes_of(opened, 0), SizeIs(2));
    EXPECT_THAT(opened.notes, Contains(HasSubstr("another machine's paths")));
  }
  write_bytes(folder.path() / "train.txt", "/elsewhere/set/images/train/a.png\nimages/train/b.png\n");
  const OpenedData mixed = open_with("train.txt");
  EXPECT_EQ(mixed.split.train.size(), 2u) << "what is here is taken as it is listed";
  EXPECT_THAT(error_of([&] { open_with("/content/train"); }), HasSubstr("'/content/train' that"))
      << "one part alone might be any folder";
}

constexpr const char* kPosed = "0 .5 .5 .2 .2 .45 .45 .55 .55\n";  // a box and two key points in it

/// The boxes that the lines of one file are taken for, without key points being told of.
std::vector<YoloCorners> boxes_in(const std::string& text) {
  const std::vector<YoloLabels> files{parse_yolo_labels(text)};
  const LongLines long_lines(files, std::nullopt);
  std::vector<YoloCorners> boxes;
  for (const YoloLine& line : files[0].lines) {
    if (long_lines.refusal(line).empty()) boxes.push_back(long_lines.box_of(line));
  }
  return boxes;
}

std::string note_of(const std::string& text) {
  return LongLines({parse_yolo_labels(text)}, std::nullopt).note();
}

TEST(YoloText, ReadsBoxesAndOutlines) {
  const YoloLabels labels =
      parse_yolo_labels("0 0.5 0.5 0.5 0.25\r\n\n 1.0\t.25 0.5 0.5 1 0.9\n2 0.1 0.2 0.4 0.3 0.2 0.9\n");
  ASSERT_THAT(labels.lines, SizeIs(3));
  EXPECT_THAT(labels.problems, IsEmpty());
  EXPECT_EQ(labels.lines[0].box.x1, 0.25);
  EXPECT_EQ(labels.lines[0].box.x2, 0.75);
  EXPECT_EQ(labels.lines[0].box.y1, 0.375);
  EXPECT_EQ(labels.lines[0].box.y2, 0.625);
  EXPECT_EQ(labels.lines[1].class_index, 1);
  EXPECT_EQ(labels.lines[1].box.x1, 0);
  EXPECT_EQ(labels.lines[2].class_index, 2);
  EXPECT_EQ(labels.lines[2].number, 4);
  const std::vector<YoloCorners> boxes = boxes_in("2 0.1 0.2 0.4 0.3 0.2 0.9\n");
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_EQ(boxes[0].x1, 0.1);
  EXPECT_EQ(boxes[0].x2, 0.4);
  EXPECT_EQ(boxes[0].y1, 0.2);
  EXPECT_EQ(boxes[0].y2, 0.9);
}

TEST(YoloText, NamesBadLines) {
  const YoloLabels labels =
      parse_yolo_labels("0 0.5 0.5 0.5\n0 a 1 1 1\n-1 .5 .5 .1 .1\n0.5 .5 .5 .1 .1\n0 .5 .5 nan .1\n0 .5 .5 .1 .1x\n");
  EXPECT_THAT(labels.lines, IsEmpty());
  EXPECT_THAT(labels.problems,
              ElementsAre(HasSubstr("line 1 is not a class and four numbers"), HasSubstr("line 2 is not"),
                          HasSubstr("line 3 begins with what is no class's number"), HasSubstr("line 4 begins"),
                          HasSubstr("line 5 is not"), HasSubstr("line 6 is not")));
}

// Lines of as many words throughout, whose points lie in the box before them and go around nothing, are key points.
TEST(YoloPoints, AreToldFromOutlines) {
  const std::string least = "0 0.5 0.5 0.2 0.2 0.45 0.45 0.55 0.55\n";
  ASSERT_THAT(boxes_in(least), SizeIs(1));
  EXPECT_DOUBLE_EQ(boxes_in(least)[0].x1, 0.4);
  EXPECT_DOUBLE_EQ(boxes_in(least)[0].y2, 0.6);
  EXPECT_THAT(note_of(least), HasSubstr("1 line has 9 words: taken as boxes with key points"));
  EXPECT_THAT(note_of(least), HasSubstr("kpt_shape: [2, 2]"));
  for (const char* of_three : {"0 .5 .5 .2 .2 .45 .45 2\n", "0 .5 .5 .2 .2 .45 .45 2 .55 .55 1\n",
                               "0 .5 .5 .2 .2 .45 .45 2 .1 .1 0 0 0 0\n"}) {
    ASSERT_THAT(boxes_in(of_three), SizeIs(1)) << of_three;
    EXPECT_DOUBLE_EQ(boxes_in(of_three)[0].x1, 0.4) << of_three;
    EXPECT_THAT(note_of(of_three), HasSubstr(", 3]")) << of_three;
  }
  // A turned box; its points as a box with key points would reach beyond the image.
  const std::string turned = "0 0.8 0.2 0.9 0.3 0.8 0.4 0.7 0.3\n";
  EXPECT_DOUBLE_EQ(boxes_in(turned)[0].x1, 0.7);
  EXPECT_EQ(note_of(turned), "");
  // Outlines of several counts of points, though the first alone might be a box with key points.
  const std::string outlines = least + turned + "0 0.1 0.1 0.3 0.1 0.2 0.3\n";
  EXPECT_DOUBLE_EQ(boxes_in(outlines)[0].x1, 0.2);
  EXPECT_EQ(note_of(outlines), "");
  // May be either: it is told.
  const std::string either = "0 0.5 0.5 0.3 0.4 0.4 0.6\n";
  EXPECT_DOUBLE_EQ(boxes_in(either)[0].x1, 0.3);
  EXPECT_THAT(note_of(either), AllOf(HasSubstr("taken as outlines of 3 points"), HasSubstr("kpt_shape: [1, 2]")));
  EXPECT_THAT(boxes_in("0 .5 .5 .2 .2 .45 .45 .9\n"), IsEmpty()) << "eight words, and no key point";
  const std::string tracked = "0 .5 .5 .2 .2 .9 17\n";  // a probability and the number of a track
  EXPECT_THAT(boxes_in(tracked), IsEmpty());
  EXPECT_EQ(note_of(tracked), "");
}

TEST(YoloPoints, LieATenthOfTheBoxesSideBeyondItAtMost) {
  const YoloCorners box{0.4, 0.3, 0.6, 0.7};
  const auto may_be = [&](const std::vector<double>& points, std::size_t each) {
    return may_be_key_points(box, points, each);
  };
  for (const auto& [x, y] : {std::pair(0.5, 0.735), {0.5, 0.265}, {0.615, 0.5}, {0.385, 0.5}, {0.0, 0.0}}) {
    EXPECT_TRUE(may_be({0.5, 0.5, x, y}, 2)) << x << " " << y;
  }
  for (const auto& [x, y] : {std::pair(0.5, 0.745), {0.5, 0.255}, {0.625, 0.5}, {0.375, 0.5}, {0.0, 0.5}, {0.5, 0.0}}) {
    EXPECT_FALSE(may_be({0.5, 0.5, x, y}, 2)) << x << " " << y;
    EXPECT_FALSE(may_be({x, y, 1, 0.5, 0.5, 2}, 3)) << x << " " << y;
    EXPECT_TRUE(may_be({x, y, 0, 0.5, 0.5, 2}, 3)) << "it isn't seen";
  }
  EXPECT_FALSE(may_be({0.5, 0.5, 3}, 3));
  EXPECT_FALSE(may_be({0.5, 0.5, 0.5}, 3));
}

TEST(YoloPoints, AreTakenWhereOneLineOfTwentyIsDamaged) {
  const std::string good = "0 .5 .5 .2 .2 .45 .45 .55 .55\n", bad = "0 .5 .5 .2 .2 .45 .45 .95 .95\n";
  const auto all = [&](int bad_ones) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += i < bad_ones ? bad : good;
    return text;
  };
  EXPECT_THAT(note_of(all(1)), HasSubstr("20 lines have 9 words: taken as boxes with key points"));
  EXPECT_THAT(note_of(all(2)), Not(HasSubstr("taken as boxes")));
}

TEST(YoloPoints, MayHaveVisibilityWhereTheirNumbersFitBoth) {
  EXPECT_THAT(note_of("0 .1 .1 .2 .2 .05 .05 0 .1 .1 0\n"), HasSubstr("kpt_shape: [2, 3]"));
}

TEST(YoloPoints, OfASetThatTellsThemAreHeldToIt) {
  const std::vector<YoloLabels> files{
      parse_yolo_labels("0 0.8 0.2 0.9 0.3 0.8 0.4 0.7 0.3\n0 .5 .5 .2 .2\n0 .5 .5 .2 .2 .4 .4\n"
                        "0 .5 .5 .2 .2 .4 .4 .6 .6 .99\n")};
  const LongLines long_lines(files, KeyPoints{2, 2});
  EXPECT_DOUBLE_EQ(long_lines.box_of(files[0].lines[0]).x1, 0.35) << "the first four numbers, whatever follows";
  EXPECT_EQ(long_lines.refusal(files[0].lines[0]), "");
  EXPECT_EQ(long_lines.refusal(files[0].lines[1]), "");
  EXPECT_EQ(long_lines.refusal(files[0].lines[2]),
            "has 7 words, but a class, a box and key points of kpt_shape [2, 2] are 9");
  EXPECT_EQ(long_lines.refusal(files[0].lines[3]), "") << "with a probability behind it";
  EXPECT_EQ(long_lines.note(), "");
}

TEST(YoloSetFile, IsReadAsItIsWritten) {
  for (const char* names :
       {"names: ['cat', \"big dog\"]", "names: [cat,\n  big dog]  # two", "names:\n- cat\n- big dog",
        "names:\n  - cat\n  - 'big dog'", "names:\n  0: cat # the first\n  1: big dog", "names: {0: cat, 1: 'big dog'}",
        "\"names\" : {\"1\": big dog, \"0\": cat}", "'names': &all [cat, big dog]",
        "names: !!seq\n - cat\n - big dog"}) {
    for (const char* head : {"# a set\n", "%YAML 1.2\n---\n", "--- # a set\n"}) {
      const YoloSet set =
          parse_yolo_set(std::string(head) + "path : ../data\ntrain: images/train\n'val': [a, b]\n\nnc: 2\n" + names +
                         "\ntest:\ndownload: https://example.org/x.zip\nkpt_shape: [17, 3]\n");
      EXPECT_THAT(set.names, ElementsAre("cat", "big dog")) << head << names;
      EXPECT_EQ(set.path, "../data");
      EXPECT_THAT(set.train, ElementsAre("images/train"));
      EXPECT_THAT(set.val, ElementsAre("a", "b"));
      EXPECT_THAT(set.test, IsEmpty());
      EXPECT_EQ(set.key_points.value().count, 17u);
      EXPECT_EQ(set.key_points.value().numbers, 3u);
      EXPECT_THAT(set.notes, IsEmpty());
    }
  }
  const YoloSet json = parse_yolo_set(R"({"train": "a", "val": ["b"], "names": {"0": "cat", "1": "\u00e9\\ud83d"}})");
  EXPECT_THAT(json.names, ElementsAre("cat", "\xC3\xA9\\ud83d"));
  EXPECT_THAT(parse_yolo_set("list: &list [cat, dog]\nval: b\nval: c\nnames: *list\n").names,
              ElementsAre("cat", "dog"));
}

TEST(YoloSetFile, WithMoreClassesThanNamesCallsTheOthersByNumber) {
  const YoloSet set = parse_yolo_set("train: a\nnc: 4\nnames: [cat, dog]\n");
  EXPECT_THAT(set.names, ElementsAre("cat", "dog", "2", "3"));
  EXPECT_THAT(set.notes, ElementsAre(HasSubstr("\"nc\" tells of 4 classes, \"names\" of 2: the others")));
}

TEST(YoloSetFile, TellsWhatIsWrongAndWhere) {
  for (const auto& [file, words] :
       {std::pair("train: a\n", "no \"names\""),
        {"names:\n  0: cat\n  2: dog\n", "line 2: class 1 has no name"},
        {"names:\n  9999999999: cat\n", "line 2: the class 'cat' has no number"},
        {"names: [cat,\ntrain: a\n", "it can't be read as YAML: end of sequence flow"},
        {"names: cat\n", "line 1: \"names\" is 'cat', not a list"},
        {"names:\n  cat\ntrain: \"D:\\data\"\n", "line 3: it can't be read as YAML: unknown"},
        {"names: [a, [b]]\n", "line 1: what stands there is no class's name"},
        {"names: [a]\ntrain:\n  b: c\n", "line 3: what stands there is no place of images"},
        {"names: [a]\nkpt_shape: 17\n", "line 2: \"kpt_shape\" is not"},
        {"names: [a]\nkpt_shape: [17, 4]\n", "line 2: \"kpt_shape\" is not"},
        {"base: &base {val: a}\n<<: *base\nnames: [a]\n", "line 2: keys that are merged in by \"<<\" are not read"},
        {R"({"names": ["\ud83d\ude00"]})", "line 1: it can't be read as YAML: invalid unicode"},
        {"just text\n", "no keys"},
        {"", "no keys"},
        {"names: &a [*a]\n", "no class's name"}}) {
    EXPECT_THAT(error_of([file = file] { parse_yolo_set(file); }), HasSubstr(words)) << file;
  }
}

TEST(YoloSetFile, IsNotBlownUpByHostileFiles) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), here = "a" + std::to_string(i);
    bomb += here + ": &" + here + " [" + before + ", " + before + ", " + before + "]\n";
  }
  EXPECT_THAT(error_of([&] { parse_yolo_set(bomb + "names: *a39\n"); }), HasSubstr("no class's name"));
  EXPECT_EQ(parse_yolo_set(bomb + "names: [cat]\n").names.size(), 1u);
  for (const char* part : {"[", "{a: ", "- ", "? "}) {
    std::string deep;
    while (deep.size() < 1'000'000) deep += part;
    EXPECT_THAT(error_of([&] { parse_yolo_set(deep); }), HasSubstr("line 1")) << part;
  }
  EXPECT_THAT(error_of([] { parse_yolo_set(std::string(kMaxYoloSetBytes + 1, ' ')); }), HasSubstr("at most"));
}

TEST(YoloSetFile, IsKnownByItsKeys) {
  for (const char* file :
       {"names: [a]\ntrain: b\n", "{\"train\": \"a\", \"names\": [\"b\"]}", "train : a\n'names' : [b]\n",
        "names: [a\ntrain: b\n", R"({"train": "a", "names": ["\ud83d\ude00"]})",
        "base: &base\n  names: [a]\n  train: b\n<<: *base\n"}) {
    EXPECT_TRUE(is_yolo_set(file)) << file;
  }
  for (const char* other : {"", "names: [a]\n", "model:\n  names: [a]\n  train: b\n", "train the names: [\n",
                            "- names\n- train\n", "the names of trains"}) {
    EXPECT_FALSE(is_yolo_set(other)) << other;
  }
}

TEST(YoloSetFile, PassesOverTextsAndWhatItDoesNotKnow) {
  for (const char* mark : {"|", ">-", "|2+  # Python"}) {
    const YoloSet set =
        parse_yolo_set(std::string("---\ntrain: a\ndownload: ") + mark +
                       "\n  import os  # not: [YAML\n\n    names: {0: bird\n  'open\nval: b\nroboflow:\n"
                       "  licence: >\n    two lines\n    - of it\n  version: 1\n"
                       "names:\n  0: cat\n");
    EXPECT_THAT(set.names, ElementsAre("cat")) << mark;
    EXPECT_THAT(set.train, ElementsAre("a"));
    EXPECT_THAT(set.val, ElementsAre("b"));
  }
}

TEST(YoloSetFile, HasQuotesAsYamlHasThem) {
  const YoloSet set = parse_yolo_set(
      "names: ['it''s, #1', \"a \\\"b\\\": \\u00e9\", driver's cab, \"c\\\\q\"] # four\ntrain: 'a: b'\n");
  EXPECT_THAT(set.names, ElementsAre("it's, #1", "a \"b\": é", "driver's cab", "c\\q"));
  EXPECT_THAT(set.train, ElementsAre("a: b"));
}

TEST(YoloRules, LinesOfAllFilesDecideTogether) {
  const std::vector<YoloLabels> files{parse_yolo_labels(kPosed), parse_yolo_labels("0 .1 .1 .3 .1 .2 .3\n")};
  const LongLines lines(files, std::nullopt);
  EXPECT_DOUBLE_EQ(lines.box_of(files[0].lines[0]).x1, 0.2) << "outlines have several counts of points";
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

TEST(YoloRules, ClassesAreWholeNumbersBelowAHundredThousand) {
  EXPECT_THAT(parse_yolo_labels("99999 .5 .5 .1 .1\n0 .5 .5 .1 .1\n").lines, SizeIs(2));
  for (const char* none : {"100000 .5 .5 .1 .1\n", "-1 .5 .5 .1 .1\n", "1.5 .5 .5 .1 .1\n"}) {
    EXPECT_THAT(parse_yolo_labels(none).problems, SizeIs(1)) << none;
  }
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
