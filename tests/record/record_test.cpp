#include "record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "record/record_json.h"
#include "record/sweep_file.h"

namespace evener::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Every field set to something that is not its default.
Record full_record() {
  Record record;
  record.status = Status::kInterrupted;
  record.started = "2026-11-21T10:15:00Z";
  record.command = {"evener", "train", "resnet18"};
  record.config = {{"lr", "0.1"}, {"split", "[85,2,13]"}, {"nested", R"({"a":null})"}};
  record.seeds = {{"seed", 18446744073709551615u}};
  record.machine = {"Cpu",    1, 2,    3,       4,           1.5, "1 core fast (2 CPUs)",
                    {"avx2"}, 5, "Os", "Linux", "powersave", 0.5, "KVM"};
  record.versions = {{"evener", "1"}};
  record.model = {"resnet18", 11, 22, 33};
  record.data = {"synth:masks", 100, {"a", "b"}, {1, 2, 3}, 85, 2, 13, 4};
  record.placement = {"2xcpu/t1", {{{{"cpu", 1, {0, 1}, 0.5}}, 0.25}}};
  record.placement.replicas[0].host = "alpha";
  record.placement.divisions = {{7, {24, 8}}};
  record.engine = "torch";
  record.precision = "bf16";
  record.batch = 32;
  record.fallbacks = {"fp16 was computed as bf16"};
  record.notes = {"a note"};
  record.validity = {false, {{"rule", "what", "advice"}}};
  record.times = {6, 1, 2, 3, 4, 5, 4.5, {}};
  record.phases_s = {{"forward", 1.5}};
  record.hidden_s = {{"decode", 0.5}};
  record.images_per_s = {20, Interval{19, 21}, {19, 20, 21}, "epochs after the first", ""};
  record.training.epochs = {{1, 2, 3, 4, 5, 6, 0.7, 8, 0.9, true, true, 0.5, {{"val_map_50", 0.3}}, {{"read", 0.25}}}};
  record.training.accuracy = {0.1, 0.2, 3, 0.4, "best", 0.5, 0.6};
  record.confusion = {"test", {{5, 1}, {0, 7}}};
  record.layers = {{"conv1", "conv2d", {"relu"}, 0.001, 0.002, 1000, 2000, 0.5},
                   {"", "loss", {}, 0.25, {}, {}, {}, {}}};
  record.metrics["p99_latency_s"] = {.name = "p99_latency_s",
                                     .unit = "s",
                                     .title = "p99 s",
                                     .label = "99 % of latencies",
                                     .better = Better::kLower,
                                     .role = MetricRole::kQuality,
                                     .value = 0.25,
                                     .samples = {0.2, 0.25, 0.3},
                                     .interval = Interval{0.2, 0.3},
                                     .over = "queries",
                                     .of_images = 30,
                                     .stands_in_for = "p95_latency_s",
                                     .reason = "none"};
  record.memory = {7, Spread{1, 2, 3}, Spread{4, 5, 6}, 8, {{1, 9}}};
  record.cpu = {1, Spread{1, 2, 3}, {4, 5}, Spread{6, 7, 8}, 9, 10, 11};
  record.gpus = {{1, "H200", 50, 60, 70, {{"forward", 0.002}}}};
  record.energy = {100, 200, 2, "powercap", "", {{"package-0", 100}}};
  record.energy.uncertainty_joules = 0.5;
  record.energy.used_reason = "none was seen";
  record.energy.process_reason = "none is known";
  record.energy.work_joules = 60;
  record.energy.work_seconds = 1.5;
  record.energy.work_reason = "some";
  record.energy.devices = {{.name = "package-0", .sensor = "powercap", .uncertainty_joules = 0.25}};
  record.missing = {{"accuracy.test", "why"}};
  return record;
}

TEST(Record, SurvivesTheWayThroughJson) {
  const auto json = to_json(full_record());
  const Record back = record::from_json(nlohmann::json::parse(json.dump()), "record.json");
  EXPECT_EQ(to_json(back), json);
  // Spot checks: a field that both directions forget would pass the comparison above.
  EXPECT_EQ(back.status, Status::kInterrupted);
  EXPECT_EQ(back.seeds.at("seed"), 18446744073709551615u);
  EXPECT_EQ(back.placement.replicas[0].stages[0].emulated_speed, 0.5);
  EXPECT_EQ(back.placement.replicas[0].host, "alpha");
  EXPECT_EQ(back.placement.divisions[0].samples, (std::vector<std::int64_t>{24, 8}));
  EXPECT_EQ(back.training.epochs[0].phases_s.at("read"), 0.25);
  EXPECT_EQ(back.training.epochs[0].figures.at("val_map_50"), 0.3);
  EXPECT_EQ(back.images_per_s.interval, (Interval{19, 21}));
  EXPECT_EQ(back.memory.ranks[0].peak_rss_bytes, 9u);
  EXPECT_EQ(back.energy.domains[0].name, "package-0");
  EXPECT_EQ(back.energy.uncertainty_joules, 0.5);
  EXPECT_EQ(back.energy.devices[0].uncertainty_joules, 0.25);
  EXPECT_EQ(back.energy.used_reason, "none was seen");
  EXPECT_EQ(back.energy.process_reason, "none is known");
  EXPECT_EQ(back.energy.work_joules, 60);
  EXPECT_EQ(back.energy.work_seconds, 1.5);
  EXPECT_EQ(back.energy.work_reason, "some");
  EXPECT_EQ(back.data.test, 13);
  EXPECT_EQ(back.config.at("split"), "[85,2,13]");
  const Metric& metric = back.metrics.at("p99_latency_s");
  EXPECT_EQ(metric.name, "p99_latency_s");
  EXPECT_EQ(metric.better, Better::kLower);
  EXPECT_EQ(metric.role, MetricRole::kQuality);
  EXPECT_EQ(metric.interval, (Interval{0.2, 0.3}));
  EXPECT_EQ(metric.of_images, 30);
}

TEST(Record, HasTheKeysOfTheDesignInTheirOrder) {
  const auto json = to_json(full_record());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  std::size_t place = 0;
  for (const char* key : {"schema",    "kind",      "command", "config",   "seeds",    "machine",      "versions",
                          "placement", "validity",  "times_s", "phases_s", "hidden_s", "images_per_s", "epochs",
                          "accuracy",  "confusion", "memory",  "cpu",      "gpus",     "energy"}) {
    const auto found = std::find(keys.begin() + static_cast<std::ptrdiff_t>(place), keys.end(), key);
    ASSERT_NE(found, keys.end()) << key << " is missing or out of order";
    place = static_cast<std::size_t>(found - keys.begin());
  }
  EXPECT_EQ(json["schema"], "evener-record-1");
  EXPECT_EQ(json["energy"]["edp"], 200);
  EXPECT_EQ(json["times_s"]["train"], 3);
}

TEST(Record, MissingValuesAreNullWithAReason) {
  Record record;
  record.energy.reason = "no counters";
  record.images_per_s.reason = "too short";
  const auto json = to_json(record);
  EXPECT_TRUE(json["energy"]["joules"].is_null());
  EXPECT_EQ(json["energy"]["reason"], "no counters");
  EXPECT_TRUE(json["images_per_s"].is_null());
  EXPECT_EQ(json["missing"]["images_per_s"], "too short");
  EXPECT_TRUE(json["accuracy"]["test"].is_null());
  EXPECT_TRUE(json["memory"]["peak_rss_bytes"].is_null());
  EXPECT_TRUE(json["cpu"]["percent"].is_null());
  const Record back = record::from_json(json, "x");
  EXPECT_EQ(back.training.accuracy.test, std::nullopt);
  EXPECT_EQ(back.images_per_s.reason, "too short");
}

TEST(Record, ADivergedLossIsNull) {
  Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].train_loss = std::nan("");
  record.training.epochs[0].val_loss = INFINITY;
  const auto json = to_json(record);
  EXPECT_TRUE(json["epochs"][0]["train_loss"].is_null());
  EXPECT_TRUE(json["epochs"][0]["val_loss"].is_null());
}

struct BadJson {
  const char* pointer;
  nlohmann::json value;
  const char* key;  // as the message names it
  const char* what;
};
class BadRecord : public ::testing::TestWithParam<BadJson> {};

TEST_P(BadRecord, IsRefusedNamingFileAndKey) {
  nlohmann::json json = to_json(full_record());
  json[nlohmann::json::json_pointer(GetParam().pointer)] = GetParam().value;
  try {
    record::from_json(json, "dir/record.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("dir/record.json"), HasSubstr(GetParam().key), HasSubstr(GetParam().what)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRecord,
    ::testing::Values(
        BadJson{"/schema", "evener-record-9", "'schema'", "expected \"evener-record-1\""},
        BadJson{"/status", "fine", "'status'", "expected \"done\""},
        BadJson{"/images_per_s", "fast", "'images_per_s'", "expected a number"},
        BadJson{"/images_per_s", -1, "'images_per_s'", "from 0"},
        BadJson{"/accuracy/val", 7, "'accuracy.val'", "from 0 to 1"},
        BadJson{"/confusion/counts/0", nlohmann::json::array({1}), "'confusion.counts'", "as many columns as rows"},
        BadJson{"/confusion/counts/0/1", -1, "'confusion.counts'", "isn't negative"},
        BadJson{"/machine/cores", 1.5, "'machine.cores'", "whole number"},
        BadJson{"/machine/memory_bytes", -5, "'machine.memory_bytes'", "isn't negative"},
        BadJson{"/data/split/train", -5, "'data.split.train'", "isn't negative"},
        BadJson{"/metrics", 3, "'metrics'", "must be an object"},
        BadJson{"/metrics/p99_latency_s/better", "often", "'metrics.p99_latency_s.better'", "\"higher\" or \"lower\""},
        BadJson{"/metrics/p99_latency_s/value", "x", "'metrics.p99_latency_s.value'", "expected a number"},
        BadJson{"/metrics/test_accuracy", {{"value", 1}}, "'metrics.test_accuracy'", "no other figure"},
        BadJson{"/epochs", 3, "'epochs'", "expected a list"},
        BadJson{"/epochs/0", 3, "'epochs[0]'", "must be an object"},
        BadJson{"/epochs/0/seconds", nlohmann::json::array(), "'epochs[0].seconds'", "expected a number"},
        BadJson{"/epochs/0/epoch", 1e300, "'epochs[0].epoch'", "whole number"},
        BadJson{"/config", "x", "'config'", "must be an object"},
        BadJson{"/command", {1, 2}, "'command'", "expected a text"},
        BadJson{"/phases_s/forward", "x", "'phases_s.forward'", "expected a number"},
        BadJson{"/validity/valid", 1, "'validity.valid'", "true or false"},
        BadJson{"/images_per_s_details/samples", {1, nullptr}, "'images_per_s_details.samples'", "without null"},
        BadJson{"/images_per_s_details/interval_95", {1}, "'images_per_s_details.interval_95'", "two numbers"},
        BadJson{"/machine/packages", 5000000000, "'machine.packages'", "smaller number"}));

TEST(Record, OfAnotherTaskHasNoKeysOfTrainings) {
  Record record = full_record();
  record.kind = "infer";
  const auto json = to_json(record);
  EXPECT_FALSE(json.contains("epochs"));
  EXPECT_FALSE(json.contains("accuracy"));
  EXPECT_EQ(json["images_per_s"], 20);
  EXPECT_EQ(to_json(record::from_json(json, "x")), json);
}

TEST(Record, TellsInWhichScenarioItWasMeasured) {
  Record record = full_record();
  EXPECT_FALSE(to_json(record).contains("scenario"));
  record.scenario = {.name = "server",
                     .percentile = 0.99,
                     .latency_limit_s = 0.015,
                     .seconds = 600,
                     .queries = 30'000,
                     .samples = 30'000,
                     .late = 12,
                     .discarded = {},
                     .lanes = 2,
                     .largest_batch = 16,
                     .samples_per_query = {},
                     .parts_s = {{"queue", 0.001}},
                     .rates = {{50, 300, 6.0, 0.012, 0.004, true}, {60, 200, 3.0, {}, {}, false}}};
  const auto json = to_json(record);
  EXPECT_EQ(json["scenario"]["rates"][0]["queries_per_s"], 50);
  EXPECT_TRUE(json["scenario"]["rates"][1]["latency_s"].is_null());
  EXPECT_EQ(json["scenario"]["parts_s"]["queue"], 0.001);
  EXPECT_EQ(to_json(record::from_json(json, "x")), json);
}

TEST(Record, UnknownAndMissingKeysAreFine) {
  const Record record = record::from_json({{"schema", "evener-record-1"}, {"from_the_future", {1, 2}}}, "x");
  EXPECT_EQ(record.status, Status::kDone);
  EXPECT_TRUE(record.training.epochs.empty());
}

TEST(RecordFiles, AreWrittenAndRead) {
  const test::TestFolder folder;
  write_record(folder.path(), full_record());
  EXPECT_EQ(to_json(read_record(folder.path())), to_json(full_record()));
  EXPECT_EQ(read_file(folder / "epochs.csv"),
            "epoch,seconds,images_per_s,lr,train_loss,train_accuracy,val_loss,val_accuracy,validate_seconds,"
            "val_map_50\n"
            "1,2,4,5,6,0.7,8,0.9,3,0.3\n");
}

TEST(RecordFiles, OnlyATrainingHasEpochs) {
  const test::TestFolder folder;
  Record record;
  record.kind = "faces";
  write_record(folder.path(), record);
  EXPECT_TRUE(std::filesystem::exists(folder / "record.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "epochs.csv"));
}

TEST(RecordFiles, EpochsCsvHasEmptyCellsForMissingValues) {
  Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].epoch = 4;
  record.training.epochs[0].lr = 0.125;
  EXPECT_THAT(epochs_csv(record), HasSubstr("\n4,,,0.125,,,,,\n"));
}

TEST(RecordFiles, NamesThatAreNotUtf8DontLoseTheRecord) {
  const test::TestFolder folder;
  Record record;
  record.data.location = "caf\xe9";
  write_record(folder.path(), record);
  EXPECT_EQ(read_record(folder.path()).data.location, "caf\xef\xbf\xbd");
}

TEST(RecordFiles, ForeignFoldersAreNamed) {
  const test::TestFolder folder;
  const auto message = [&](const std::filesystem::path& dir) {
    try {
      read_record(dir);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(folder / "none"), AllOf(HasSubstr((folder / "none").string()), HasSubstr("not a folder")));
  EXPECT_THAT(message(folder.path()), AllOf(HasSubstr(folder.path().string()), HasSubstr("no record.json")));
  test::write_text(folder / "record.json", "{\"schema\": ");
  EXPECT_THAT(message(folder.path()), AllOf(HasSubstr("record.json"), HasSubstr("not JSON")));
  test::write_text(folder / "record.json", "[1, 2]");
  EXPECT_THAT(message(folder.path()), AllOf(HasSubstr("record.json"), HasSubstr("must be an object")));
  test::write_text(folder / "record.json", "{}");
  EXPECT_THAT(message(folder.path()), HasSubstr("'schema'"));
}

// Runs of the first release (tests/golden/first_release): they are read, and written again as they were.

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
