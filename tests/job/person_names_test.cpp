// Names of persons go where most of their faces have gone.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "job/faces/names.h"

namespace evener::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class NamesOfPersons : public testing::Test {
 protected:
  /// Groups 1 and 2 are called Anna and Bert; in the program's own numbers they are 0 and 1.
  PersonNames names() const {
    test::write_text(names_file(folder_.path()), "group,name\n1,Anna\n2,Bert\n");
    return PersonNames(folder_.path());
  }

  test::TestFolder folder_;
};

TEST_F(NamesOfPersons, GoWithMostOfTheFaces) {
  PersonNames moved = names();
  EXPECT_THAT(moved.follow({0, 0, 0, 1, 1, -1}, {7, 7, 3, 4, 4, 9}), IsEmpty());
  EXPECT_THAT(moved.all(), ElementsAre(Pair(4, "Bert"), Pair(7, "Anna")));
}

TEST_F(NamesOfPersons, ThereIsNoGroup0) {
  test::write_text(names_file(folder_.path()), "group,name\n0,Anna\n");
  EXPECT_THROW(PersonNames(folder_.path()), Error);
}

TEST_F(NamesOfPersons, OfTwoWhoBecameOneTheNameWithMoreFacesStays) {
  for (const bool is_anna_seen_more : {true, false}) {
    PersonNames moved = names();
    const int more = is_anna_seen_more ? 0 : 1, fewer = 1 - more;
    const auto notes = moved.follow({more, fewer, more, more}, {5, 5, 5, 5});
    EXPECT_EQ(moved.of(5), is_anna_seen_more ? "Anna" : "Bert");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr(is_anna_seen_more ? "calls group 2 Bert" : "calls group 1 Anna"));
    EXPECT_EQ(moved.of(fewer), is_anna_seen_more ? "Bert" : "Anna") << "it waits where it was";
  }
}

TEST_F(NamesOfPersons, ANameWithoutFacesMakesRoomForWhoHasItsNumberNow) {
  PersonNames moved = names();
  const auto notes = moved.follow({0, 0}, {1, 1});  // nobody has Bert's faces, and Anna is number 1 now
  EXPECT_THAT(moved.all(), ElementsAre(Pair(1, "Anna")));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is taken out, as others have that number")));
}

TEST_F(NamesOfPersons, OfTwoWithAsManyFacesTheFirstStays) {
  PersonNames moved = names();
  moved.follow({0, 1, 1, 0}, {5, 5, 5, 5});
  EXPECT_EQ(moved.of(5), "Anna");
}

}  // namespace
}  // namespace evener::job
