// What the other ranks get when one is lost, late, or does something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::test {
namespace {

using comm::SharedGroup;
using testing::AnyOf;
using testing::HasSubstr;

constexpr int kRounds = 1'000'000;  // never reached

TEST(LostRank, ThatWasKilledEndsTheOthersOnceTheWatcherSaysSo) {
  SharedGroup group(group_options(3));
  const auto body = [&](int rank) {
    const auto end = group.join(rank, 0, "shm");
    auto values = values_of(rank, 500);
    EXPECT_THAT(error_of([&] {
                  for (int round = 0; round < kRounds; ++round) {
                    group.beat(rank);
                    end->all_reduce(values);
                  }
                }),
                HasSubstr("rank 1 was killed by the test"));
    EXPECT_THAT(error_of([&] { end->barrier(); }), HasSubstr("killed by the test")) << "a collective to come";
  };
  RankProcesses processes(3, body);
  wait_until([&] { return group.beats(1) > 5; });
  kill(processes.pid(1), SIGKILL);
  EXPECT_FALSE(processes.good_end(1));
  EXPECT_FALSE(group.aborted());
  group.abort("rank 1 was killed by the test");
  group.abort("a second reason");
  EXPECT_TRUE(group.aborted());
  EXPECT_TRUE(processes.good_end(0));
  EXPECT_TRUE(processes.good_end(2));
}

TEST(LostRank, ThatIsFrozenIsNamedAfterTheTimeout) {
  auto options = group_options(3);
  options.timeout = std::chrono::milliseconds(300);
  SharedGroup group(options);
  RankProcesses processes(3, [&](int rank) {
    const auto end = group.join(rank, 0, "shm");
    auto values = values_of(rank, 500);
    if (rank == 2) {
      group.beat(rank);
      raise(SIGSTOP);
    }
    EXPECT_THAT(error_of([&] { end->all_reduce(values); }),
                HasSubstr("rank 2 did not come to an all_reduce of 500 float32 values within 300 ms"));
  });
  EXPECT_TRUE(processes.good_end(0));
  EXPECT_TRUE(processes.good_end(1));
  EXPECT_TRUE(group.aborted());
  kill(processes.pid(2), SIGCONT);
  EXPECT_TRUE(processes.good_end(2)) << "the frozen rank itself gets the reason when it goes on";
}

TEST(LostRank, IsNoneThatWasStoppedWithAllOthers) {
  auto options = group_options(2);
  options.timeout = std::chrono::milliseconds(400);
  SharedGroup group(options);
  RankProcesses processes(2, [&](int rank) {
    const auto end = group.join(rank, 0, "shm");
    group.beat(rank);
    if (rank == 1) wait_until([&] { return group.beats(1) > 1; });
    EXPECT_NO_THROW(end->barrier());
  });
  wait_until([&] { return group.beats(0) + group.beats(1) == 2; });
  for (const int rank : {0, 1}) kill(processes.pid(rank), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  for (const int rank : {0, 1}) kill(processes.pid(rank), SIGCONT);
  group.beat(1);
  EXPECT_TRUE(processes.good_end(0));
  EXPECT_TRUE(processes.good_end(1));
}

class LostRanks : public testing::TestWithParam<RanksAre> {};

INSTANTIATE_TEST_SUITE_P(, LostRanks, testing::Values(RanksAre::kThreads, RanksAre::kProcesses),
                         [](const auto& info) { return text_of(info.param); });

TEST_P(LostRanks, AreAllNamed) {
  auto options = group_options(4);
  options.timeout = std::chrono::milliseconds(200);
  SharedGroup group(options);
  run_ranks(GetParam(), 4, [&](int rank) {
    if (rank % 2 == 0) {
      EXPECT_THAT(error_of([&] { group.join(rank, 0, "shm")->barrier(); }),
                  HasSubstr("ranks 1, 3 did not come to a barrier"));
    }
  });
}

TEST_P(LostRanks, DoNotKeepMessagesWaitingForEver) {
  auto options = group_options(2);
  options.timeout = std::chrono::milliseconds(200);
  for (const bool sends : {true, false}) {
    SharedGroup group(options);
    run_ranks(GetParam(), 2, [&](int rank) {
      if (rank == 1) return;
      const auto end = group.join(rank, 0, "shm");
      EXPECT_THAT(error_of([&] { sends ? end->send({}, 1) : end->receive({}, 1); }),
                  HasSubstr(sends ? "rank 1 did not take a message" : "rank 1 did not send a message"));
    });
  }
}

TEST_P(LostRanks, EndWaitingForMessagesToo) {
  SharedGroup group(group_options(3));
  run_ranks(GetParam(), 3, [&](int rank) {
    const auto end = group.join(rank, 0, "shm");
    group.beat(rank);
    if (rank == 0) {
      wait_until([&] { return group.beats(1) + group.beats(2) == 2; });
      group.abort("rank 0 has had enough");
      return;
    }
    std::byte bytes[1000] = {};
    EXPECT_THAT(error_of([&] { rank == 1 ? end->send(bytes, 0) : end->receive(bytes, 0); }),
                HasSubstr("called off: rank 0 has had enough"));
  });
}

TEST_P(LostRanks, ThatDoSomethingElseAreFoundOut) {
  SharedGroup group(group_options(2));
  run_ranks(GetParam(), 2, [&](int rank) {
    auto values = values_of(rank, rank == 0 ? 10 : 2000);
    EXPECT_THAT(error_of([&] { group.join(rank, 0, "shm")->all_reduce(values); }),
                AllOf(HasSubstr("all_reduce of 10 float32 values"), HasSubstr("all_reduce of 2000 float32 values")));
  });
  SharedGroup small(group_options(2));
  run_ranks(GetParam(), 2, [&](int rank) {
    auto values = values_of(rank, rank == 0 ? 10 : 11);
    EXPECT_THAT(error_of([&] { small.join(rank, 0, "shm")->all_reduce(values); }),
                AllOf(HasSubstr("all_reduce of 10 float32 values"), HasSubstr("all_reduce of 11 float32 values")));
  });
  SharedGroup messages(group_options(2));
  run_ranks(GetParam(), 2, [&](int rank) {
    const auto end = messages.join(rank, 0, "shm");
    std::byte bytes[20] = {};
    EXPECT_THAT(error_of([&] { rank == 0 ? end->send(bytes, 1) : end->receive(std::span(bytes).first(10), 0); }),
                HasSubstr("rank 0 sent 20 bytes where rank 1 expected 10"));
  });
}

TEST(LostRank, ReasonIsCutAndTheFirstStays) {
  SharedGroup group(group_options(2));
  const std::string first(600, 'a');
  group.abort(first);
  group.abort("b");
  const std::string message = error_of([&] { group.join(0, 0, "threads")->barrier(); });
  EXPECT_TRUE(message.ends_with(": " + first.substr(0, 500))) << message;
}

}  // namespace
}  // namespace evener::test
