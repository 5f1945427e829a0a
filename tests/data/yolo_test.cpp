// Sets of images with YOLO's text files, and what is told of bad ones.
#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "data/boxes_helpers.h"
#include "data/sources/yolo_set.h"
#include "data/sources/yolo_text.h"

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
  write_bytes(folder.path() / "classes.txt", mark + "cat\ndog\n");
  EXPECT_THAT(open_boxes(folder.path()).dataset->classes(), ElementsAre("cat", "dog"));
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

}  // namespace
}  // namespace evener::data
