// How folders of classes may lie: parts, wrappings, stray files; several folders that are joined; annotations of other
// tools, which are named and not read.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/boxes_helpers.h"
#include "data/codecs/picture.h"
#include "data/data_helpers.h"
#include "data/locations.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"
#include "data/passed_over.h"
#include "data/sources/folder_walk.h"
#include "data/sources/foreign_files.h"
#include "data/sources/loaded_images.h"

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
using ::testing::StartsWith;

namespace fs = std::filesystem;

class FolderLayouts : public ::testing::Test {
 protected:
  void add(const std::string& name) { write_bytes(folder_ / name, plain_png(4, 3, {++value_})); }
  /// `each` images of each class below `part`.
  void add_classes(const std::string& part, const std::vector<std::string>& classes, int each = 2) {
    for (const std::string& name : classes) {
      for (int i = 0; i < each; ++i) add((fs::path(part) / name / (std::to_string(i) + ".png")).string());
    }
  }
  DataOptions options(const std::string& below = "") const {
    DataOptions options;
    options.location = (folder_ / below).lexically_normal().string();
    return options;
  }
  OpenedData open(const std::string& below = "") const { return open_data(options(below)); }
  std::string open_error(const std::string& below = "") const {
    return error_of([&] { open(below); });
  }

  TemporaryFolder folder_;
  std::uint8_t value_ = 0;
};

// As Kaggle's "Intel Image Classification" unpacks, and once unpacked without the doubled folders.
TEST_F(FolderLayouts, RefusesPartsUnderOtherNamesAndNamesTheOneToTrainOn) {
  for (const std::string& outer : {std::string("seg_train/"), std::string()}) {
    const std::string test = outer.empty() ? "" : "seg_test/", pred = outer.empty() ? "" : "seg_pred/";
    add_classes(outer + "seg_train", {"forest", "glacier"});
    add_classes(test + "seg_test", {"forest", "glacier"});
    add(pred + "seg_pred/1.png");
    const std::string train = (folder_ / (outer + "seg_train")).string();
    EXPECT_THAT(open_error(), AllOf(HasSubstr("'" + train + "' and '"), HasSubstr("both have a folder 'forest'"),
                                    HasSubstr("give the one to train on, such as '" + train + "'")));
    fs::remove_all(folder_ / "seg_test");
    EXPECT_THAT(open_error(), AllOf(HasSubstr("'" + train + "' and '"), HasSubstr("seg_pred' have such names")));
    EXPECT_THAT(open(outer + "seg_train").dataset->classes(), ElementsAre("forest", "glacier"));
    for (const char* name : {"seg_train", "seg_test", "seg_pred"}) fs::remove_all(folder_ / name);
  }
}

TEST_F(FolderLayouts, ReadsPartsThatWereUnpackedIntoFoldersOfTheirOwnNames) {
  add_classes("train/train", {"cat", "dog"});
  add_classes("Validation/validation", {"cat", "dog"}, 1);
  add("test/test/1.png");
  add("test/test/2.png");
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(opened.split.train, SizeIs(4));
  EXPECT_THAT(opened.split.val, SizeIs(2));
  EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr("2 image files directly in"), HasSubstr("/test/test'"))));
}

TEST_F(FolderLayouts, ReadsTheOnlyFolderWhereItHoldsThePartsOrHasTheSameName) {
  add_classes("pets/archive/train", {"cat", "dog"});
  add_classes("pets/archive/test", {"cat", "dog"});
  add("pets/__MACOSX/archive/._1.png");
  const OpenedData opened = open("pets");
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(opened.split.test, SizeIs(4));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("pets/archive' is read, as there is nothing beside it")));
  EXPECT_FALSE(has_pictures_only((folder_ / "pets").string()));

  add_classes("PetImages/PetImages/petimages", {"cat", "dog"});
  EXPECT_THAT(open("PetImages").dataset->classes(), ElementsAre("cat", "dog"));
  add_classes("one/cat", {"2023", "2024"});  // the first class, it may be
  EXPECT_THAT(open_error("one"),
              AllOf(HasSubstr("only one class"), HasSubstr("one/cat' holds the class folders, give")));
  add_classes("three/train", {"cat"});
  EXPECT_THAT(open_error("three"), HasSubstr("only one class with images"));
  add_classes("two/archive/animals", {"cat", "dog"});
  EXPECT_THAT(open_error("two"), HasSubstr("If '" + (folder_ / "two/archive/animals").string() + "' holds the class"));
}

TEST_F(FolderLayouts, SuggestsClassesFromTheNamesOfFilesThatLieInNoFolders) {
  for (const char* name : {"cat.0", "cat.12", "dog.0", "dog.1"}) add(std::string("pets/train/") + name + ".png");
  add("pets/test1/1.png");
  const std::string advice = "--class cat='train/cat.*' --class dog='train/dog.*'";
  EXPECT_THAT(open_error("pets"), AllOf(HasSubstr("test1', '"), HasSubstr(advice)));
  EXPECT_TRUE(has_pictures_only((folder_ / "pets").string()));
  EXPECT_THAT(open_error("pets/train"), HasSubstr("--class cat='cat.*' --class dog='dog.*'"));
  DataOptions told = options("pets");
  told.classes = {{"cat", "train/cat.*"}, {"dog", "train/dog.*"}};
  EXPECT_EQ(open_data(told).dataset->size(), 4u);
  told.classes.push_back({"cat", "**/cat.1*"});  // cat.12 by two patterns of one class
  EXPECT_EQ(open_data(told).dataset->size(), 4u);
  told.classes.push_back({"dog", "**/cat.0*"});
  EXPECT_THAT(error_of([&] { open_data(told); }), HasSubstr("belongs to two classes"));
  for (const char* pattern : {"train", "train/"}) {
    told.classes = {{"cat", pattern}, {"dog", "train/dog.*"}};
    EXPECT_THAT(error_of([&] { open_data(told); }), HasSubstr("for all files below it write 'train/**'"));
  }

  for (const char* name : {"wire_fox_1", "wire_fox_2", "pug (1)", "pug (2)", "bulldog-1", "bulldog-2", "a1", "a2"}) {
    add(std::string("more/") + name + ".png");
  }
  EXPECT_THAT(open_error("more"), HasSubstr("--class a='a*' --class bulldog='bulldog-*' --class pug='pug (*' ..."));
  for (const char* name : {"owl_1", "owl_2", "elk_1"}) add(std::string("one/") + name + ".png");
  EXPECT_THAT(open_error("one"), Not(HasSubstr("--class "))) << "a class of one image is none";
  add("plain/1.png");
  add("plain/2.png");
  EXPECT_THAT(open_error("plain"), Not(HasSubstr("--class ")));
}

TEST_F(FolderLayouts, SaysWhereClassesMayLieOneFolderDeeper) {
  add_classes("folds/fold1", {"cat", "dog"});
  add_classes("folds/fold2", {"cat", "dog"});
  EXPECT_THAT(open_error("folds"), HasSubstr("both have a folder 'cat'"));
  fs::remove_all(folder_ / "folds");
  add_classes("camera1", {"cat", "dog"});
  add_classes("camera2", {"cat", "dog", "fox"});
  EXPECT_THAT(open().notes, Contains(AllOf(HasSubstr("each of the 2 classes has the folders 'cat' and 'dog'"),
                                           HasSubstr("--class 'cat=*/cat/**'"))));
  add("camera1/1.png");
  EXPECT_THAT(open().notes, Not(Contains(HasSubstr("each of the"))));
}

TEST_F(FolderLayouts, PassesOverTheFoldersOfFileServersAndSystems) {
  add_classes("", {"ants", "bees"});
  EXPECT_THAT(open().notes, IsEmpty());
  for (const char* name : {"ants/@eaDir/0.png/THUMB.png", "@eaDir/1.png/THUMB.png", "#recycle/ants/old.png",
                           "$RECYCLE.BIN/S-1-5/1.png", "System Volume Information/1.png", "bees/lost+found/1.png",
                           ".thumbnails/1.png", ".Trash-1000/files/1.png", "bees/._0.png", "__MACOSX/ants/._0.png"}) {
    add(name);
  }
  const auto passed =
      AllOf(HasSubstr("2 image files in '@eaDir' (2 folders)"), HasSubstr("1 image file in '#recycle'"),
            HasSubstr("in '$RECYCLE.BIN'"), HasSubstr("in 'System Volume Information'"), HasSubstr("in 'lost+found'"),
            HasSubstr("in '.thumbnails'"), HasSubstr("in '.Trash-1000'"), Not(HasSubstr("__MACOSX")));
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("ants", "bees"));
  EXPECT_EQ(opened.dataset->size(), 4u);
  EXPECT_THAT(opened.notes, ElementsAre(passed));
  const Pictures pictures({folder_.path().string()});
  EXPECT_EQ(pictures.size(), 4u);
  EXPECT_THAT(pictures.notes(), ElementsAre(passed));
  DataOptions told = options();
  told.classes = {{"ants", "ants/**"}, {"bees", "bees/**"}};
  EXPECT_EQ(open_data(told).dataset->size(), 4u);
}

TEST_F(FolderLayouts, ReadsASystemFolderThatIsNamed) {
  add("ants/1.png");
  add("ants/@eaDir/2.png");
  add("@eaDir/3.png");
  const auto count = [&](const std::string& location) { return Pictures({(folder_ / location).string()}).size(); };
  EXPECT_EQ(count("ants/@eaDir"), 1u);
  EXPECT_EQ(count("*/@eaDir/*.png"), 1u);
  EXPECT_EQ(count("**/*.png"), 1u);
  EXPECT_THAT(error_of([&] {
                count("@eaDir/..");
                count("*.png");
              }),
              HasSubstr("no image files fit"));
  DataOptions told = options();
  told.classes = {{"ants", "ants/*"}, {"thumbs", "**/@eaDir/*"}};
  EXPECT_EQ(open_data(told).dataset->size(), 3u);
}

TEST_F(FolderLayouts, PassesThemOverAmongImagesWithBoxes) {
  for (const char* name : {"1", "2", "@eaDir/1.png/3"}) {
    add(std::string("images/train/") + name + ".png");
    write_bytes(folder_ / "labels/train" / (std::string(name) + ".txt"), "0 0.5 0.5 0.5 0.5\n");
  }
  const OpenedData opened = open();
  EXPECT_EQ(opened.dataset->size(), 2u);
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 image file in '@eaDir'")));
}

TEST_F(FolderLayouts, TellsWhatWasPassedOverWhereNothingIsLeft) {
  add("photos/@eaDir/1.png");
  const auto told = AllOf(HasSubstr("no image files"), HasSubstr("1 image file in '@eaDir'"));
  EXPECT_THAT(error_of([&] { Pictures({(folder_ / "photos").string()}); }), told);
  fs::create_directory(folder_ / "photos/ants");
  EXPECT_THAT(open_error("photos"), told);
}

// `unsure` of a sorted folder; one that nobody marked is a class as any other.
TEST_F(FolderLayouts, TakesNoFolderForAClassThatIsMarkedAsNone) {
  for (const std::string& part : {std::string(), std::string("train/")}) {
    add_classes(part, {"ants", "bees", "unsure"});
    EXPECT_THAT(open().dataset->classes(), ElementsAre("ants", "bees", "unsure"));
    write_bytes(folder_ / (part + "unsure") / kNoClassMark, "");
    const OpenedData opened = open();
    EXPECT_THAT(opened.dataset->classes(), ElementsAre("ants", "bees"));
    EXPECT_EQ(opened.dataset->size(), 4u);
    EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr("unsure' with 2 image files is no class"))));
    EXPECT_EQ(Pictures({folder_.path().string()}).size(), 6u);
    DataOptions told = options();
    told.classes = {{"ants", part + "ants/**"}, {"unsure", part + "unsure/**"}};
    EXPECT_EQ(open_data(told).dataset->size(), 4u);
    for (const char* name : {"ants", "bees", "unsure"}) fs::remove_all(folder_ / name);
  }
}

class JoinedFolders : public ::testing::Test {
 protected:
  void add(const std::string& name) { write_bytes(folder_ / name, plain_png(4, 3, {++value_})); }
  std::string place(const std::string& name) const { return (folder_ / name).string(); }
  std::string both() const { return place("old") + kLocationJoint + place("new"); }
  OpenedData open(const std::string& location) const {
    DataOptions options;
    options.location = location;
    return open_data(options);
  }
  /// Each sample's class by its path below the test's folder.
  std::map<std::string, std::string> classes_of(const OpenedData& opened) const {
    std::map<std::string, std::string> classes;
    for (std::size_t i = 0; i < opened.dataset->size(); ++i) {
      const auto label = static_cast<std::size_t>(label_of(*opened.dataset, i));
      classes[fs::path(opened.dataset->source(i)).lexically_relative(folder_.path())] =
          opened.dataset->classes()[label];
    }
    return classes;
  }

  TemporaryFolder folder_;
  std::uint8_t value_ = 0;
};

TEST_F(JoinedFolders, HaveTheirClassesByName) {
  for (const char* name : {"old/bees/1.png", "old/cats/1.png", "new/ants/1.png", "new/cats/1.png"}) add(name);
  const OpenedData opened = open(both());
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("ants", "bees", "cats"));
  EXPECT_EQ(classes_of(opened), (std::map<std::string, std::string>{{"old/bees/1.png", "bees"},
                                                                    {"old/cats/1.png", "cats"},
                                                                    {"new/ants/1.png", "ants"},
                                                                    {"new/cats/1.png", "cats"}}));
  EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr("only '" + place("new")), HasSubstr("'ants'"))));
  EXPECT_THAT(opened.notes, ::testing::Not(Contains(HasSubstr("'cats'")))) << "both have it";
  EXPECT_FALSE(opened.came_divided);
  fs::remove_all(folder_ / "new/cats");
  EXPECT_EQ(open(both()).dataset->size(), 3u) << "one class is enough for one of them";
}

TEST_F(JoinedFolders, HaveTheirPartsByPart) {
  for (const std::string name : {"old", "new"}) {
    for (const std::string path : {"/train/ants/1.png", "/train/bees/1.png", "/val/ants/2.png"}) add(name + path);
  }
  add("old/test/bees/3.png");
  const OpenedData opened = open(both());
  EXPECT_THAT(opened.split.train, SizeIs(4));
  EXPECT_THAT(opened.split.val, SizeIs(2));
  EXPECT_THAT(opened.split.test, SizeIs(1));
}

TEST_F(JoinedFolders, TrainOnWhatHasNoPartsBesideOneThatHasSome) {
  for (const char* name : {"old/train/ants/1.png", "old/train/bees/1.png", "old/test/ants/2.png", "new/bees/4.png"}) {
    add(name);
  }
  const OpenedData opened = open(both());
  EXPECT_THAT(opened.split.test, SizeIs(1));
  EXPECT_EQ(opened.split.train.size() + opened.split.val.size(), 3u);
  EXPECT_THAT(opened.notes, Contains(AllOf(HasSubstr(place("new")), HasSubstr("its 1 image is for training"))));
}

// As sorting makes links, which people then put right.
TEST_F(JoinedFolders, TakeTheLastFoldersClassOfAFileThatIsInBoth) {
  for (const char* name : {"old/ants/1.png", "old/ants/2.png", "old/bees/3.png"}) add(name);
  fs::create_directories(folder_ / "new/bees");
  fs::create_symlink(folder_ / "old/ants/1.png", folder_ / "new/bees/1.png");
  const OpenedData opened = open(both());
  EXPECT_EQ(opened.dataset->size(), 3u);
  EXPECT_EQ(classes_of(opened).at("new/bees/1.png"), "bees");
  ASSERT_THAT(opened.skipped, SizeIs(1));
  EXPECT_THAT(opened.skipped[0].file, HasSubstr("old/ants/1.png"));
}

TEST_F(JoinedFolders, AreRefusedWhereOneIsMissingOrOfAnotherKind) {
  add("old/ants/1.png");
  add("old/bees/1.png");
  EXPECT_THAT(error_of([&] { open(both()); }), HasSubstr("no such data: '" + place("new") + "'"));
  add("new/images/train/1.png");
  write_bytes(folder_ / "new/labels/train/1.txt", "0 0.5 0.5 0.5 0.5\n");
  EXPECT_THAT(error_of([&] { open(both()); }),
              AllOf(HasSubstr("'" + place("new") + "' is no folder of classes"), HasSubstr("by links")));
  EXPECT_THROW(open(place("old") + kLocationJoint + "synth:digits:20"), UsageError);
}

TEST_F(JoinedFolders, AreToldApartFromAFolderWhoseNameHasThatText) {
  fs::create_directories(folder_ / "salt + pepper");
  fs::create_directories(folder_ / "salt");
  const std::string one = place("salt + pepper"), neither = place("a") + kLocationJoint + place("b");
  EXPECT_THAT(locations_in(one), ElementsAre(one));
  EXPECT_THAT(locations_in(neither), ElementsAre(neither));
  EXPECT_THAT(locations_in(place("salt") + kLocationJoint + place("b")), ElementsAre(place("salt"), place("b")));
  EXPECT_TRUE(are_on_disk(one));
  EXPECT_FALSE(are_on_disk(place("salt") + kLocationJoint + place("b")));
  fs::create_directories(folder_ / "b");
  const std::string two = place("salt") + kLocationJoint + place("b");
  EXPECT_TRUE(are_on_disk(two));
  EXPECT_TRUE(are_same_locations(two, place("salt/") + kLocationJoint + place("./b")));
  EXPECT_FALSE(are_same_locations(two, place("salt")));
  EXPECT_EQ(absolute_locations(two), two);
}

constexpr const char* kCvat = "<annotations><image name=\"0.png\"><box label=\"stork\"/></image></annotations>";

TEST(OtherAnnotations, AreNamed) {
  for (const auto& [file, text, name] :
       {std::tuple("images/a.json", R"({"version":"5.0","shapes":[{"label":"a","shape_type":"rectangle"}]})",
                   "Labelme's"),
        {"_annotations.createml.json", R"([{"image":"a.png","annotations":[{"label":"a","coordinates":{"x":1}}]}])",
         "CreateML's"},
        {"via.json", R"({"a.png":{"regions":[{"shape_attributes":{"name":"rect"}}]}})", "VGG Image Annotator's"},
        {"boxes.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n", "a table of boxes"},
        {"annotations.xml", kCvat, "CVAT's XML"}}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "images/a.png", small_image());
    EXPECT_EQ(other_annotations(folder.path()), "");
    write_bytes(folder.path() / file, text);
    EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }),
                AllOf(HasSubstr("only one class"), HasSubstr(file), HasSubstr(name), HasSubstr("as COCO, PASCAL VOC")));
    EXPECT_THAT(error_of([&] { open_boxes(folder.path() / file); }),
                AllOf(StartsWith("'" + (folder.path() / file).string() + "' is "), HasSubstr(name)));
    write_bytes(folder.path() / "masks/a.png", small_image());
    EXPECT_THAT(open_boxes(folder.path()).notes, Contains(HasSubstr(name)));
  }
}

// An XML beside folders of classes doesn't make them something else; and VOC's is found beside others.
TEST(OtherAnnotations, LeaveFoldersWhatTheyAre) {
  const TemporaryFolder folder;
  for (const char* name : {"ants/1.png", "ants/2.png", "bees/1.png"}) write_bytes(folder.path() / name, small_image());
  for (const char* xml : {kCvat, "<annotations/>", "<project/>"}) {
    write_bytes(folder.path() / "annotations.xml", xml);
    EXPECT_THAT(open_boxes(folder.path()).dataset->classes(), ElementsAre("ants", "bees"));
  }
  const TemporaryFolder voc;
  write_bytes(voc.path() / "annotations.xml", kCvat);
  write_bytes(voc.path() / "b.png", small_image());
  write_bytes(voc.path() / "b.xml",
              "<annotation><object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
              "</bndbox></object></annotation>");
  EXPECT_EQ(open_boxes(voc.path()).kind, "VOC annotations");
  EXPECT_THAT(error_of([&] { open_boxes(voc.path() / "b.xml"); }), HasSubstr("name the folder with the XML of all"));
}

// COCO's JSON may have members of its own that are called as another tool's.
TEST(OtherAnnotations, AreNotCocos) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.json",
              R"({"images":[{"id":1,"file_name":"a.png","coordinates":[1,2]}],"categories":[{"id":1,"name":"cat"}],)"
              R"("annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,4]}]})");
  EXPECT_EQ(open_boxes(folder.path() / "a.json").kind, "COCO annotations");
}

TEST(FolderNameRules, PartsAreKnownByAnyOfTheirNames) {
  for (const char* name : {"train", "Training"}) EXPECT_EQ(part_named(name), Part::kTrain) << name;
  for (const char* name : {"val", "Valid", "validation", "DEV"}) EXPECT_EQ(part_named(name), Part::kVal) << name;
  for (const char* name : {"test", "testing"}) EXPECT_EQ(part_named(name), Part::kTest) << name;
  for (const char* name : {"trains", "eval", "tes", "", "cat"}) EXPECT_FALSE(part_named(name)) << name;
}

TEST(FolderNameRules, NamesMayResembleAPart) {
  EXPECT_EQ(resembles_part("seg_train"), Part::kTrain);
  EXPECT_EQ(resembles_part("Images-VAL2017"), Part::kVal);
  EXPECT_EQ(resembles_part("my test set"), Part::kTest);
  EXPECT_EQ(resembles_part("seg_pred"), Part::kUnused);
  EXPECT_EQ(resembles_part("unlabeled2017"), Part::kUnused);
  for (const char* name : {"trainee", "contest", "valley", "cats"}) EXPECT_FALSE(resembles_part(name)) << name;
  for (const char* name : {"train_images", "val-set", "TestData", "test"}) {
    EXPECT_EQ(is_called_as_part(name), std::string(name) != "TestData") << name;
  }
  for (const char* name : {"test tubes", "images", "data"}) EXPECT_FALSE(is_called_as_part(name)) << name;
}

TEST(FolderNameRules, ClassesInNamesAreAdvisedWhereSeveralHaveSeveralFiles) {
  const fs::path folder = "d";
  const auto advised = [&](std::vector<fs::path> files) {
    for (fs::path& file : files) file = folder / file;
    return class_options_of_names(files, folder);
  };
  EXPECT_EQ(advised({"cat.1.jpg", "cat.12.jpg", "dog.1.jpg", "dog.2.jpg"}), "--class cat='cat.*' --class dog='dog.*'");
  EXPECT_EQ(advised({"cat (1).jpg", "cat (2).jpg", "dog (1).jpg", "dog (2).jpg"}),
            "--class cat='cat (*' --class dog='dog (*'");
  EXPECT_EQ(advised({"cat1.jpg", "cat2.jpg", "dog1.jpg"}), "") << "one dog might be anything";
  EXPECT_EQ(advised({"cat1.jpg", "cat2.jpg"}), "") << "one class";
  EXPECT_EQ(advised({"1.jpg", "2.jpg", "3.jpg"}), "");
  EXPECT_EQ(advised({"a1.jpg", "a2.jpg", "b1.jpg", "b2.jpg", "c1.jpg", "c2.jpg"}),
            "--class a='a*' --class b='b*' --class c='c*'");
  EXPECT_EQ(advised({"a1.jpg", "a2.jpg", "b1.jpg", "b2.jpg", "c1.jpg", "c2.jpg", "d1.jpg", "d2.jpg"}),
            "--class a='a*' --class b='b*' --class c='c*' ...");
  EXPECT_EQ(class_options_of_names({"d/in/a1.jpg", "d/in/a2.jpg", "d/in/b1.jpg", "d/in/b2.jpg"}, folder),
            "--class a='in/a*' --class b='in/b*'");
}

TEST(LocationRules, ATextOfSeveralPlacesIsDividedUnlessItIsOne) {
  const TemporaryFolder folder;
  const std::string a = folder / "a", b = folder / "b", both = a + " + " + b;
  fs::create_directories(a);
  EXPECT_THAT(locations_in(both), ElementsAre(a, b)) << "one of them is there";
  EXPECT_FALSE(are_on_disk(both));
  fs::create_directories(b);
  EXPECT_TRUE(are_on_disk(both));
  EXPECT_TRUE(are_on_disk(a));
  EXPECT_THAT(locations_in("synth:3x8x8 + no/where"), SizeIs(2));
  EXPECT_THAT(locations_in("no/where + no/there"), ElementsAre("no/where + no/there"));
  const std::string odd = folder / "x + y";
  fs::create_directories(odd);
  fs::create_directories(folder / "x");
  EXPECT_THAT(locations_in(odd), ElementsAre(odd)) << "a folder may be called so";
  EXPECT_EQ(absolute_locations(a + " + " + b + "/../b"), both);
  EXPECT_TRUE(are_same_locations(both, a + "/ + " + (folder / "." / "b").string()));
  EXPECT_FALSE(are_same_locations(both, b + " + " + a)) << "in another order images have other numbers";
  EXPECT_FALSE(are_same_locations(both, a));
}

TEST(PassedOverRules, OnlyImagesThatWouldBeSeenAreCounted) {
  const TemporaryFolder folder;
  for (const char* file : {"@eaDir/a.jpg", "@eaDir/deep/b.png", "@eaDir/.hidden.jpg", "@eaDir/c.txt",
                           "sub/@eaDir/d.jpg", "#recycle/e.jpg"}) {
    write_bytes(folder / file, "");
  }
  fs::create_directories(folder / "@eaDir/folder.jpg");
  fs::create_directories(folder / "lost+found");
  const std::vector<std::string> notes = passed_over_below(folder.path());
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("passed over: 1 image file in '#recycle', 3 image files in '@eaDir' (2 folders),"));
}

TEST(PassedOverRules, AFolderThatIsNamedIsRead) {
  const fs::path folder = "photos/@eaDir";
  PassedOver usual;
  EXPECT_TRUE(usual.is_passed_over(folder));
  PassedOver named({"photos/@eaDir/*.jpg"});
  EXPECT_FALSE(named.is_passed_over(folder));
  EXPECT_TRUE(named.is_passed_over("photos/#recycle"));
  for (const char* system : {"@EADIR", ".Trash-1000", "$RECYCLE.BIN", "__MACOSX"})
    EXPECT_TRUE(is_system_folder(system)) << system;
  for (const char* other : {"trash", "eaDir", "trash-1000", "cats"}) EXPECT_FALSE(is_system_folder(other)) << other;
  EXPECT_TRUE(is_passed_over(".hidden"));
  EXPECT_FALSE(is_passed_over("seen"));
}

}  // namespace
}  // namespace evener::data
