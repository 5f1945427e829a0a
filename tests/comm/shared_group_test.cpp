#include "comm/shared_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <thread>

#include "base/sanitizer.h"
#include "comm/ranks_helpers.h"

namespace evener::test {
namespace {

using comm::CommunicationDtype;
using comm::Communicator;
using comm::SharedGroup;
using Parts = std::vector<std::span<float>>;

std::vector<int> ranks_below(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct Case {
  RanksAre how;
  int ranks;
};

class Shared : public testing::TestWithParam<Case> {
 protected:
  int ranks() const { return GetParam().ranks; }
  std::vector<int> all() const { return ranks_below(ranks()); }
  void run(const std::function<void(int)>& body) const { run_ranks(GetParam().how, ranks(), body); }
  void run(SharedGroup& group, const std::function<void(Communicator&)>& body) const {
    run([&](int rank) { body(*group.join(rank, 0, text_of(GetParam().how))); });
  }
};

INSTANTIATE_TEST_SUITE_P(, Shared,
                         testing::Values(Case{RanksAre::kThreads, 2}, Case{RanksAre::kThreads, 3},
                                         Case{RanksAre::kThreads, 4}, Case{RanksAre::kProcesses, 2},
                                         Case{RanksAre::kProcesses, 3}, Case{RanksAre::kProcesses, 4}),
                         [](const auto& info) { return std::to_string(info.param.ranks) + text_of(info.param.how); });

TEST_P(Shared, EndsKnowWhoTheyAre) {
  SharedGroup group(group_options(ranks()));
  EXPECT_EQ(group.ranks(), ranks());
  run([&](int rank) {
    const auto end = group.join(rank, 0, "threads");
    EXPECT_EQ(end->rank(), rank);
    EXPECT_EQ(end->size(), ranks());
    EXPECT_STREQ(end->name(), "threads");
  });
}

// Exact: the order of adding is part of the promise.
TEST_P(Shared, SumsOfAnySize) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    for (const std::size_t size : {0U, 1U, 3U, 64U, 65U, 1000U, 5003U}) {
      auto values = values_of(end.rank(), size);
      end.all_reduce(values);
      EXPECT_EQ(values, sums_of(all(), size)) << size;
    }
  });
}

TEST_P(Shared, SumsInOnePiece) {
  SharedGroup group(group_options(ranks(), 1 << 20));
  run(group, [&](Communicator& end) {
    for (int again = 0; again < 5; ++again) {
      auto values = values_of(end.rank() + again, 20'001);
      end.all_reduce(values);
      auto summed = all();
      for (int& rank : summed) rank += again;
      EXPECT_EQ(values, sums_of(summed, 20'001)) << again;
    }
  });
}

TEST_P(Shared, SumsOfDoublesKeepTheirPrecision) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    const auto value = [](int rank, std::size_t i) { return 1e12 + 0.25 * (rank + 1) + static_cast<double>(i); };
    for (const std::size_t size : {3U, 100U}) {  // those of few bytes travel another way
      std::vector<double> values(size);
      for (std::size_t i = 0; i < size; ++i) values[i] = value(end.rank(), i);
      end.all_reduce(values);
      for (std::size_t i = 0; i < size; ++i) {
        double expected = 0;
        for (const int rank : all()) expected += value(rank, i);
        EXPECT_EQ(values[i], expected) << i << " of " << size;
      }
    }
  });
}

TEST_P(Shared, CommonMemoryIsOneForAllRanks) {
  comm::SharedGroupOptions options = group_options(ranks());
  options.common_bytes = 5001;
  SharedGroup group(options);
  ASSERT_EQ(group.common().size(), 5001U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(group.common().data()) % 4096, 0U);
  run(group, [&](Communicator& end) {
    auto values = values_of(end.rank(), 3000);
    group.common()[5000 - static_cast<std::size_t>(end.rank())] = std::byte(end.rank() + 1);
    end.all_reduce(values);  // what travels doesn't lie there
    EXPECT_EQ(group.common().front(), std::byte(0));
    for (const int rank : all()) {
      EXPECT_EQ(group.common()[5000 - static_cast<std::size_t>(rank)], std::byte(rank + 1));
    }
  });
}

TEST_P(Shared, PartsAreOneLongVector) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    auto values = values_of(end.rank(), 700);
    const auto part = [&](std::size_t begin, std::size_t size) { return std::span(values).subspan(begin, size); };
    // Out of order, with empty parts at the beginning, the end and between.
    const Parts parts = {part(0, 0), part(300, 400), part(0, 0), part(0, 0), part(0, 1), part(2, 298), part(0, 0)};
    end.all_reduce(std::span<const std::span<float>>(parts), CommunicationDtype::kFloat32);
    auto expected = sums_of(all(), 700);
    expected[1] = value_of(end.rank(), 1);  // in none of the parts
    EXPECT_EQ(values, expected);
    end.all_reduce(std::span<const std::span<float>>(), CommunicationDtype::kFloat32);
  });
}

// bf16 has 8 significant bits: rounding to the nearest errs by at most 2^-8 of a value. That happens once to each value
// and once to the sum, of which 1.01 covers the second order and the float32 additions.
TEST_P(Shared, SumsTravelAsBFloat16) {
  constexpr std::size_t kSize = 3001;
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    auto values = values_of(end.rank(), kSize);
    end.all_reduce(values, CommunicationDtype::kBFloat16);
    bool rounded = false;
    for (std::size_t i = 0; i < kSize; ++i) {
      double sum = 0, magnitudes = 0;
      for (const int rank : all()) {
        sum += value_of(rank, i);
        magnitudes += std::abs(value_of(rank, i));
      }
      EXPECT_NEAR(values[i], sum, 1.01 / 256 * (magnitudes + std::abs(sum))) << i;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]) & 0xffff, 0U) << i;
      rounded = rounded || values[i] != sum_of(all(), i);
    }
    EXPECT_TRUE(rounded) << "nothing was sent as bf16";
    auto of_rank_0 = values;
    end.broadcast(std::as_writable_bytes(std::span(of_rank_0)), 0);
    EXPECT_EQ(values, of_rank_0);
  });
}

TEST_P(Shared, BFloat16RoundsToTheNearestEven) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    const auto of_bits = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
    // A tie down to even, a tie up to even, just above and below a tie, infinity, and a NaN whose upper half is
    // infinity's.
    std::vector<float> values = {of_bits(0x3f808000), of_bits(0x3f818000), of_bits(0x3f808001),
                                 of_bits(0x3f817fff), of_bits(0xff800000), of_bits(0x7f800001)};
    if (end.rank() > 0) values.assign(values.size(), -0.0F);
    end.all_reduce(values, CommunicationDtype::kBFloat16);
    EXPECT_EQ(values[0], of_bits(0x3f800000));
    EXPECT_EQ(values[1], of_bits(0x3f820000));
    EXPECT_EQ(values[2], of_bits(0x3f810000));
    EXPECT_EQ(values[3], of_bits(0x3f810000));
    EXPECT_EQ(values[4], -INFINITY);
    EXPECT_TRUE(std::isnan(values[5]));
  });
}

TEST_P(Shared, BroadcastsFromEachRank) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    for (const int root : all()) {
      for (const std::size_t size : {0U, 1U, 256U, 1001U}) {
        auto values = values_of(end.rank(), size);
        end.broadcast(std::as_writable_bytes(std::span(values)), root);
        EXPECT_EQ(values, values_of(root, size)) << "from " << root << ", " << size;
      }
    }
  });
}

TEST_P(Shared, MessagesGoBothWays) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    for (const std::size_t size : {0U, 1U, 64U, 65U, 500U}) {
      const int last = end.size() - 1;
      auto mine = values_of(end.rank(), size), got = std::vector<float>(size);
      const auto send = [&](int to) { end.send(std::as_bytes(std::span(mine)), to); };
      const auto receive = [&](int from) {
        end.receive(std::as_writable_bytes(std::span(got)), from);
        EXPECT_EQ(got, values_of(from, size)) << "from " << from;
      };
      // Rank 0 receives from all, in the opposite order of their coming; then all get one from it.
      for (int from = last; from > 0 && end.rank() == 0; --from) receive(from);
      if (end.rank() > 0) send(0);
      for (int to = 1; to <= last && end.rank() == 0; ++to) send(to);
      if (end.rank() > 0) receive(0);
    }
  });
}

TEST_P(Shared, NobodyPassesABarrierBeforeTheLastHasCome) {
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    for (int round = 1; round <= 20; ++round) {
      if (end.rank() == round % end.size()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      group.set_progress(end.rank(), round, 0);
      end.barrier();
      for (const int rank : all()) EXPECT_GE(group.progress(rank).epoch, round);
    }
  });
}

TEST_P(Shared, ChannelsAreIndependent) {
  SharedGroup group(group_options(ranks(), 256, 2));
  run([&](int rank) {
    const auto work = [&](int channel, int rounds) {
      const auto end = group.join(rank, channel, "threads");
      auto summed = all();
      for (int& each : summed) each += 10 * channel;
      const auto expected = sums_of(summed, 777);
      for (int round = 0; round < rounds; ++round) {
        auto values = values_of(rank + 10 * channel, 777);
        end->all_reduce(values);
        EXPECT_EQ(values, expected) << "channel " << channel;
      }
    };
    std::jthread other(work, 1, 37);
    work(0, 20);
  });
}

// Races show in numbers. Sums and barriers alternate irregularly, so that slots come in every order.
TEST_P(Shared, ManyQuickSums) {
  const int kRounds = has_thread_sanitizer() ? 1000 : 10'000;
  SharedGroup group(group_options(ranks()));
  run(group, [&](Communicator& end) {
    int wrong = 0;
    for (int round = 0; round < kRounds; ++round) {
      float values[3];
      for (int i = 0; i < 3; ++i) values[i] = static_cast<float>((end.rank() + 1) * (round % 1000 + i));
      end.all_reduce(values);
      const int factor = ranks() * (ranks() + 1) / 2;
      for (int i = 0; i < 3; ++i) wrong += values[i] != static_cast<float>(factor * (round % 1000 + i));
      if (round % 7 == 0 || round % 11 == 0) end.barrier();
      if (round % 13 == 0) end.broadcast(std::as_writable_bytes(std::span(values)), round % ranks());
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(Shared, SignsOfLife) {
  SharedGroup group(group_options(ranks()));
  run([&](int rank) {
    for (int i = 0; i <= rank; ++i) group.beat(rank);
    group.set_progress(rank, 10 + rank, std::int64_t{1} << 40);
  });
  for (const int rank : all()) {
    EXPECT_EQ(group.beats(rank), static_cast<std::uint64_t>(rank) + 1);
    EXPECT_EQ(group.progress(rank).epoch, 10 + rank);
    EXPECT_EQ(group.progress(rank).step, std::int64_t{1} << 40);
  }
}

}  // namespace
}  // namespace evener::test
