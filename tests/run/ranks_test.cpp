#include "run/metered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/test_folder.h"
#include "run/placement_record.h"

namespace evener::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Shown : RunObserver {
  void on_note(const std::string& text) override { notes.push_back(text); }
  void on_failure() override {}

  std::vector<std::string> notes;
};

/// Counts how often it begins again.
struct CountingJob {
  const placement::Plan& plan() const { return on; }
  void leave_out(int rank) { on = placement::without_replica(std::move(on), rank); }
  std::size_t shared_bytes() const { return 0; }
  void rewind() { ++rewinds; }

  placement::Plan on;
  int rewinds = 0;
};

/// Two replicas as processes of one thread each.
placement::Plan two_processes() {
  placement::Plan plan;
  plan.text = "2xcpu/t1";
  for (int rank = 0; rank < 2; ++rank) {
    placement::PlanReplica replica;
    replica.rank = rank;
    replica.stages.emplace_back();
    replica.share = 0.5;
    plan.replicas.push_back(replica);
    plan.processes.push_back({{rank}});
  }
  return plan;
}

class RunOnAllRanks : public ::testing::Test {
 protected:
  /// Rank 1 is killed in the first `lost` of its lives.
  parallel::RankBody body(int lost) {
    return [this, lost](const parallel::RankContext& seat) {
      if (seat.rank == 1 && job_.rewinds < lost) kill(getpid(), SIGKILL);
      return std::to_string(seat.rank) + " of " + std::to_string(seat.ranks);
    };
  }

  test::TestFolder folder_;
  Shown shown_;
  MeteredRun run_{{.kind = "count", .version = "1", .out = folder_ / "out"}, shown_};
  CountingJob job_{two_processes()};
};

TEST_F(RunOnAllRanks, GivesTheResultsOfAll) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {}, body(0)), ElementsAre("0 of 2", "1 of 2"));
  EXPECT_EQ(job_.rewinds, 0);
}

TEST_F(RunOnAllRanks, StartsAgainAsOftenAsItMay) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {.restarts = 2}, body(2)), ElementsAre("0 of 2", "1 of 2"));
  EXPECT_EQ(job_.rewinds, 2);
  EXPECT_THAT(run_.record().notes, ElementsAre(HasSubstr("starting again from the beginning"),
                                               HasSubstr("starting again from the beginning")));
  EXPECT_EQ(shown_.notes, run_.record().notes);
}

TEST_F(RunOnAllRanks, SaysWhatToDoWhenItMayNot) {
  try {
    run_on_all_ranks(run_, job_, {}, body(1));
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--restarts 1 starts it again by itself"));
  }
}

TEST_F(RunOnAllRanks, AnElasticJobGoesOnWithoutTheLostRank) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {.elastic = true}, body(1)), ElementsAre("0 of 1"));
  EXPECT_EQ(job_.on.replicas.size(), 1u);
  EXPECT_EQ(run_.record().placement.replicas.size(), 1u);
  EXPECT_THAT(run_.record().notes, ElementsAre(HasSubstr("without it")));
}

}  // namespace
}  // namespace evener::run
