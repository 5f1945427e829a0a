// What the other ranks get when one is lost, late, or does something else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/thrown.h"
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
                  HasSubstr(std::string("rank 1 did not ") + (sends ? "take" : "send") +
                            " a message within 200 ms, where rank 0 waited"));
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
  for (const auto& [sent, expected] : {std::pair{20U, 10U}, {10U, 20U}}) {
    SharedGroup messages(group_options(2));
    run_ranks(GetParam(), 2, [&](int rank) {
      const auto end = messages.join(rank, 0, "shm");
      std::byte bytes[20] = {};
      const std::span<std::byte> message = std::span(bytes).first(rank == 0 ? sent : expected);
      EXPECT_THAT(error_of([&] { rank == 0 ? end->send(message, 1) : end->receive(message, 0); }),
                  HasSubstr(fmt::format("rank 0 sent {} bytes where rank 1 expected {}", sent, expected)));
    });
  }
}

TEST_P(LostRanks, SayToWhichCallEachOfThemCame) {
  using comm::CommunicationDtype;
  using comm::Communicator;
  struct Call {
    std::function<void(Communicator&)> make;
    const char* text;
  };
  const auto sum = [](std::size_t size, CommunicationDtype dtype) {
    return [=](Communicator& end) {
      std::vector<float> values(size);
      end.all_reduce(values, dtype);
    };
  };
  const auto broadcast = [](std::size_t size, int root) {
    return [=](Communicator& end) {
      std::vector<std::byte> bytes(size);
      end.broadcast(bytes, root);
    };
  };
  const Call few{sum(10, CommunicationDtype::kFloat32), "an all_reduce of 10 float32 values"};
  const Call few_as_bf16{sum(10, CommunicationDtype::kBFloat16), "an all_reduce of 10 float32 values sent as bf16"};
  const Call many{sum(900, CommunicationDtype::kFloat32), "an all_reduce of 900 float32 values"};
  const Call doubles{[](Communicator& end) {
                       std::vector<double> values(5);
                       end.all_reduce(values);
                     },
                     "an all_reduce of 5 float64 values"};
  const Call barrier{[](Communicator& end) { end.barrier(); }, "a barrier"};
  const Call small_of_0{broadcast(40, 0), "a broadcast of 40 bytes from rank 0"};
  const Call small_of_1{broadcast(40, 1), "a broadcast of 40 bytes from rank 1"};
  const Call large_of_1{broadcast(3600, 1), "a broadcast of 3600 bytes from rank 1"};
  const Call pairs[][2] = {{few, few_as_bf16},    {few, doubles},    {few, small_of_0}, {small_of_0, small_of_1},
                           {large_of_1, many},    {barrier, few},    {barrier, many},   {barrier, large_of_1},
                           {small_of_1, barrier}, {doubles, barrier}};
  for (const auto& calls : pairs) {
    SharedGroup group(group_options(2));
    run_ranks(GetParam(), 2, [&](int rank) {
      const auto end = group.join(rank, 0, "shm");
      // What comes to a barrier has nothing to compare, and may be through it before the other one has looked.
      const std::string message =
          thrown_by([&] { calls[rank].make(*end); }, calls[rank].text == std::string("a barrier") ? "passed" : "none");
      const auto told = [&](int first) {
        return std::string("rank ") + std::to_string(first) + " came to " + calls[first].text + ", rank " +
               std::to_string(1 - first) + " to " + calls[1 - first].text + ": ";
      };
      EXPECT_THAT(message, AnyOf("passed", HasSubstr(told(0)), HasSubstr(told(1))));
    });
  }
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
