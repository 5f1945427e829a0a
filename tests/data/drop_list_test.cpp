// Images that are left out by name: how lists are read, names are found, and all other images keep their parts.
#include "data/open/drop_list.h"

#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "data/data_helpers.h"

namespace evener::data {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DropListTest : public testing::Test {
 protected:
  DropList read(std::string_view content, const std::string& name = "drop.txt") const {
    write_bytes(folder_.path() / name, content);
    return read_drop_list(folder_.path() / name);
  }

  /// 30 images of each of two classes.
  std::string photos() const {
    for (const char* name : {"ants", "bees"}) {
      for (int i = 0; i < 30; ++i) {
        write_bytes(folder_.path() / "photos" / name / (std::to_string(i) + ".png"),
                    plain_png(4, 4, {static_cast<std::uint8_t>(i), 0, 0}));
      }
    }
    return (folder_.path() / "photos").string();
  }
  static OpenedData open(const std::string& location) {
    DataOptions options;
    options.location = location;
    options.split = {60, 20, 20};
    return open_data(options);
  }
  static std::set<std::string> names(const OpenedData& opened, const std::vector<std::uint32_t>& part) {
    std::set<std::string> all;
    for (const std::uint32_t sample : part) all.insert(opened.dataset->source(sample));
    return all;
  }

  const TemporaryFolder folder_;
};

TEST_F(DropListTest, ReadsLinesAndTables) {
  EXPECT_THAT(read("b.jpg\r\n\n  a, b.jpg \nb.jpg\n#17\n").names, ElementsAre("#17", "a, b.jpg", "b.jpg"));
  EXPECT_THAT(read("\xEF\xBB\xBF"
                   "a.jpg\n")
                  .names,
              ElementsAre("a.jpg"));
  EXPECT_THAT(read({"b.jpg\0 a\n.jpg\0", 14}).names, ElementsAre(" a\n.jpg", "b.jpg")) << "find -print0";
  const DropList table = read(
      "score,file,kind\n0.9,\"a, b.jpg\",wrong\n0.8,c.jpg,both\n0.7,d.jpg,neither\n0.6,e.jpg,missed\n0.5,e.jpg,extra\n",
      "labels.csv");
  EXPECT_THAT(table.names, ElementsAre("a, b.jpg", "e.jpg"));
  EXPECT_EQ(table.doubtful, 2U);
  EXPECT_THAT(read("file,label\nx.jpg,a\n").names, ElementsAre("x.jpg")) << "a table need not say kinds";
}

TEST_F(DropListTest, RefusesListsWithoutNames) {
  EXPECT_THAT(error_of([&] { read("\n  \n"); }), AllOf(HasSubstr("--drop"), HasSubstr("names no image")));
  EXPECT_THAT(error_of([&] { read("file,kind\na.jpg,both\n"); }), HasSubstr("1 row that may be right"));
  EXPECT_THAT(error_of([] { read_drop_list("nowhere.txt"); }), AllOf(HasSubstr("--drop"), HasSubstr("nowhere.txt")));
  EXPECT_THAT(error_of([&] { read_drop_list(folder_.path()); }), HasSubstr("--drop"));
}

TEST_F(DropListTest, LeavesTheOthersInTheirParts) {
  const std::string location = photos();
  const OpenedData before = open(location);
  OpenedData after = open(location);
  ASSERT_THAT(before.split.train, SizeIs(36));
  ASSERT_THAT(before.split.val, SizeIs(12));
  const std::string trained = before.dataset->source(before.split.train[5]),
                    validated = before.dataset->source(before.split.val[2]),
                    tested = before.dataset->source(before.split.test[1]);
  DropList list = read(trained + "\n" + validated + "\n" + tested + "\n");
  const LeftOut left = leave_out(list, location, after);
  EXPECT_EQ(left.train, 1U);
  EXPECT_EQ(left.val, 1U);
  EXPECT_EQ(left.test_kept, 1U);
  EXPECT_THAT(left.text, AllOf(HasSubstr("3 images named in"), HasSubstr("1 of the training part"),
                               HasSubstr("1 in the test part stays there")));
  EXPECT_THAT(left.notes, IsEmpty());
  std::set<std::string> expected = names(before, before.split.train);
  expected.erase(trained);
  EXPECT_EQ(names(after, after.split.train), expected);
  expected = names(before, before.split.val);
  expected.erase(validated);
  EXPECT_EQ(names(after, after.split.val), expected);
  EXPECT_EQ(after.split.test, before.split.test);
  list.takes_from_test = true;
  EXPECT_EQ(leave_out(list, location, after).test, 1U);
  EXPECT_EQ(after.split.test.size() + 1, before.split.test.size());
}

TEST_F(DropListTest, FindsNamesByTheirEnds) {
  const std::string location = photos();
  const auto dropped = [&](const std::string& name) {
    OpenedData opened = open(location);
    const LeftOut left = leave_out(read(name), location, opened);
    return opened.dataset->source(left.samples.at(0)).substr(location.size() + 1);
  };
  EXPECT_EQ(dropped("ants/7.png"), "ants/7.png");
  EXPECT_EQ(dropped("/moved/elsewhere/bees/7.png"), "bees/7.png");
  EXPECT_EQ(dropped(location + "/../photos/./bees/7.png"), "bees/7.png");
  OpenedData opened = open(location);
  EXPECT_THAT(error_of([&] { leave_out(read("7.png"), location, opened); }),
              AllOf(HasSubstr("may be 2 images"), HasSubstr("write more of its path")));
  EXPECT_THAT(error_of([&] { leave_out(read("wasps/7.png"), location, opened); }), HasSubstr("is no image's"))
      << "not any 7.png";
}

TEST_F(DropListTest, TellsNamesOfNoImageWithTheNearest) {
  const std::string location = photos();
  write_bytes(folder_.path() / "photos/ants/butterfly.png", plain_png(4, 4, {9, 9, 9}));
  OpenedData opened = open(location);
  const LeftOut left = leave_out(read("ants/1.png\nants/buterfly.png\n"), location, opened);
  EXPECT_THAT(left.samples, SizeIs(1));
  EXPECT_THAT(left.notes, ElementsAre(AllOf(HasSubstr("1 of the 2 names"), HasSubstr("'ants/buterfly.png'"),
                                            HasSubstr("nearest is 'butterfly.png'"))));
  EXPECT_THROW(leave_out(read("ants/x.png\n"), location, opened), UsageError);
}

// Statistics are of the training part as it came: they hold as long as that is whole.
TEST_F(DropListTest, TellsEachPartAndForgetsStatisticsOfATrainingPartThatIsNotWhole) {
  const std::string location = photos();
  OpenedData opened = open(location);
  opened.statistics = ChannelStatistics{{0.5F}, {0.25F}};
  opened.split.added = {opened.split.val[3], opened.split.val[4]};
  std::string names;
  for (const std::uint32_t sample :
       {opened.split.val[2], opened.split.val[3], opened.split.test[0], opened.split.test[5]}) {
    names += opened.dataset->source(sample) + "\n";
  }
  DropList list = read(names);
  EXPECT_THAT(leave_out(list, location, opened).text,
              testing::EndsWith("are left out: 0 of the training part, 2 of that to validate on; 2 in the test part "
                                "stay there (--drop-test takes them out too)"));
  EXPECT_TRUE(opened.statistics);
  EXPECT_THAT(opened.split.added, SizeIs(1)) << "the other is left out";
  list.takes_from_test = true;
  list.doubtful = 2;
  EXPECT_THAT(leave_out(list, location, opened).text,
              testing::EndsWith(": 0 of the training part, 0 of that to validate on, 2 of the test part; 2 rows that "
                                "look like both classes or like neither are passed over"));
  leave_out(read(opened.dataset->source(opened.split.train[7])), location, opened);
  EXPECT_FALSE(opened.statistics);
  const LeftOut left = leave_out(read("ants/1.png\na.png\nb.png\nc.png\nd.png\n"), location, opened);
  EXPECT_THAT(left.notes, ElementsAre(AllOf(HasSubstr("4 of the 5 names in"), HasSubstr("are no image's of"),
                                            HasSubstr("'c.png'"), testing::EndsWith(" and 1 more"))));
}

TEST_F(DropListTest, RefusesToLeaveNothingToTrainOn) {
  const std::string location = photos();
  OpenedData opened = open(location);
  std::string all;
  for (std::size_t i = 0; i < opened.dataset->size(); ++i) all += opened.dataset->source(i) + "\n";
  EXPECT_THAT(error_of([&] { leave_out(read(all), location, opened); }), HasSubstr("all images"));
}

TEST_F(DropListTest, IsTheSameByItsNamesAlone) {
  const DropList one = read("b\na\n"), other = read("a\nb\nb\n", "other.txt");
  EXPECT_EQ(one.hash(), other.hash());
  EXPECT_NE(one.hash(), read("a\n").hash());
  DropList tested = one;
  tested.takes_from_test = true;
  EXPECT_NE(one.hash(), tested.hash());
  write_dropped(one, folder_.path());
  EXPECT_EQ(read_drop_list(folder_.path() / kDroppedFile).hash(), one.hash());
}

}  // namespace
}  // namespace evener::data
