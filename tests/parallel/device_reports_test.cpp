#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/launcher.h"
#include "parallel/replica.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(DeviceReports, AreTheSameEverywhereButForTheNotes) {
  placement::Plan plan;
  plan.processes.emplace_back();
  for (int rank = 0; rank < 3; ++rank) {
    plan.replicas.push_back({rank, {placement::PlanStage{}}, 1.0 / 3});
    plan.processes[0].ranks.push_back(rank);
  }
  run_ranks(plan,
            [](const RankContext& context) {
              engine::DeviceReport own;
              own.notes = {"of " + std::to_string(context.rank)};
              own.skipped_steps = 10 * context.rank;
              if (context.rank == 1) {
                own.peak_memory_bytes = (std::uint64_t{1} << 37) + 1;
                own.step_phases_s = {{"forward", 0.25}, {"h2d", 0.0}};
              }
              const Channels channels = context.channels();
              const auto all = exchange_reports(*channels.control, own);
              EXPECT_EQ(all.size(), 3U);
              EXPECT_FALSE(all.at(0).peak_memory_bytes);
              EXPECT_EQ(all.at(1).peak_memory_bytes, (std::uint64_t{1} << 37) + 1);
              EXPECT_THAT(all.at(1).step_phases_s, ElementsAre(Pair("forward", 0.25), Pair("h2d", 0.0)));
              EXPECT_TRUE(all.at(2).step_phases_s.empty());
              EXPECT_EQ(all.at(2).skipped_steps, 20);
              for (int r = 0; r < 3; ++r)
                EXPECT_EQ(all.at(static_cast<std::size_t>(r)).notes.size(), r == context.rank ? 1U : 0U);
              return std::string();
            },
            {});
}

}  // namespace
}  // namespace evener::parallel
