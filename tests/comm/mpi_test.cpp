// The module "mpi": Mpi.* start this program again under mpirun, where MpiRank.* are the processes' parts.
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/module.h"
#include "comm/communicator.h"
#include "comm/host_group.h"
#include "comm/ranks_helpers.h"
#include "support/run_program.h"

namespace evener::comm {
namespace {

using test::error_of;
using test::sum_of;
using test::value_of;
using test::values_of;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

bool under_mpirun() {
  return getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

class MpiRank : public testing::Test {
 protected:
  void SetUp() override {
    if (!under_mpirun()) GTEST_SKIP() << "a process's part of the tests Mpi.*, which start it through mpirun";
    group_ = connect_hosts(2);
    end_ = group_->channel(0);
  }
  void TearDown() override {
    if (group_ && !lost_) group_->close();
  }

  std::vector<int> all() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < group_->hosts(); ++rank) ranks.push_back(rank);
    return ranks;
  }

  std::unique_ptr<HostGroup> group_;
  std::unique_ptr<Communicator> end_;
  bool lost_ = false;
};

// One test for all: MPI can be started once in a process.
TEST_F(MpiRank, Collectives) {
  const int rank = end_->rank();
  EXPECT_EQ(rank, group_->host());
  EXPECT_STREQ(end_->name(), "mpi");
  // One exchange of whole vectors; of shares that can't be equal; several pieces.
  for (const std::size_t size : {1UL, 3001UL, 100'003UL, 2'300'001UL}) {
    std::vector<float> values = values_of(rank, size);
    const std::span<float> vector = values;
    const std::span<float> parts[] = {vector.first(size / 3), vector.subspan(size / 3)};
    end_->all_reduce(std::span<const std::span<float>>(parts), CommunicationDtype::kFloat32);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) wrong += values[i] == sum_of(all(), i) ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << "of " << size;
  }
  // bf16 has eight bits: 257 becomes 256 before, and the sum with 258 becomes 512 after. Unrounded 257 would give 516.
  for (const std::size_t size : {10UL, 300'000UL}) {
    std::vector<float> values(size, rank == 0 ? 257.0F : rank == 1 ? 258.0F : 0.0F);
    end_->all_reduce(std::span<float>(values), CommunicationDtype::kBFloat16);
    EXPECT_THAT(values, Each(512.0F)) << size;
  }
  double sum = 0.1;
  for (int r = 1; r < end_->size(); ++r) sum += 0.1 * (r + 1);
  for (const std::size_t size : {50UL, 100'000UL}) {
    std::vector<double> doubles(size, 0.1 * (rank + 1));
    end_->all_reduce(doubles);
    EXPECT_THAT(doubles, Each(sum)) << size;
  }
  for (const int root : all()) {
    std::vector<std::byte> bytes(100'000, static_cast<std::byte>(rank));
    end_->broadcast(bytes, root);
    EXPECT_THAT(bytes, Each(static_cast<std::byte>(root)));
  }
  end_->barrier();
  EXPECT_THAT(gather_messages(*end_, std::string(static_cast<std::size_t>(rank), 'x')).at(1), "x");
  if (rank == 0) end_->send(std::as_bytes(std::span("abc", 3)), 1);
  if (rank == 1) {
    std::string text(3, ' ');
    end_->receive(std::as_writable_bytes(std::span(text)), 0);
    EXPECT_EQ(text, "abc");
  }
  end_->set_members(all());
  EXPECT_THAT(error_of([&] { end_->set_members(std::vector<int>{rank}); }), HasSubstr("keeps all"));
}

TEST_F(MpiRank, ChannelsFromTwoThreads) {
  const auto other = group_->channel(1);
  const auto sum = [&](Communicator& end, float factor) {
    for (int i = 0; i < 50; ++i) {
      std::vector<float> values(5000, factor);
      end.all_reduce(std::span<float>(values));
      EXPECT_THAT(values, Each(factor * static_cast<float>(end.size())));
    }
  };
  std::jthread thread([&] { sum(*other, 2); });
  sum(*end_, 3);
}

TEST_F(MpiRank, UnlikeSizes) {
  const int rank = end_->rank();
  std::string text(rank == 0 ? 3 : 4, ' ');
  if (rank == 0) end_->send(std::as_bytes(std::span(text)), 1);
  if (rank == 1) {
    EXPECT_THAT(error_of([&] { end_->receive(std::as_writable_bytes(std::span(text)), 0); }),
                HasSubstr("host 0 sent 3 bytes"));
  }
}

TEST_F(MpiRank, AFrozenHostIsNamed) {
  lost_ = true;
  std::mutex mutex;
  std::condition_variable condition;
  std::string told;
  if (end_->rank() == 2) {
    end_->barrier();
    raise(SIGSTOP);  // until mpirun is ended
  }
  group_->watch({"alpha", "beta", "gamma"}, [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    told = what;
    condition.notify_all();
  });
  end_->barrier();
  while (end_->rank() == 1) pause();  // it hears host 0 alone, which ends it
  EXPECT_THAT(error_of([&] { end_->barrier(); }), HasSubstr("host gamma (host 2 of 3) has given no sign of life"));
  EXPECT_THAT(error_of([&] { end_->require_whole(); }), HasSubstr("host gamma"));
  std::unique_lock lock(mutex);
  condition.wait(lock, [&] { return !told.empty(); });
  std::fprintf(stderr, "told: %s\n", told.c_str());
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 3);  // mpirun ends the others
}

/// A process that was told another place than MPI knows: of two installations, one started it and the other is linked.
class MpiStranger : public testing::Test {};

TEST_F(MpiStranger, IsTold) {
  if (!under_mpirun()) GTEST_SKIP() << "a process's part of the tests Mpi.*, which start it through mpirun";
  const HostPosition told = host_position();
  setenv("OMPI_COMM_WORLD_RANK", std::to_string(1 - told.host).c_str(), 1);
  const std::string message = error_of([] { connect_hosts(1); });
  while (told.host == 1) pause();  // until mpirun is ended
  std::fprintf(stderr, "told: %s\n", message.c_str());
  std::fflush(nullptr);
  _exit(3);  // mpirun ends the other
}

// Not a test: tools/two-hosts measure runs it.
void measure_sums(Communicator& end) {
  for (const std::size_t size : {1UL, 1000UL, 10'000UL, 100'000UL, 1'000'000UL, 10'000'000UL}) {
    std::vector<float> values(size, 1.0F);
    std::vector<double> times;
    for (int i = 0; i < 40; ++i) {
      end.barrier();
      const Stopwatch clock;
      end.all_reduce(std::span<float>(values));
      if (i >= 5) times.push_back(clock.seconds());
      std::ranges::fill(values, 1.0F);
    }
    std::ranges::sort(times);
    if (end.rank() == 0) {
      std::printf("%9zu bytes  median %9.1f us  quartiles %9.1f to %9.1f us\n", size * sizeof(float),
                  1e6 * times[times.size() / 2], 1e6 * times[times.size() / 4], 1e6 * times[times.size() * 3 / 4]);
    }
  }
}

TEST_F(MpiRank, DISABLED_Measure) {
  measure_sums(*end_);
}

TEST(SharedRanks, DISABLED_Measure) {
  SharedGroupOptions options;
  options.ranks = 2;
  SharedGroup group(options);
  test::run_ranks(test::RanksAre::kProcesses, 2, [&](int rank) { measure_sums(*group.join(rank, 0, "shm")); });
}

class Mpi : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const ModuleStatus status = module_status("mpi");
    if (status.state == ModuleState::kNotBuilt) GTEST_SKIP() << "built without MPI: " << status.reason;
    if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no mpirun";
    ASSERT_EQ(status.state, ModuleState::kUsable) << status.reason;
    EXPECT_THAT(status.version, HasSubstr("MPI"));
  }

  /// `test` in so many processes.
  static test::ProgramResult run(int ranks, const std::string& test) {
    std::vector<std::string> words = {"-np", std::to_string(ranks), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
    if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
    words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    words.push_back("--gtest_filter=" + test);
    words.emplace_back("--gtest_color=no");
    test::ProgramOptions options;
    options.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
    return test::RunningProgram("mpirun", words, options).finish();
  }
};

TEST_P(Mpi, TwoProcesses) {
  const auto result = run(2, std::string("MpiRank.") + GetParam());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("PASSED  ] 1 test"));
}

TEST_P(Mpi, ThreeProcesses) {
  const auto result = run(3, std::string("MpiRank.") + GetParam());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("PASSED  ] 1 test"));
}

INSTANTIATE_TEST_SUITE_P(, Mpi, testing::Values("Collectives", "ChannelsFromTwoThreads", "UnlikeSizes"),
                         [](const auto& param) { return std::string(param.param); });

using MpiFaults = Mpi;

TEST_F(MpiFaults, AFrozenHostIsNamed) {
  const auto result = run(3, "MpiRank.AFrozenHostIsNamed");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("told: host gamma (host 2 of 3) has given no sign of life for 5 s"));
}

TEST_F(MpiFaults, AProcessThatWasToldAnotherPlaceIsRefused) {
  EXPECT_THAT(run(2, "MpiStranger.IsTold").err,
              AllOf(HasSubstr("says it leads host 1 of 2, MPI says 0 of 2"), HasSubstr("of one installation")));
}

TEST_F(MpiFaults, AProcessOnItsOwnIsToldHowToStart) {
  if (under_mpirun()) GTEST_SKIP() << "this process is one of those under mpirun";
  EXPECT_THAT(error_of([] { connect_hosts(1); }), HasSubstr("--hosts"));
}

}  // namespace
}  // namespace evener::comm
