// Teams on a simulated machine: where their threads run, with interleavings that are drawn at random.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>

#include "base/cpu.h"
#include "base/directed_yield.h"
#include "comm/shared_group.h"
#include "comm/simulated_scheduler_helpers.h"

namespace evener::test {
namespace {

/// Threads of a process that meet after every step, as those of a parallel region do.
class Region {
 public:
  explicit Region(int size) : members_(static_cast<std::size_t>(size)), size_(size) {}

  void begin(int number) { of(number).tie.begin(of(number).thread.place(), number); }
  void meet(int number) {
    Member& self = of(number);
    self.thread.settle();
    const std::uint32_t step = ++self.steps;
    announce(word_, sleepers_);
    StepThread* missing = nullptr;
    const auto done = [&] {
      for (Member& member : members_) {
        missing = &member.thread;
        if (member.steps < step) return false;
      }
      return true;
    };
    StepWait(self.thread, size_).until(word_, sleepers_, done, [&] { return missing; });
  }

 private:
  struct Member {
    StepThread thread;
    PlaceTie tie;
    std::atomic<std::uint32_t> steps{0};
  };
  Member& of(int number) { return members_[static_cast<std::size_t>(number)]; }

  std::deque<Member> members_;
  const int size_;
  std::atomic<std::uint32_t> word_{0}, sleepers_{0};
};

/// Ranks that are bound to a CPU each, ranks that may run on all, and threads of a region, which may run on all.
enum class Team { kRanks, kFreeRanks, kRegion };

struct Scene {
  Team team = Team::kRanks;
  int threads = 2;
  SimulatedMachine machine = {};
  int steps = 100;
  std::int64_t longest_ns = 3'000'000;  // of a step
  bool sleeps = false;                  // one of the threads computes as a slower device does, by sleeping
};

struct Outcome {
  int worst_waits = 0;
  double work_share = 0;  // what was computed, of what the CPUs could
  std::int64_t given = 0;
  int keeps = 0;  // after the threads had begun
  bool are_where_they_were = false;
};

Outcome outcome(Scene scene) {
  const bool are_ranks = scene.team != Team::kRegion;
  scene.machine.are_bound = scene.team == Team::kRanks && scene.threads <= scene.machine.cpus;
  SimulatedScheduler machine(scene.machine);
  use_scheduler(&machine);
  assume_contention(0);
  comm::SharedGroupOptions options;
  options.ranks = scene.threads;
  options.cpus = scene.machine.cpus;
  comm::SharedGroup group(options);
  Region region(scene.threads);
  std::vector<int> all(static_cast<std::size_t>(scene.machine.cpus));
  std::iota(all.begin(), all.end(), 0);
  const GivenCpus before = given_cpus();
  int keeps_at_begin = 0;
  std::int64_t work_ns = 0;
  for (int number = 0; number < scene.threads; ++number) {
    machine.add(scene.machine.are_bound ? std::vector<int>{number} : all, [&, number] {
      std::mt19937_64 random(scene.machine.seed * 100 + static_cast<std::uint64_t>(number));
      std::uniform_int_distribution<std::int64_t> length(20'000, scene.longest_ns);
      const auto end = group.join(number, 0, "ranks");
      const auto meet = [&] {
        machine.begin_wait();
        if (are_ranks) return end->barrier();
        region.meet(number);
      };
      if (are_ranks) end->compute_here();
      if (!are_ranks) region.begin(number);
      meet();
      if (number == 0) keeps_at_begin = machine.keeps();
      meet();
      for (int step = 0; step < scene.steps; ++step) {
        const std::int64_t ns = length(random);
        work_ns += ns;
        if (scene.sleeps && number == 0) {
          static const std::atomic<std::uint32_t> nobody{0};
          machine.compute(ns / 2);
          machine.wait(nobody, 0, ns / 2);
        } else {
          machine.compute(ns);
        }
        meet();
      }
    });
  }
  machine.run();
  use_scheduler(nullptr);
  assume_contention(0);
  const GivenCpus after = given_cpus();
  return {.worst_waits = machine.worst_waits(),
          .work_share = static_cast<double>(work_ns) / static_cast<double>(machine.passed_ns()) / scene.threads,
          .given = after.exchanged - before.exchanged + after.lent - before.lent,
          .keeps = machine.keeps() - keeps_at_begin,
          .are_where_they_were = machine.are_where_they_were()};
}

class SimulatedTeam : public testing::TestWithParam<std::tuple<Team, int, int>> {
 protected:
  /// Fewer where there are more threads, whose turns take longer.
  static std::uint64_t seeds() { return std::get<2>(GetParam()) > 2 ? 2 : 4; }
  static Scene scene(std::uint64_t seed) {
    const auto [team, threads, cpus] = GetParam();
    Scene scene{.team = team, .threads = threads};
    scene.machine.cpus = cpus;
    scene.machine.seed = seed;
    scene.longest_ns = seed % 2 == 0 ? 3'000'000 : 200'000;
    scene.steps = seed % 2 == 0 ? 150 : 1000;
    return scene;
  }
};

std::string name_of(const testing::TestParamInfo<std::tuple<Team, int, int>>& info) {
  const Team team = std::get<0>(info.param);
  return std::string(team == Team::kRanks       ? "Ranks"
                     : team == Team::kFreeRanks ? "FreeRanks"
                                                : "Region") +
         std::to_string(std::get<1>(info.param)) + "On" + std::to_string(std::get<2>(info.param));
}

INSTANTIATE_TEST_SUITE_P(, SimulatedTeam,
                         testing::Combine(testing::Values(Team::kRanks, Team::kFreeRanks, Team::kRegion),
                                          testing::Values(2, 3, 4), testing::Values(2, 4)),
                         name_of);

TEST_P(SimulatedTeam, IsLeftAloneOnAQuietMachine) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    Scene quiet = scene(seed);
    quiet.sleeps = seed % 4 == 1;
    const Outcome found = outcome(quiet);
    EXPECT_EQ(found.given, 0) << "seed " << seed;
    EXPECT_EQ(found.keeps, 0) << "seed " << seed;
  }
}

TEST_P(SimulatedTeam, HasNoTwoThreadsOnOneCpuForLong) {
  const auto [team, threads, cpus] = GetParam();
  if (threads > cpus) GTEST_SKIP() << "more threads than CPUs";
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    for (const int programs : {1, 2}) {
      Scene busy = scene(seed);
      busy.machine.busy_programs = programs;
      const Outcome found = outcome(busy);
      EXPECT_LE(found.worst_waits, 2) << "seed " << seed << " beside " << programs;
      EXPECT_TRUE(team == Team::kRanks || found.are_where_they_were) << "seed " << seed << " beside " << programs;
    }
  }
}

// A program that computes leaves a team as much as it leaves: three quarters of two CPUs, if they are used together.
TEST_P(SimulatedTeam, ComputesMoreBesideAProgramThanTheKernelAloneLetsIt) {
  const auto [team, threads, cpus] = GetParam();
  if (threads != cpus) GTEST_SKIP() << "the kernel finds another CPU";
  if (cpu_topology().quota_cpus > 0) GTEST_SKIP() << "nothing is given away under a CPU quota";
  if (team == Team::kFreeRanks) GTEST_SKIP() << "ranks sleep early, and the kernel moves those that aren't bound";
  double with = 0, without = 0;
  std::int64_t given = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    Scene busy = scene(seed);
    busy.machine.busy_programs = 1;
    const Outcome found = outcome(busy);
    busy.machine.tells_delays = false;
    const Outcome left_alone = outcome(busy);
    EXPECT_EQ(left_alone.given, 0);
    with += found.work_share;
    without += left_alone.work_share;
    given += found.given;
  }
  EXPECT_GT(given, 0);
  EXPECT_GT(with, 1.1 * without);
}

}  // namespace
}  // namespace evener::test
