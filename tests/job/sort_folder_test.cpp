// What folders that photos are sorted into are called.
#include "job/sort_folder.h"

#include <gmock/gmock.h>

namespace evener::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(SortFolder, ClassesOfSimilarNamesHaveFoldersOfTheirOwn) {
  EXPECT_THAT(folders_of({"a/b", "a_b", "a\nb", "../up", "plain"}),
              ElementsAre(Pair("../up", "_.._up"), Pair("a\nb", "a_b-3"), Pair("a/b", "a_b-2"), Pair("a_b", "a_b"),
                          Pair("plain", "plain")));
  EXPECT_THAT(folders_of({"a/b", "a_b-2", "a_b"}),
              ElementsAre(Pair("a/b", "a_b-3"), Pair("a_b", "a_b"), Pair("a_b-2", "a_b-2")));
  EXPECT_THAT(folders_of({"car/van", "car/van", ""}), ElementsAre(Pair("car/van", "car_van")));
  EXPECT_THAT(folders_of({}), IsEmpty());
}

}  // namespace
}  // namespace evener::job
