// evener sweep --steady, from the command to the records of its runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"
#include "record/record.h"
#include "record/sweep_file.h"

namespace evener::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

TEST(SweepSteady, RunsHaveTheLengthThatPilotRunsFoundAndTellIt) {
  const TemporaryFolder folder;
  const auto out = folder / "sweep";
  const ProgramResult result =
      run_program({"sweep", "--steady", "90%", "--repeats", "1", "--no-html", "--out", out.string(), "matmul", "128"});
  ASSERT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("pilot runs of the cell: seconds = "));
  EXPECT_TRUE(std::filesystem::is_directory(out / record::kPilotFolder));
  const record::SweepRecord sweep = record::read_sweep(out);
  EXPECT_EQ(sweep.steady_deviation, 0.9);
  EXPECT_THAT(sweep.steady, AllOf(StartsWith("seconds = "), HasSubstr("--steady 90%")));
  ASSERT_EQ(sweep.cells.size(), 1U);
  EXPECT_THAT(sweep.cells[0].words, Contains(StartsWith("--seconds="))) << "which nobody gave";
  const record::SweepJournal journal = record::read_journal(out);
  ASSERT_EQ(journal.runs.size(), 1U) << "pilot runs are none of the sweep";
  EXPECT_THAT(record::read_record(out / journal.runs[0].folder).notes, Contains(sweep.steady));
}

}  // namespace
}  // namespace evener::test
