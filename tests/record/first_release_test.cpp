// Runs of the first release (tests/golden/first_release): they are read, and written again as they were.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "record/record.h"
#include "record/record_json.h"
#include "record/sweep_file.h"

namespace evener::record {
namespace {

namespace fs = std::filesystem;

fs::path golden_run(const std::string& name) {
  return test::source_folder() / "tests/golden/first_release" / name;
}

TEST(FirstReleaseRecords, ARecordIsReadAndWrittenAsItWas) {
  int runs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(golden_run(""))) {
    if (entry.path().filename() != "record.json") continue;
    ++runs;
    const Record record = read_record(entry.path().parent_path());
    EXPECT_EQ(nlohmann::json(to_json(record)), nlohmann::json::parse(read_file(entry.path(), 1 << 20))) << entry.path();
  }
  EXPECT_EQ(runs, 6);
}

TEST(FirstReleaseRecords, TheTableOfEpochsStays) {
  for (const char* name : {"digits", "interrupted"}) {
    const fs::path run = golden_run(name);
    EXPECT_EQ(epochs_csv(read_record(run)), read_file(run / "epochs.csv", 1 << 20)) << name;
  }
}

TEST(FirstReleaseRecords, ASweepIsReadAndWrittenByteByByte) {
  const test::TestFolder folder;
  write_sweep(folder.path(), read_sweep(golden_run("sweep")));
  EXPECT_EQ(read_file(folder / kSweepFile, 1 << 20), read_file(golden_run("sweep") / kSweepFile, 1 << 20));
}

TEST(FirstReleaseRecords, AJournalIsReadAndWrittenByteByByte) {
  const SweepJournal journal = read_journal(golden_run("sweep"));
  EXPECT_TRUE(journal.warnings.empty());
  ASSERT_EQ(journal.runs.size(), 4u);
  ASSERT_EQ(journal.blocks.size(), 2u);
  const test::TestFolder folder;
  {
    JournalWriter writer(folder.path());
    for (const SweepBlock& block : journal.blocks) {
      writer.block(block);
      for (const SweepRun& run : journal.runs) {
        if (run.block != block.block) continue;
        writer.begin(run);
        writer.end(run);
      }
    }
  }
  EXPECT_EQ(read_file(folder / kJournalFile, 1 << 20), read_file(golden_run("sweep") / kJournalFile, 1 << 20));
}

}  // namespace
}  // namespace evener::record
