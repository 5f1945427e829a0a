#include "report/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/folder_lock.h"
#include "base/test_folder.h"
#include "record/validity.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using ::testing::HasSubstr;

TEST(LoadRun, ReadsRecordAndSamples) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "night");
  const report::Run run = load_run(folder / "night");
  EXPECT_EQ(run.name, "night");
  EXPECT_EQ(run.record.model.name, "resnet34");
  EXPECT_GT(run.samples.time_s.size(), 100u);
  EXPECT_EQ(run.samples.time_s[1], 0.5);
  EXPECT_TRUE(run.samples.pss_bytes[0].has_value());
  EXPECT_FALSE(run.samples.pss_bytes[1].has_value());
  EXPECT_TRUE(run.warnings.empty());
  EXPECT_EQ(load_run(folder / "night/").name, "night");
}

TEST(LoadRun, ARowCutShortIsSkipped) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "run");
  const std::size_t rows = load_run(folder / "run").samples.time_s.size();
  std::ofstream(folder / "run/samples.csv", std::ios::app) << "999.5,10";
  EXPECT_EQ(load_run(folder / "run").samples.time_s.size(), rows);
}

TEST(LoadRun, BadSamplesAreAWarningBecauseTheRecordIsThere) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "run");
  std::ofstream(folder / "run/samples.csv") << "a,b\n1,2\n";
  const report::Run run = load_run(folder / "run");
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_THAT(run.warnings[0], HasSubstr("no column 'time_s'"));
  std::filesystem::remove(folder / "run/samples.csv");
  EXPECT_THAT(load_run(folder / "run").warnings[0], HasSubstr("no samples.csv"));
}

TEST(LoadRun, AFolderWithoutARecordIsNamed) {
  const test::TestFolder folder;
  try {
    load_run(folder.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder.path().string()));
    EXPECT_THAT(error.what(), HasSubstr("record.json"));
  }
}

TEST(LoadRuns, NamesAreUnique) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "a/run");
  test::write_sample_run(folder / "b/run");
  const auto runs = load_runs({folder / "a/run", folder / "b/run"});
  EXPECT_EQ(runs[0].name, "run");
  EXPECT_EQ(runs[1].name, "run (2)");
}

TEST(LoadRuns, ARunIsTakenOnceHoweverItIsNamed) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "a/run");
  test::write_sample_run(folder / "b/run");
  std::filesystem::create_directory_symlink(folder / "a/run", folder / "link");
  const auto runs = load_runs({folder / "a/run", folder / "b/run", folder / "a/../a/run/", folder / "link"});
  ASSERT_EQ(runs.size(), 2);
  ASSERT_EQ(runs[0].warnings.size(), 1);
  EXPECT_THAT(runs[0].warnings[0], testing::HasSubstr("taken once"));
  EXPECT_TRUE(runs[1].warnings.empty());
}

TEST(LoadRuns, AFolderOfRunsStandsForThemInTheOrderOfTheirStart) {
  const test::TestFolder folder;
  test::write_sample_run(folder / "sweep/b", {.started = "2026-11-21T10:15:00Z"});
  test::write_sample_run(folder / "sweep/c", {.started = "2026-11-21T10:16:00Z"});
  test::write_sample_run(folder / "sweep/a", {.started = "2026-11-21T10:17:00Z"});
  std::filesystem::create_directories(folder / "sweep/not-a-run");
  const auto runs = load_runs({folder / "sweep", folder / "sweep/b"});
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[0].name, "b");
  EXPECT_EQ(runs[1].name, "c");
  EXPECT_EQ(runs[2].name, "a");
}

/// A run that wrote its record while it went on.
void write_running(const std::filesystem::path& dir) {
  test::write_sample_run(dir);
  record::Record record = record::read_record(dir);
  record.status = record::Status::kRunning;
  record.validity = record::judge(record);
  record::write_record(dir, record);
}

TEST(LoadRun, ARunIsKilledWhereNobodyHoldsItsFolderAnyMore) {
  const test::TestFolder folder;
  write_running(folder / "run");
  {
    const FolderLock lock(folder / "run");
    const report::Run run = load_run(folder / "run");
    EXPECT_EQ(run.record.status, record::Status::kRunning);
    EXPECT_THAT(run.record.validity.reasons[0].what, HasSubstr("has not ended"));
  }
  const report::Run run = load_run(folder / "run");
  EXPECT_EQ(run.record.status, record::Status::kKilled);
  EXPECT_THAT(run.record.validity.reasons[0].what, HasSubstr("ended without finishing"));
}

}  // namespace
}  // namespace evener::report
