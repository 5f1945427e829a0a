// How the threads of a region divide a loop among them: pieces, their ends, and their turns.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/torch/openmp_team.h"

namespace evener::engine::torch_engine::openmp {
namespace {

using testing::ElementsAre;
using Piece = std::array<long, 3>;  // first, last, turn

std::vector<Piece> pieces_of(WorkShare& share) {
  std::vector<Piece> pieces;
  for (Piece piece{}; share.take(&piece[0], &piece[1], &piece[2]);) pieces.push_back(piece);
  return pieces;
}

std::vector<Piece> pieces_of(long begin, long end, long step, long chunk) {
  WorkShare share;
  share.begin(begin, end, step, chunk);
  return pieces_of(share);
}

TEST(WorkShare, GivesPiecesThatEndWhereTheLoopDoes) {
  EXPECT_THAT(pieces_of(0, 10, 1, 4), ElementsAre(Piece{0, 4, 0}, Piece{4, 8, 1}, Piece{8, 10, 2}));
  EXPECT_THAT(pieces_of(3, 12, 2, 2), ElementsAre(Piece{3, 7, 0}, Piece{7, 11, 1}, Piece{11, 12, 2}));
  EXPECT_THAT(pieces_of(10, 0, -3, 2), ElementsAre(Piece{10, 4, 0}, Piece{4, 0, 1}));
  EXPECT_THAT(pieces_of(10, 1, -3, 2), ElementsAre(Piece{10, 4, 0}, Piece{4, 1, 1}));
  EXPECT_THAT(pieces_of(5, 6, 1, 100), ElementsAre(Piece{5, 6, 0}));
  EXPECT_THAT(pieces_of(5, 7, 1, 0), ElementsAre(Piece{5, 6, 0}, Piece{6, 7, 1})) << "one at a time at least";
}

TEST(WorkShare, OfNothingHasNoPiece) {
  EXPECT_TRUE(pieces_of(5, 5, 1, 2).empty());
  EXPECT_TRUE(pieces_of(6, 5, 1, 2).empty());
  EXPECT_TRUE(pieces_of(5, 5, -1, 2).empty());
  EXPECT_TRUE(pieces_of(4, 5, -1, 2).empty());
}

TEST(WorkShare, TheFirstThatComesSaysWhatThereIs) {
  WorkShare share;
  share.begin(0, 6, 1, 4);
  Piece piece{};
  ASSERT_TRUE(share.take(&piece[0], &piece[1], &piece[2]));
  share.begin(0, 6, 1, 4);  // the second thread, which comes later
  EXPECT_THAT(pieces_of(share), ElementsAre(Piece{4, 6, 1}));
}

TEST(WorkShare, OnesTurnComesAfterThoseBefore) {
  WorkShare share;
  share.begin(0, 3, 1, 1);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (const long turn : {2L, 1L, 0L}) {  // the last one first
    threads.emplace_back([&share, &ended, turn] {
      share.await_turn(turn);
      EXPECT_EQ(ended, turn);
      ++ended;
      share.end_turn(turn);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ended, 3);
}

TEST(Regions, KeepASharePerLoop) {
  Region region;
  region.share(0).begin(0, 1, 1, 1);
  region.share(1).begin(5, 6, 1, 1);
  EXPECT_THAT(pieces_of(region.share(1)), ElementsAre(Piece{5, 6, 0}));
  EXPECT_THAT(pieces_of(region.share(0)), ElementsAre(Piece{0, 1, 0}));
  EXPECT_TRUE(pieces_of(region.share(1)).empty());
}

TEST(Teams, GrowToTheLargestRegionAndKeepItsThreads) {
  Team team;
  EXPECT_EQ(team.size(), 1);
  EXPECT_TRUE(team.is_alive());
  for (const int threads : {3, 2, 4}) {
    std::atomic<int> members{0};
    Region region;
    region.body = [](void* data) {
      auto& seen = *static_cast<std::atomic<int>*>(data);
      seen += 1 << (8 * position().member);
    };
    region.data = &members;
    region.size = threads;
    team.run(region);
    int expected = 0;
    for (int member = 0; member < threads; ++member) expected += 1 << (8 * member);
    EXPECT_EQ(members, expected) << "each member once";
    EXPECT_EQ(team.size(), threads == 4 ? 4 : 3);
    EXPECT_EQ(position().region, nullptr);
    EXPECT_EQ(position().team, nullptr);
  }
}

}  // namespace
}  // namespace evener::engine::torch_engine::openmp
