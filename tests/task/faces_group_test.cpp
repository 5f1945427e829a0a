// Who is who, on faces that are angles on a circle: two that are a degrees apart have the distance 2 sin(a / 2).
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "task/faces/group.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

constexpr float kLimit = 0.7F;  // 41 degrees

struct Seen {
  double degrees = 0;
  std::size_t photo = 0;
  bool can_found = true;
};

std::vector<int> grouped(const std::vector<Seen>& seen) {
  Embeddings embeddings;
  std::vector<FaceFacts> facts;
  for (const Seen& face : seen) {
    const double angle = face.degrees * std::numbers::pi / 180;
    embeddings.add(std::vector<float>{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    facts.push_back({face.photo, face.can_found});
  }
  return group_faces(embeddings, facts, compare_all(embeddings, {.limit = kLimit}).to_group, {kLimit});
}

TEST(GroupFaces, ThoseThatAreAlikeAreOnePersonInTheOrderOfTheirFirstFaces) {
  EXPECT_THAT(grouped({{200, 0}, {0, 1}, {90, 2}, {5, 3}, {-5, 4}, {205, 5}}), ElementsAre(0, 1, -1, 1, 1, 0));
  EXPECT_THAT(grouped({}), ElementsAre());
  EXPECT_THAT(grouped({{0, 0}}), ElementsAre(-1));
}

TEST(GroupFaces, TwoFacesOfOnePhotoAreNeverOnePerson) {
  EXPECT_THAT(grouped({{0, 0}, {1, 0}}), ElementsAre(-1, -1));
  EXPECT_THAT(grouped({{0, 0}, {4, 0}, {1, 1}}), ElementsAre(0, -1, 0)) << "the nearer one is the person";
  // Both groups hold a face of photo 0, so they stay apart though all are near.
  EXPECT_THAT(grouped({{0, 0}, {1, 1}, {8, 0}, {9, 2}}), ElementsAre(0, 0, 1, 1));
}

TEST(GroupFaces, ABridgeDoesNotChainTwoPersons) {
  // Each is less than 30 degrees from the next, well within the limit; the ends are 91 apart.
  EXPECT_THAT(grouped({{0, 0}, {2, 1}, {31, 2}, {60, 3}, {62, 4}, {89, 5}, {91, 6}}), ElementsAre(0, 0, 0, 1, 1, 1, 1));
  const std::vector<int> groups = grouped({{0, 0}, {2, 1}, {38, 2}, {74, 3}, {76, 4}});
  EXPECT_EQ(groups[0], groups[1]);
  EXPECT_EQ(groups[3], groups[4]);
  EXPECT_NE(groups[0], groups[4]) << "the face in the middle is near to both";
}

TEST(GroupFaces, APersonInTwoWaysIsOnePerson) {
  // 0 and 44 degrees are beyond the limit on average; 20 of 36 pairs are within it, and those are everywhere.
  std::vector<Seen> seen;
  for (const double degrees : {0.0, 3.0, 6.0, 42.0, 45.0, 48.0}) seen.push_back({degrees, seen.size()});
  EXPECT_THAT(grouped(seen), ElementsAre(0, 0, 0, 0, 0, 0));
  // The same two ways on one photo are two persons.
  seen[3].photo = 0;
  EXPECT_THAT(grouped(seen), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(GroupFaces, PoorFacesJoinButFoundNone) {
  EXPECT_THAT(grouped({{0, 0, false}, {1, 1, false}}), ElementsAre(-1, -1));
  EXPECT_THAT(grouped({{0, 0}, {1, 1, false}}), ElementsAre(-1, -1)) << "one good face is no group yet";
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {10, 2, false}}), ElementsAre(0, 0, 0));
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {10, 1, false}}), ElementsAre(0, 0, -1)) << "it is on a photo of the person";
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {30, 2, false}, {60, 3}, {57, 4}}),
              testing::ElementsAre(0, 0, testing::Ge(0), 1, 1))
      << "a poor face does not bring two persons together";
}

TEST(KeepNumbers, GroupsKeepTheNumberThatMostOfTheirFacesHad) {
  EXPECT_THAT(keep_numbers({0, 0, 1, 1, -1, 2, 2}, {4, 4, 0, 0, -1, -1, -1}, 5), ElementsAre(4, 4, 0, 0, -1, 5, 5));
  EXPECT_THAT(keep_numbers({0, 0, 0, 1, 1}, {3, 3, 1, 3, 1}, 4), ElementsAre(3, 3, 3, 1, 1))
      << "a group that was torn apart keeps its number in the larger part";
  EXPECT_THAT(keep_numbers({0, 0, 0}, {7, 2, 2}, 8), ElementsAre(2, 2, 2)) << "two that were joined";
  EXPECT_THAT(keep_numbers({0, 0, 1, 1}, {-1, -1, -1, -1}, 0), ElementsAre(0, 0, 1, 1)) << "nothing was known";
  EXPECT_THAT(keep_numbers({0, 0}, {-1, -1}, 6), ElementsAre(6, 6)) << "numbers of who vanished are not given again";
}

TEST(GroupFaces, GroupsThatAreNearInOnePlaceAloneStayApart) {
  // Of three faces of either person one is near all of the other's: a third of all pairs, of one side's faces a third.
  EXPECT_THAT(grouped({{0, 0}, {1, 1}, {2, 2}, {40, 3}, {60, 4}, {62, 5}}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(grouped({{40, 3}, {60, 4}, {62, 5}, {0, 0}, {1, 1}, {2, 2}}), ElementsAre(0, 0, 0, 1, 1, 1));
}

}  // namespace
}  // namespace evener::task
