// Where rules about foreign data change over: names of folders, values of 16 bits, joined places.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/data_helpers.h"
#include "data/locations.h"
#include "data/passed_over.h"
#include "data/sources/folder_walk.h"
#include "data/sources/loaded_images.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

namespace fs = std::filesystem;

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

Picture deep(std::uint16_t largest) {
  Picture picture = Picture::unset(1, 1, 1);
  picture.largest_of_16_bits = largest;
  return picture;
}

TEST(DeepImageRules, TheFactorBringsTheLargestValueUpWithoutClipping) {
  const auto note = [](std::initializer_list<std::uint16_t> values) {
    DeepImages images;
    for (const std::uint16_t value : values) images.add(deep(value));
    return images.notes().empty() ? std::string() : images.notes()[0];
  };
  EXPECT_THAT(note({4095}), AllOf(HasSubstr("1 image of 16 bits"), HasSubstr("above 4095"), HasSubstr("16 are used"),
                                  HasSubstr("multiply all values by 16 ")));
  EXPECT_THAT(note({4096}), HasSubstr("multiply all values by 8 ")) << "4096 * 16 is one too many";
  EXPECT_THAT(note({1000, 3000, 2000}), AllOf(HasSubstr("3 images"), HasSubstr("above 3000"))) << "the largest of all";
  EXPECT_THAT(note({16383}), Not(IsEmpty()));
  EXPECT_THAT(note({16384}), IsEmpty());
  EXPECT_THAT(note({255}), AllOf(HasSubstr("1 of 1 image"), HasSubstr("it is black"), HasSubstr("by 256 ")));
  EXPECT_THAT(note({256}), Not(HasSubstr("black")));
  EXPECT_THAT(note({255, 100, 60000}), AllOf(HasSubstr("2 of 3 images"), HasSubstr("they are black"),
                                             HasSubstr("60000"), HasSubstr("scale their values before")));
  DeepImages plain;
  plain.add(Picture::unset(1, 1, 1));
  EXPECT_THAT(plain.notes(), IsEmpty());
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
