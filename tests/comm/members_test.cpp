#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "base/busy_loop.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/directed_yield.h"
#include "comm/communicator.h"
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
  EXPECT_THAT(error_of([] { SharedGroup none(group_options(1, 64, 0)); }), HasSubstr("1 ranks with 0 channels"));
  EXPECT_THAT(error_of([] { SharedGroup none(group_options(1, 0)); }), HasSubstr("1 channels of 0 bytes"));
  comm::SharedGroupOptions hasty = group_options(1);
  hasty.timeout = {};
  EXPECT_THAT(error_of([&] { SharedGroup none(hasty); }), HasSubstr("a timeout of 0 ms"));
  EXPECT_THAT(error_of([&] { group.join(0, 0, "threads")->send({}, 0); }), HasSubstr("rank 0 can't send to rank 0"));
  EXPECT_THAT(error_of([&] { group.join(0, 0, "threads")->receive({}, 2); }),
              HasSubstr("rank 0 can't receive from rank 2 in a group of 2"));
  EXPECT_THAT(error_of([&] { group.join(1, 0, "threads")->send({}, -1); }), HasSubstr("can't send to rank -1"));
}

TEST(SelfCommunicator, LeavesEverythingAsItIs) {
  const auto self = comm::make_self_communicator();
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  EXPECT_STREQ(self->name(), "self");
  auto values = values_of(1, 100);
  self->all_reduce(values, comm::CommunicationDtype::kBFloat16);
  self->broadcast(std::as_writable_bytes(std::span(values)), 0);
  self->barrier();
  self->set_members(std::vector{0});
  EXPECT_EQ(values, values_of(1, 100));
  std::vector<double> doubles = {0.1, 0.2};
  self->all_reduce(doubles);
  EXPECT_EQ(doubles, (std::vector<double>{0.1, 0.2}));
}

TEST(SelfCommunicator, HasNobodyElse) {
  const auto self = comm::make_self_communicator();
  EXPECT_THAT(error_of([&] { self->send({}, 1); }), HasSubstr("rank 0 can't send to rank 1"));
  EXPECT_THAT(error_of([&] { self->receive({}, 0); }), HasSubstr("can't receive from rank 0"));
  EXPECT_THAT(error_of([&] { self->broadcast({}, 1); }), HasSubstr("broadcast from rank 1"));
  for (const std::vector<int>& members : std::vector<std::vector<int>>{{}, {0, 1}, {1}}) {
    EXPECT_THAT(error_of([&] { self->set_members(members); }), HasSubstr("only have rank 0"));
  }
}

// Ranks that are bound to a CPU each, one of which has lost its own.

constexpr double kLongest_s = 60;

/// The only CPU that this thread may run on; -1 of several.
int own_cpu() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) != 1) return -1;
  int cpu = 0;
  while (!CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) ++cpu;
  return cpu;
}

class LateRank : public testing::TestWithParam<RanksAre> {
 protected:
  void SetUp() override {
    if (cpu_topology().allowed.size() < 2 || usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
    if (cpu_topology().quota_cpus > 0) GTEST_SKIP() << "nothing is given away under a CPU quota";
    if (scheduler().delayed_ns() < 0) GTEST_SKIP() << "this kernel doesn't count how long threads are delayed";
    assume_contention(std::numeric_limits<std::int64_t>::max());
  }
  void TearDown() override { assume_contention(0); }
};

INSTANTIATE_TEST_SUITE_P(, LateRank, testing::Values(RanksAre::kThreads, RanksAre::kProcesses),
                         [](const auto& info) { return text_of(info.param); });

TEST_P(LateRank, GetsTheCpuOfTheOneThatWaitsForIt) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroupOptions options = group_options(2);
  options.cpus = 2;  // not as few as a quota leaves
  comm::SharedGroup group(options);
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)], others = cpus[static_cast<std::size_t>(1 - rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    end->barrier();
    if (rank == 1) {
      const BusyLoop program(own);
      bool had_others = false;
      for (const Stopwatch clock; !had_others && clock.seconds() < kLongest_s;) had_others = own_cpu() == others;
      EXPECT_TRUE(had_others);
    }
    end->barrier();
  });
}

TEST_P(LateRank, KeepsItsCpuIfItWasBoundElsewhereSince) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroupOptions options = group_options(2);
  options.cpus = 2;  // not as few as a quota leaves
  comm::SharedGroup group(options);
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    pin_this_thread({own});
    end->barrier();
    if (rank == 1) {
      const BusyLoop program(own);
      for (const Stopwatch clock; clock.seconds() < 0.1;) {
      }
    }
    end->barrier();
    EXPECT_EQ(own_cpu(), own);
  });
}

}  // namespace
}  // namespace evener::test
