// One file is one sample, in one part, however the data lists it.
#include "data/sources/single_files.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "data/boxes_helpers.h"

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
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

Names names_of(const OpenedData& opened, const std::vector<std::uint32_t>& part) {
  Names names;
  for (const std::uint32_t sample : part) names.push_back(fs::path(opened.dataset->source(sample)).filename().string());
  std::ranges::sort(names);
  return names;
}

void write_image(const fs::path& path, std::uint8_t grey) {
  write_bytes(path, plain_png(40, 20, {grey, grey, grey}));
}

std::string refusal_of_strict(const fs::path& location) {
  return error_of([&] { open_boxes(location, [](DataOptions& options) { options.strict = true; }); });
}

class SingleFilesOfYolo : public ::testing::Test {
 protected:
  SingleFilesOfYolo() {
    for (int i = 0; i < 4; ++i) {
      const std::string name = std::string(1, static_cast<char>('a' + i));
      write_image(root_ / "images/all" / (name + ".png"), static_cast<std::uint8_t>(10 + i));
      write_bytes(root_ / "labels/all" / (name + ".txt"), "0 0.5 0.5 0.5 0.5\n");
    }
  }
  void write_set(const std::string& parts) { write_bytes(root_ / "data.yaml", parts + "names: [cat]\n"); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(SingleFilesOfYolo, AFileOfTwoPartsIsInTheTestAlone) {
  write_bytes(root_ / "few.txt", "./images/all/a.png\n");
  write_set("train: images/all\ntest: few.txt\n");
  const OpenedData opened = open_boxes(root_);
  EXPECT_THAT(names_of(opened, opened.split.test), ElementsAre("a.png"));
  EXPECT_EQ(opened.split.train.size() + opened.split.val.size(), 3u);
  EXPECT_EQ(opened.dataset->size(), 4u);
  EXPECT_THAT(boxes_of(opened, 0), SizeIs(1));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 file of more than one part")));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("a.png' too, in training and test")));
  EXPECT_THAT(refusal_of_strict(root_), HasSubstr("1 file of more than one part"));
}

TEST_F(SingleFilesOfYolo, OneFolderForAllPartsIsDividedAnew) {
  write_set("train: images/all\nval: images/all\ntest: images/all\n");
  const OpenedData opened = open_boxes(root_, [](DataOptions& options) { options.split = {50, 25, 25}; });
  EXPECT_THAT(opened.split.train, SizeIs(2));
  EXPECT_THAT(opened.split.val, SizeIs(1));
  EXPECT_THAT(opened.split.test, SizeIs(1));
  std::set<std::uint32_t> all(opened.split.train.begin(), opened.split.train.end());
  all.insert(opened.split.val.begin(), opened.split.val.end());
  all.insert(opened.split.test.begin(), opened.split.test.end());
  EXPECT_THAT(all, SizeIs(4));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("all files are divided anew")));
}

TEST_F(SingleFilesOfYolo, ValidationThatIsTheTrainingIsTakenFromItAndTheTestStays) {
  write_bytes(root_ / "few.txt", "./images/all/a.png\n");
  write_set("train: images/all\nval: images/all\ntest: few.txt\n");
  const OpenedData opened = open_boxes(root_, [](DataOptions& options) { options.split = {67, 33}; });
  EXPECT_THAT(names_of(opened, opened.split.test), ElementsAre("a.png"));
  EXPECT_THAT(opened.split.train, SizeIs(2));
  EXPECT_THAT(opened.split.val, SizeIs(1));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("those of training and validation are for training")));
}

TEST_F(SingleFilesOfYolo, FilesOfValidationAloneStayThereWhereThoseOfTrainingAreGivenBack) {
  write_bytes(root_ / "both.txt", "./images/all/b.png\n./images/all/c.png\n");
  write_bytes(root_ / "few.txt", "./images/all/d.png\n");
  for (const char* parts :
       {"train: both.txt\nval: images/all\ntest: few.txt\n", "train: both.txt\nval: images/all\n"}) {
    write_set(parts);
    const OpenedData opened = open_boxes(root_);
    const bool has_test = !opened.split.test.empty();
    EXPECT_THAT(names_of(opened, opened.split.train), ElementsAre("b.png", "c.png"));
    EXPECT_THAT(names_of(opened, opened.split.val), has_test ? Names{"a.png"} : (Names{"a.png", "d.png"}));
    EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr("in training and validation"),
                                             HasSubstr("those of training and validation are for training"))));
  }
}

TEST_F(SingleFilesOfYolo, LinksAreTheFileThatTheyLeadTo) {
  fs::create_directories(root_ / "images/test");
  fs::create_directories(root_ / "labels/test");
  fs::create_symlink(root_ / "images/all/b.png", root_ / "images/test/link.png");
  fs::create_hard_link(root_ / "images/all/c.png", root_ / "images/test/hard.png");
  fs::copy_file(root_ / "images/all/d.png", root_ / "images/test/copy.png");
  write_set("train: images/all\ntest: images/test\n");
  const OpenedData opened = open_boxes(root_);
  EXPECT_EQ(opened.dataset->size(), 5u);
  EXPECT_THAT(names_of(opened, opened.split.test), UnorderedElementsAre("b.png", "c.png", "copy.png"));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("2 files of more than one part")));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 copy of other files to the byte")));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 in another part than the original")));
}

TEST(SingleFiles, CopiesAreToldWithThoseInAnotherPart) {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const std::string& bytes, Part part) {
    write_bytes(folder.path() / name, bytes);
    return ListedFile{folder.path() / name, part};
  };
  std::vector<ListedFile> listed = {file("a", "one picture", Part::kTrain), file("b", "one picture", Part::kTrain),
                                    file("c", "another one", Part::kTest), file("d", "", Part::kTrain),
                                    file("e", "", Part::kVal)};
  EXPECT_THAT(single_files(listed, 2, false).notes,
              ElementsAre(AllOf(HasSubstr("1 copy of other files to the byte, such as"), HasSubstr("/b' of"),
                                Not(HasSubstr("another part")))));
  listed.push_back(file("f", "one picture", Part::kTest));
  EXPECT_THAT(single_files(listed, 2, false).notes,
              ElementsAre(AllOf(HasSubstr("2 copies of other files to the byte, such as"),
                                HasSubstr("; 1 in another part than the original"))));
}

TEST(SingleFiles, OneShotInTwoFormatsIsTold) {
  const auto notes = [](const std::vector<std::string>& names) {
    std::vector<ListedFile> listed;
    for (const std::string& name : names) listed.push_back({name, Part::kUndivided});
    return single_files(listed, 1, false).notes;
  };
  EXPECT_THAT(notes({"a/IMG_1.JPG", "a/IMG_1.HEIC", "a/IMG_2.jpg", "b/IMG_1.png", "a/IMG_2.v1.jpg", "a/IMG_2.DNG"}),
              ElementsAre(AllOf(HasSubstr("2 files are called as another"),
                                HasSubstr("'a/IMG_1.HEIC' and 'a/IMG_1.JPG'"), HasSubstr("may both train and judge"))));
  EXPECT_THAT(notes({"a/IMG_1.JPG", "b/IMG_1.HEIC", "a/IMG_1.5.HEIC", "a/IMG_10.HEIC"}), IsEmpty());
}

TEST(SingleFilesOfCoco, FilesOfTwoListsAndOfTwoIdsAreOneSample) {
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) {
    write_image(folder.path() / "images" / (std::to_string(i) + ".png"), static_cast<std::uint8_t>(10 + i));
  }
  const auto listing = [](const std::string& images, const std::string& boxes) {
    return R"({"images":[)" + images + R"(],"annotations":[)" + boxes + R"(],"categories":[{"id":1,"name":"cat"}]})";
  };
  const auto image = [](const std::string& id, const std::string& name) {
    return R"({"id":)" + id + R"(,"file_name":")" + name + R"("})";
  };
  const auto box = [](const std::string& id, const std::string& corners) {
    return R"({"image_id":)" + id + R"(,"category_id":1,"bbox":)" + corners + "}";
  };
  const fs::path annotations = folder.path() / "annotations";
  write_bytes(annotations / "instances_train.json",
              listing(image("1", "0.png") + "," + image("2", "1.png") + "," + image("3", "1.png"),
                      box("1", "[1,2,3,4]") + "," + box("2", "[1,2,3,4]") + "," + box("3", "[1,2,3,4]") + "," +
                          box("3", "[5,6,7,8]")));
  write_bytes(annotations / "instances_val.json",
              listing(image("1", "0.png") + "," + image("2", "2.png"), box("1", "[9,2,3,4]")));
  const OpenedData opened = open_boxes(folder.path());
  ASSERT_EQ(opened.dataset->size(), 3u);
  EXPECT_THAT(names_of(opened, opened.split.train), ElementsAre("1.png"));
  EXPECT_THAT(names_of(opened, opened.split.val), ElementsAre("0.png", "2.png"));
  EXPECT_THAT(boxes_of(opened, opened.split.train.front()), SizeIs(2));
  EXPECT_THAT(boxes_of(opened, 0), SizeIs(2)) << "of 0.png, by both lists";
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 file listed more than once")));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 file of more than one part")));
  EXPECT_THAT(refusal_of_strict(folder.path()), HasSubstr("list each file once"));
}

TEST(SingleFilesOfVoc, ImageSetsThatOverlapLeaveTheTestAlone) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    write_image(folder.path() / "JPEGImages" / (std::string(name) + ".png"), static_cast<std::uint8_t>(name[0]));
    write_bytes(folder.path() / "Annotations" / (std::string(name) + ".xml"),
                "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
                "</bndbox></object></annotation>");
  }
  const fs::path sets = folder.path() / "ImageSets/Main";
  write_bytes(sets / "train.txt", "a\nb\n");
  write_bytes(sets / "val.txt", "b\n");
  write_bytes(sets / "test.txt", "b\nc\n");
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(names_of(opened, opened.split.test), ElementsAre("b.png", "c.png"));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("2 images in more than one of the sets")));
  EXPECT_THAT(refusal_of_strict(folder.path()), HasSubstr("such as 'b'"));
}

TEST(SingleFilesOfFolders, AFileOfTwoPartsIsInTheTestAndOneOfTwoClassesInTheFirst) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  for (const char* name : {"train/cat/1", "train/cat/2", "train/dog/3", "train/dog/4", "test/cat/5", "test/dog/6"}) {
    write_image(root / (std::string(name) + ".png"), static_cast<std::uint8_t>(name[std::string(name).size() - 1]));
  }
  fs::create_symlink(root / "train/cat/1.png", root / "test/cat/1.png");
  fs::create_symlink("../cat/2.png", root / "train/dog/2.png");
  const OpenedData opened = open_boxes(root);
  EXPECT_EQ(opened.dataset->size(), 6u);
  EXPECT_THAT(names_of(opened, opened.split.test), ElementsAre("1.png", "5.png", "6.png"));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 file of more than one part")));
  EXPECT_THAT(reasons_of(opened, root),
              ElementsAre(HasSubstr("train/dog/2.png: it is the file '" + (root / "train/cat/2.png").string())));
  EXPECT_THAT(refusal_of_strict(root), Not(IsEmpty()));
}

}  // namespace
}  // namespace evener::data
