// Two "hosts" of two ranks as threads: the hosts' end is a shared group too.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/thrown.h"
#include "comm/communicator.h"
#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::comm {
namespace {

using test::error_of;
using test::group_options;
using test::value_of;
using test::values_of;
using testing::Each;
using testing::HasSubstr;

constexpr int kHosts = 2, kLocal = 2, kRanks = kHosts * kLocal;

class Hierarchical : public testing::Test {
 protected:
  Hierarchical() : between_(group_options(kHosts)) {
    for (auto& host : hosts_) host = std::make_unique<SharedGroup>(group_options(kLocal, 256, 2));
  }

  std::unique_ptr<Communicator> join(int rank) {
    const int host = rank / kLocal, local = rank % kLocal;
    return make_hierarchical_communicator(hosts_[static_cast<std::size_t>(host)]->join(local, 0, "threads"),
                                          local == 0 ? between_.join(host, 0, "threads") : nullptr, host, kHosts, 0);
  }

  void on_all(const std::function<void(Communicator&)>& body) {
    test::run_ranks(test::RanksAre::kThreads, kRanks, [&](int rank) { body(*join(rank)); });
  }

  std::array<std::unique_ptr<SharedGroup>, kHosts> hosts_;
  SharedGroup between_;
};

TEST_F(Hierarchical, RanksCountThroughTheHosts) {
  std::array<int, kRanks> found{};
  test::run_ranks(test::RanksAre::kThreads, kRanks, [&](int rank) {
    const auto end = join(rank);
    EXPECT_EQ(end->size(), kRanks);
    EXPECT_STREQ(end->name(), "hosts");
    found[static_cast<std::size_t>(rank)] = end->rank();
  });
  EXPECT_THAT(found, testing::ElementsAre(0, 1, 2, 3));
}

TEST_F(Hierarchical, SumsOfHostsInTheirOrder) {
  constexpr std::size_t kSize = 1000;  // many pieces of the group's staging
  on_all([](Communicator& end) {
    std::vector<float> values = values_of(end.rank(), kSize);
    const std::span<float> all = values;
    const std::span<float> parts[] = {all.first(3), all.subspan(3, 0), all.subspan(3, 600), all.subspan(603)};
    end.all_reduce(std::span<const std::span<float>>(parts), CommunicationDtype::kFloat32);
    for (std::size_t i = 0; i < kSize; ++i) {
      EXPECT_EQ(values[i], (value_of(0, i) + value_of(1, i)) + (value_of(2, i) + value_of(3, i))) << i;
    }
  });
}

/// As stages of a pipeline do: the second ranks of both hosts sum, and the first ones sum others meanwhile.
TEST_F(Hierarchical, RanksOfAHostThatLeadOnesOfTheirOwn) {
  SharedGroup seconds(group_options(kHosts));
  test::run_ranks(test::RanksAre::kThreads, kRanks, [&](int rank) {
    const int host = rank / kLocal, number = rank % kLocal;
    auto local = hosts_[static_cast<std::size_t>(host)]->join(number, number, "threads");
    local->set_members(std::array{number});
    auto between = (number == 0 ? between_ : seconds).join(host, 0, "threads");
    const auto end = make_hierarchical_communicator(std::move(local), std::move(between), host, kHosts, number);
    std::vector<float> values(100, static_cast<float>(rank + 1));
    end->all_reduce(std::span<float>(values), CommunicationDtype::kFloat32);
    EXPECT_THAT(values, Each(number == 0 ? 1.0F + 3.0F : 2.0F + 4.0F));
    std::vector<std::byte> told(3, std::byte(rank));
    end->broadcast(told, number);  // of the first host
    EXPECT_THAT(told, Each(std::byte(number)));
    end->barrier();
  });
}

TEST_F(Hierarchical, AnUndividedVectorToo) {
  on_all([](Communicator& end) {
    std::vector<float> values(100, static_cast<float>(end.rank() + 1));
    end.all_reduce(std::span<float>(values), CommunicationDtype::kBFloat16);
    EXPECT_THAT(values, Each(10.0F));
  });
}

// bf16 has eight bits: 257 becomes 256, the host's sum of 257 too, and that of both hosts once more. Were float32 sent
// within the hosts, 260 would come out; between them, 257; everywhere, 259.
TEST_F(Hierarchical, BFloat16IsSentWithinTheHostsAndBetweenThem) {
  constexpr std::array kOwn{257.0F, 1.0F, 1.0F, 0.0F};
  on_all([&](Communicator& end) {
    for (const std::size_t first : {std::size_t{0}, std::size_t{5}}) {  // as one part and as two
      std::vector<float> values(20, kOwn[static_cast<std::size_t>(end.rank())]);
      std::vector<std::span<float>> parts = {std::span(values).subspan(first)};
      if (first > 0) parts.insert(parts.begin(), std::span(values).first(first));
      end.all_reduce(std::span<const std::span<float>>(parts), CommunicationDtype::kBFloat16);
      EXPECT_THAT(values, Each(256.0F));
    }
  });
}

TEST_F(Hierarchical, SumsDoubles) {
  on_all([](Communicator& end) {
    std::vector<double> values(100, 0.1 * (end.rank() + 1));
    end.all_reduce(values);
    EXPECT_THAT(values, Each((0.1 * 1 + 0.1 * 2) + (0.1 * 3 + 0.1 * 4)));
  });
}

TEST_F(Hierarchical, BroadcastsFromEveryRank) {
  on_all([](Communicator& end) {
    for (int root = 0; root < kRanks; ++root) {
      std::array<std::byte, 1000> bytes;
      bytes.fill(static_cast<std::byte>(end.rank()));
      end.broadcast(bytes, root);
      EXPECT_THAT(bytes, Each(static_cast<std::byte>(root)));
    }
    EXPECT_THAT(error_of([&] { end.broadcast({}, kRanks); }), HasSubstr("from rank 4"));
    EXPECT_THAT(error_of([&] { end.broadcast({}, -1); }), HasSubstr("from rank -1 in a group of 4"));
  });
}

TEST_F(Hierarchical, GathersMessagesOfAnyLengthByRank) {
  on_all([](Communicator& end) {
    const auto message_of = [](int rank) {
      return std::string(static_cast<std::size_t>(rank) * 5000, static_cast<char>('a' + rank));
    };
    const std::vector<std::string> messages = gather_messages(end, message_of(end.rank()));
    EXPECT_THAT(messages, testing::ElementsAre("", message_of(1), message_of(2), message_of(3)));
  });
}

TEST_F(Hierarchical, ABarrierIsForAll) {
  std::atomic<int> come = 0;
  on_all([&](Communicator& end) {
    for (int round = 1; round <= 2 * kRanks; ++round) {
      if (end.rank() == round % kRanks) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++come;
      end.barrier();
      EXPECT_GE(come, round * kRanks) << "round " << round << ", rank " << end.rank();
    }
  });
}

TEST_F(Hierarchical, MessagesGoWithinAHostOnly) {
  on_all([](Communicator& end) {
    const int other = end.rank() ^ 1;
    std::array<std::byte, 4> bytes{static_cast<std::byte>(end.rank())};
    if (end.rank() % kLocal == 0) {
      end.send(bytes, other);
    } else {
      end.receive(bytes, other);
      EXPECT_EQ(bytes[0], static_cast<std::byte>(other));
    }
    EXPECT_THAT(error_of([&] { end.send(bytes, (end.rank() + 2) % kRanks); }), HasSubstr("of one host"));
    EXPECT_THAT(error_of([&] { end.receive(bytes, -1); }), HasSubstr("can't receive from rank -1: single messages"));
  });
}

/// Of those who wait for others by other means, as for a GPU.
TEST_F(Hierarchical, RanksLearnWithoutACollectiveThatARankOrAHostIsLost) {
  const auto told = [&] {
    std::array<std::string, kRanks> messages;
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto end = join(rank);
      messages[static_cast<std::size_t>(rank)] = test::thrown_by([&] { end->require_whole(); }, "");
    }
    return messages;
  };
  EXPECT_THAT(told(), Each(""));
  hosts_[1]->abort("rank 3 was lost");
  EXPECT_THAT(told(), testing::ElementsAre("", "", HasSubstr("rank 3 was lost"), HasSubstr("rank 3 was lost")));
  between_.abort("host 1 was lost");
  EXPECT_THAT(told()[0], HasSubstr("host 1 was lost"));
}

TEST_F(Hierarchical, TheHostsRanksKnowOnWhichThreadARankComputes) {
  const auto end = join(3);
  EXPECT_FALSE(hosts_[1]->thread(1).place().is_this_thread());
  end->compute_here();
  EXPECT_TRUE(hosts_[1]->thread(1).place().is_this_thread());
  EXPECT_FALSE(hosts_[1]->thread(0).place().is_this_thread());
}

TEST_F(Hierarchical, AllStayMembers) {
  on_all([](Communicator& end) {
    std::vector<int> all(kRanks);
    std::iota(all.begin(), all.end(), 0);
    end.set_members(all);
    all.pop_back();
    EXPECT_THAT(error_of([&] { end.set_members(all); }), HasSubstr("keeps all its members"));
    all.push_back(kRanks);
    EXPECT_THAT(error_of([&] { end.set_members(all); }), HasSubstr("keeps all its members")) << "as many";
  });
}

TEST_F(Hierarchical, OnlyTheLeadingRankSpeaksWithHosts) {
  const auto make = [&] {
    make_hierarchical_communicator(hosts_[0]->join(1, 0, "threads"), between_.join(0, 0, "threads"), 0, kHosts, 0);
  };
  EXPECT_THAT(error_of(make), HasSubstr("leading rank"));
  const auto make_mute = [&] {
    make_hierarchical_communicator(hosts_[1]->join(0, 0, "threads"), nullptr, 1, kHosts, 0);
  };
  EXPECT_THAT(error_of(make_mute), HasSubstr("rank 2: the leading rank"));
}

}  // namespace
}  // namespace evener::comm
