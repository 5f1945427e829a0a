// Several folders of classes taken together.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/locations.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

namespace fs = std::filesystem;
using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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

}  // namespace
}  // namespace evener::data
