// A measured run holds the limits it was given, tells them in its record, and puts them back however it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "measure/limits_helpers.h"
#include "run/metered_run.h"

namespace evener::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Noting : RunObserver {
  void on_note(const std::string& text) override { notes.push_back(text); }
  void on_failure() override {}

  std::vector<std::string> notes;
};

class LimitsOfRuns : public ::testing::Test {
 protected:
  LimitsOfRuns() { setenv("EVENER_SYS_ROOT", machine_.path().c_str(), 1); }
  ~LimitsOfRuns() override { unsetenv("EVENER_SYS_ROOT"); }

  RunOptions options(double mhz = 2000) const {
    return {.kind = "count", .version = "1.2", .out = out_, .overwrite = true, .limits = {.frequency_mhz = mhz}};
  }

  test::LimitsTree machine_;
  test::TestFolder folder_;
  const std::filesystem::path out_ = folder_ / "out";
  Noting noting_;
};

TEST_F(LimitsOfRuns, AreHeldDuringItsWorkAndToldInTheRecord) {
  {
    MeteredRun run(options(), noting_);
    EXPECT_EQ(machine_.frequency(), "2000000\n") << "before anything is measured";
    run.measure([&] {
      run.begin();
      EXPECT_EQ(machine_.frequency(), "2000000\n");
      run.save_now(run.record());
      const record::Record so_far = record::read_record(out_);
      EXPECT_THAT(so_far.limits, SizeIs(1)) << "for a run that is killed";
      EXPECT_THAT(so_far.notes, ElementsAre(HasSubstr("at most 2000 MHz")));
      record::Record record = run.record();
      record.notes = {"a task's own"};
      return record;
    });
  }
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  const record::Record record = record::read_record(out_);
  ASSERT_THAT(record.limits, SizeIs(1));
  EXPECT_EQ(record.limits[0].what, "CPU frequency");
  EXPECT_THAT(record.limits[0].devices, ElementsAre("policy0"));
  EXPECT_EQ(record.limits[0].unit, "MHz");
  EXPECT_EQ(record.limits[0].asked, 2000);
  EXPECT_EQ(record.limits[0].held, 2000);
  EXPECT_EQ(record.limits[0].former, 3400);
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("at most 2000 MHz"), "a task's own"));
  for (const record::ValidityReason& reason : record.validity.reasons) EXPECT_NE(reason.rule, "limit");
}

TEST_F(LimitsOfRuns, AreToldOfARunWithoutAFolderToo) {
  RunOptions without = options();
  without.out.clear();
  MeteredRun run(without, noting_);
  const record::Record record = run.measure([&] {
    run.begin();
    test::write_text(machine_.frequency_file(), "1200000\n");
    return run.record();
  });
  EXPECT_THAT(record.limits, SizeIs(1));
  EXPECT_THAT(record.validity.reasons, Contains(testing::Field(&record::ValidityReason::rule, "limit")));
}

TEST_F(LimitsOfRuns, WithoutLimitsTheRecordHasNone) {
  RunOptions without = options();
  without.limits = {};
  MeteredRun run(without, noting_);
  run.measure([&] {
    run.begin();
    return run.record();
  });
  EXPECT_THAT(record::read_record(out_).limits, IsEmpty());
}

TEST_F(LimitsOfRuns, ThatOthersChangeMakeItInvalid) {
  MeteredRun run(options(), noting_);
  run.measure([&] {
    run.begin();
    test::write_text(machine_.frequency_file(), "1200000\n");
    return run.record();
  });
  const record::Validity validity = record::read_record(out_).validity;
  EXPECT_EQ(validity.valid, false);
  EXPECT_THAT(validity.reasons, Contains(testing::Field(&record::ValidityReason::rule, "limit")));
}

TEST_F(LimitsOfRuns, ArePutBackAfterAnErrorAndAfterAStop) {
  for (const bool stopped : {false, true}) {
    {
      MeteredRun run(options(), noting_);
      const auto fails = [&]() -> record::Record {
        run.begin();
        if (stopped) throw Interrupted("stopped");
        throw Error("no more");
      };
      EXPECT_THROW(run.measure(fails), std::exception);
    }
    EXPECT_EQ(machine_.frequency(), "3400000\n");
    EXPECT_FALSE(std::filesystem::exists(machine_.state_file()));
  }
  EXPECT_THAT(record::read_record(out_).limits, SizeIs(1)) << "the record of what was stopped";
}

TEST_F(LimitsOfRuns, RefusedOnesLeaveNothingBehind) {
  EXPECT_THROW(MeteredRun(options(5000), noting_), UsageError);
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_EQ(machine_.frequency(), "3400000\n");
}

TEST_F(LimitsOfRuns, LimitsThatAKilledRunHasLeftArePutBackAndTold) {
  test::write_text(machine_.frequency_file(), "1000000\n");
  measure::LimitState state = measure::own_limit_state({{"cpufreq/policy0", 3'400'000}});
  state.began_ticks -= 1;  // of an earlier process with this number
  measure::LimitStateFile(machine_.places().state).write(state);
  RunOptions without = options();
  without.limits = {};
  MeteredRun run(without, noting_);
  EXPECT_EQ(machine_.frequency(), "3400000\n");
  const auto is_told = Contains(HasSubstr("CPU frequency to 3400 MHz (policy0)"));
  EXPECT_THAT(noting_.notes, is_told);
  EXPECT_THAT(run.measure([&] {
                   run.begin();
                   return run.record();
                 })
                  .notes,
              is_told);
}

}  // namespace
}  // namespace evener::run
