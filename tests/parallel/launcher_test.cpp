#include "parallel/launcher.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <new>
#include <thread>

#include "base/sanitizer.h"
#include "base/stop.h"
#include "base/thrown.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

placement::Plan plan_of(int ranks, bool processes) {
  placement::Plan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    placement::PlanReplica replica;
    replica.rank = rank;
    replica.stages.emplace_back();
    plan.replicas.push_back(replica);
    if (processes || rank == 0) plan.processes.emplace_back();
    plan.processes.back().ranks.push_back(rank);
  }
  return plan;
}

double sum_of_ranks(const RankContext& context) {
  Channels channels = context.channels();
  std::vector<double> values = {1.0 + context.rank};
  channels.sums->all_reduce(values);
  return values[0];
}

/// The message of what run_ranks throws.
template <class Exception>
std::string failure_of(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options = {}) {
  return evener::test::thrown_by<Exception>([&] { run_ranks(plan, body, options); });
}

/// Whether a process is gone, not even a zombie.
bool gone(pid_t pid) {
  return kill(pid, 0) != 0;
}

class Ranks : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && evener::test::has_thread_sanitizer())
      GTEST_SKIP() << "the thread sanitizer can't follow forked processes";
  }
};

TEST_P(Ranks, SpeakWithEachOtherAndReportByRank) {
  const auto results = run_ranks(plan_of(3, GetParam()),
                                 [](const RankContext& context) {
                                   return std::to_string(context.rank) + ":" + std::to_string(sum_of_ranks(context));
                                 },
                                 {});
  EXPECT_THAT(results, ElementsAre("0:6.000000", "1:6.000000", "2:6.000000"));
}

TEST_P(Ranks, ALargeResultArrivesWhole) {
  const auto results =
      run_ranks(plan_of(2, GetParam()),
                [](const RankContext& context) { return std::string(3'000'000, context.rank == 0 ? 'a' : 'b'); }, {});
  EXPECT_EQ(results[1], std::string(3'000'000, 'b'));
}

TEST_P(Ranks, TheFirstFailureIsTheOneThatIsTold) {
  const auto body = [](const RankContext& context) {
    if (context.rank == 1) throw UsageError("no such weather");
    sum_of_ranks(context);  // the others wait for it
    return std::string();
  };
  EXPECT_EQ(failure_of<UsageError>(plan_of(3, GetParam()), body), "no such weather");
}

TEST_P(Ranks, OneOutOfMemoryIsLostAndNamed) {
  const auto body = [](const RankContext& context) {
    context.group->set_progress(context.local_rank, 2, 7);
    if (context.rank == 1) throw std::bad_alloc();
    sum_of_ranks(context);
    return std::string();
  };
  EXPECT_EQ(failure_of<RankLost>(plan_of(2, GetParam()), body),
            "rank 1: out of memory; use a smaller --batch or fewer replicas; it was in epoch 2, step 7");
  EXPECT_THAT(
      failure_of<Error>(plan_of(1, GetParam()), [](const RankContext&) -> std::string { throw std::bad_alloc(); }),
      StartsWith("out of memory"));
}

INSTANTIATE_TEST_SUITE_P(As, Ranks, testing::Bool(),
                         [](const auto& info) { return info.param ? "Processes" : "Threads"; });

class RankProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (evener::test::has_thread_sanitizer()) GTEST_SKIP() << "the thread sanitizer can't follow forked processes";
    options_.on_started = [this](const std::vector<pid_t>& pids) { pids_ = pids; };
  }

  LaunchOptions options_;
  std::vector<pid_t> pids_;
};

TEST_F(RankProcesses, AKilledOneIsNamedWithWhereItStood) {
  const auto body = [](const RankContext& context) {
    if (context.rank == 1) {
      context.group->set_progress(1, 3, 17);
      raise(SIGKILL);
    }
    sum_of_ranks(context);
    return std::string();
  };
  const std::string text = failure_of<RankLost>(plan_of(3, true), body, options_);
  EXPECT_THAT(text,
              HasSubstr("rank 1 (process " + std::to_string(pids_[1]) + ", cpu/t1) ended with signal 9 (Killed)"));
  EXPECT_THAT(text, HasSubstr("it was in epoch 3, step 17"));
  for (const pid_t pid : pids_) EXPECT_TRUE(gone(pid));
}

TEST_F(RankProcesses, AFrozenOneIsNamed) {
  const auto body = [](const RankContext& context) {
    if (context.rank == 2) raise(SIGSTOP);
    sum_of_ranks(context);
    return std::string();
  };
  const std::string text = failure_of<RankLost>(plan_of(3, true), body, options_);
  EXPECT_THAT(text,
              HasSubstr("rank 2 (process " + std::to_string(pids_[2]) + ", cpu/t1) has given no sign of life for 6 s"));
  for (const pid_t pid : pids_) EXPECT_TRUE(gone(pid));
}

TEST_F(RankProcesses, AHangingOneIsNamedAndOneThatWaitsForItIsNot) {
  options_.hangs_after = std::chrono::seconds(3);
  const auto body = [](const RankContext& context) {
    if (context.rank == 1) {
      context.group->set_progress(1, 2, 5);
      pause();
    }
    sum_of_ranks(context);
    return std::string();
  };
  const std::string text = failure_of<RankLost>(plan_of(3, true), body, options_);
  EXPECT_THAT(text,
              StartsWith("rank 1 (process " + std::to_string(pids_[1]) + ") hangs: it has used no processor for 3 s"));
  EXPECT_THAT(text, HasSubstr("it was in epoch 2, step 5"));
  for (const pid_t pid : pids_) EXPECT_TRUE(gone(pid));
}

TEST_F(RankProcesses, ALongStepIsNoHang) {
  options_.hangs_after = std::chrono::milliseconds(500);
  const auto body = [](const RankContext& context) {
    double sum = 1;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) sum = std::sqrt(sum + context.rank);
    return std::string(sum > 0 ? "done" : "");
  };
  EXPECT_THAT(run_ranks(plan_of(2, true), body, options_), ElementsAre("done", "done"));
}

TEST_F(RankProcesses, OneThatEndsWithoutAWordIsNamed) {
  const auto body = [](const RankContext& context) {
    if (context.rank == 0) _exit(7);
    sum_of_ranks(context);
    return std::string();
  };
  EXPECT_THAT(failure_of<RankLost>(plan_of(2, true), body, options_), HasSubstr("ended with exit code 7"));
}

TEST_F(RankProcesses, TheirMemoryIsWhatWasLoadedBefore) {
  const std::vector<int> loaded(1000, 42);
  const auto body = [&](const RankContext&) { return std::to_string(loaded[999]); };
  EXPECT_THAT(run_ranks(plan_of(2, true), body, options_), ElementsAre("42", "42"));
}

TEST_F(RankProcesses, TheLargestSizeOfEachIsTold) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::vector<std::pair<pid_t, std::uint64_t>> peaks;
  options_.on_ended = [&](pid_t pid, std::uint64_t peak_bytes) { peaks.emplace_back(pid, peak_bytes); };
  const auto body = [](const RankContext& context) {
    const std::vector<char> memory(context.rank == 1 ? kBytes : 1, 'x');  // gone again when the process ends
    return std::string(1, memory.back());
  };
  run_ranks(plan_of(2, true), body, options_);
  ASSERT_EQ(peaks.size(), 2);
  if (peaks[0].first != pids_[0]) std::swap(peaks[0], peaks[1]);
  EXPECT_EQ(peaks[0].first, pids_[0]);
  EXPECT_EQ(peaks[1].first, pids_[1]);
  EXPECT_GT(peaks[1].second, kBytes);
  EXPECT_GT(peaks[1].second, peaks[0].second + kBytes / 2);
}

TEST_F(RankProcesses, AStopRequestReachesThem) {
  install_stop_handlers();
  const auto body = [](const RankContext&) {
    for (int i = 0; i < 20000 && !stop_requested(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::string(stop_requested() ? "stopped" : "never told");
  };
  options_.on_started = [](const std::vector<pid_t>&) { request_stop(); };
  EXPECT_THAT(run_ranks(plan_of(2, true), body, options_), ElementsAre("stopped", "stopped"));
  clear_stop_request();
}

TEST_F(RankProcesses, ASignalToTheWholeGroupIsOneRequest) {
  const auto body = [](const RankContext&) {
    raise(SIGTERM);  // the group's
    for (int i = 0; i < 20000 && !stop_requested(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    raise(SIGTERM);  // the one that the parent passes on
    return std::string(stop_requested() ? "stopped" : "never told");
  };
  install_stop_handlers();
  EXPECT_THAT(run_ranks(plan_of(2, true), body, options_), ElementsAre("stopped", "stopped"));
}

TEST_F(RankProcesses, OneThatHangsDoesNotKeepTheOthersFailureBack) {
  const auto body = [](const RankContext& context) {
    if (context.rank == 1) std::this_thread::sleep_for(std::chrono::minutes(5));
    context.group->abort("rank 1 did not come");  // as a collective does that nobody else comes to
    throw Error("rank 1 did not come");
    return std::string();
  };
  EXPECT_EQ(failure_of<Error>(plan_of(2, true), body, options_), "rank 1 did not come");
  for (const pid_t pid : pids_) EXPECT_TRUE(gone(pid));
}

TEST_F(RankProcesses, EndWithThoseThatCouldNotBeStarted) {
  const pid_t tester = fork();  // whose limits are its own
  if (tester == 0) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const int next = dup(0);
    files.rlim_cur = static_cast<rlim_t>(next) + 5;  // a pipe for the first, not for the second
    close(next);
    const auto body = [](const RankContext&) {
      std::this_thread::sleep_for(std::chrono::minutes(5));
      return std::string();
    };
    LaunchOptions options;
    setrlimit(RLIMIT_NOFILE, &files);
    const std::string text = failure_of<Error>(plan_of(8, true), body, options);
    const bool none_left = waitpid(-1, nullptr, WNOHANG) < 0;
    _exit(text.starts_with("can't make a pipe") && none_left ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(tester, &status, 0), tester);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(RankProcesses, EndWithWhoStartedThem) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t starter = fork();
  if (starter == 0) {
    LaunchOptions options;
    options.on_started = [&](const std::vector<pid_t>& pids) {
      [[maybe_unused]] const auto written = write(ends[1], pids.data(), pids.size() * sizeof(pid_t));
      raise(SIGKILL);
    };
    run_ranks(
        plan_of(2, true),
        [](const RankContext&) {
          std::this_thread::sleep_for(std::chrono::minutes(1));
          return std::string();
        },
        options);
    _exit(1);
  }
  pid_t pids[2];
  ASSERT_EQ(read(ends[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  waitpid(starter, nullptr, 0);
  for (const pid_t pid : pids) {  // re-parented, and reaped by whoever is init here, or a zombie at most
    for (int i = 0; i < 20000 && !gone(pid); ++i) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string number, name, state;
      stat >> number >> name >> state;
      if (state == "Z") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ASSERT_LT(i, 19999) << "process " << pid << " outlived its run";
    }
  }
}

}  // namespace
}  // namespace evener::parallel
