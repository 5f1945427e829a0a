#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::test {
namespace {

using comm::SharedGroup;
using testing::HasSubstr;

class Members : public testing::TestWithParam<RanksAre> {};

INSTANTIATE_TEST_SUITE_P(, Members, testing::Values(RanksAre::kThreads, RanksAre::kProcesses),
                         [](const auto& info) { return text_of(info.param); });

// All ranks meet on channel 0 whenever the members of channel 1 change. The ranks that wait a moment after the meeting
// come to set_members when others are already inside of the next sum.
TEST_P(Members, LeaveAndComeBack) {
  const std::vector<std::vector<int>> turns = {{0, 1, 2, 3}, {0, 2}, {1}, {0, 1, 3}, {2, 3}, {0, 1, 2, 3}, {1, 2}};
  SharedGroup group(group_options(4, 256, 2));
  run_ranks(GetParam(), 4, [&](int rank) {
    const auto meeting = group.join(rank, 0, "all"), end = group.join(rank, 1, "some");
    for (int round = 0; round < 40; ++round) {
      const auto& members = turns[static_cast<std::size_t>(round) % turns.size()];
      meeting->barrier();
      if (round % 4 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::ranges::find(members, rank) == members.end()) continue;
      end->set_members(members);
      // An odd number of meetings, so that every phase of the channel is left to those who come back.
      for (int sum = 0; sum < round % 3; ++sum) {
        auto values = values_of(rank, 301);
        end->all_reduce(values);
        EXPECT_EQ(values, sums_of(members, 301)) << "round " << round;
      }
      if (round % 2 == 0) end->barrier();
      auto values = values_of(rank, 99);
      end->broadcast(std::as_writable_bytes(std::span(values)), members.back());
      EXPECT_EQ(values, values_of(members.back(), 99)) << "round " << round;
    }
  });
}

TEST(MembersOfAGroup, HaveToMakeSense) {
  SharedGroup group(group_options(3));
  const auto end = group.join(1, 0, "threads");
  for (const std::vector<int>& members : std::vector<std::vector<int>>{{}, {0, 2}, {1, 0}, {1, 1}, {1, 3}, {-1, 1}}) {
    EXPECT_THAT(error_of([&] { end->set_members(members); }), HasSubstr("rank 1 can't make ranks"));
  }
  end->set_members(std::vector{0, 1});
  EXPECT_THAT(error_of([&] { end->broadcast({}, 2); }), HasSubstr("no member of the group now"));
}

TEST(MembersOfAGroup, OneAloneKeepsItsValues) {
  SharedGroup group(group_options(2));
  const auto end = group.join(1, 0, "threads");
  end->set_members(std::vector{1});
  auto values = values_of(1, 100);
  end->all_reduce(values, comm::CommunicationDtype::kBFloat16);
  EXPECT_EQ(values, values_of(1, 100));
  end->broadcast(std::as_writable_bytes(std::span(values)), 1);
  end->barrier();
  EXPECT_EQ(values, values_of(1, 100));
}

TEST(MembersOfAGroup, ThatIsNotThereIsAnError) {
  SharedGroup group(group_options(2, 256, 3));
  EXPECT_THAT(error_of([&] { group.join(2, 0, "threads"); }), HasSubstr("no rank 2 in this group: it has 2"));
  EXPECT_THAT(error_of([&] { group.join(0, 3, "threads"); }), HasSubstr("no channel 3 in this group: it has 3"));
  EXPECT_THAT(error_of([&] { group.beat(-1); }), HasSubstr("no rank -1"));
  EXPECT_THAT(error_of([] { SharedGroup none(group_options(0)); }), HasSubstr("a group of 0 ranks"));
  EXPECT_THAT(error_of([&] { group.join(0, 0, "threads")->send({}, 0); }), HasSubstr("rank 0 can't send to rank 0"));
}

}  // namespace
}  // namespace evener::test
