// A record says of its run what the files beside it say: sums, counts and units are computed again here from them. And
// a run leaves nothing behind in its process: a second one gives the same, and a thousand images take no more than ten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "support/faces_helpers.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

double number(const Row& row, const std::string& column) {
  return std::stod(row.at(column));
}

double sum_of(const std::vector<Row>& rows, const std::string& column) {
  double sum = 0;
  for (const Row& row : rows) sum += number(row, column);
  return sum;
}

double sum_of(const json& list, const std::string& key) {
  double sum = 0;
  for (const json& one : list) sum += one.at(key).get<double>();
  return sum;
}

/// Rounded sums in another order.
void expect_sum(double told, double again) {
  EXPECT_NEAR(told, again, 1e-9 * std::abs(again));
}

std::int64_t all_of(const json& counts) {
  std::int64_t sum = 0;
  for (const json& row : counts) {
    for (const json& count : row) sum += count.get<std::int64_t>();
  }
  return sum;
}

std::int64_t diagonal_of(const json& counts) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) sum += counts[i][i].get<std::int64_t>();
  return sum;
}

class RecordOfTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }
  /// 300 images: 180 to train on, 50 to validate, 70 to test.
  void train(const std::string& name, const Words& more) const {
    const ProgramResult result = run_in_process(
        joined({"train", "mlp:784-16-10", "--data", "synth:digits:300", "--split", "60/15/25", "--engine", "native",
                "--batch", "16", "--lr", "0.1", "--out", (folder_ / name).string(), "--quiet"},
               more));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  TemporaryFolder folder_;
};

TEST_F(RecordOfTraining, OfAResumedOneIsTheSumOfItsEpochsAndSessions) {
  train("run", {"--on", "cpu/t1", "--epochs", "3"});
  const double first_s = record_in(folder_ / "run")["times_s"]["total"];
  const ProgramResult resumed =
      run_in_process({"train", "--resume", (folder_ / "run").string(), "--epochs", "5", "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const json record = record_in(folder_ / "run");
  const std::vector<Row> epochs = rows_of(folder_ / "run/epochs.csv");
  ASSERT_EQ(epochs.size(), 5U);
  ASSERT_EQ(record["epochs"].size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const json& told = record["epochs"][i];
    EXPECT_EQ(number(epochs[i], "epoch"), static_cast<double>(i + 1));
    for (const char* key : {"epoch", "seconds", "images_per_s", "lr", "train_loss", "train_accuracy", "val_loss",
                            "val_accuracy", "validate_seconds"}) {
      EXPECT_EQ(told[key].get<double>(), number(epochs[i], key)) << key << " of epoch " << i + 1;
    }
    expect_sum(told["images_per_s"], 180 / told["seconds"].get<double>());
    EXPECT_LE(told["from_s"].get<double>() + told["seconds"].get<double>(), told["to_s"].get<double>() + 1e-9);
  }
  const json& times = record["times_s"];
  expect_sum(times["train"], sum_of(epochs, "seconds"));
  expect_sum(times["validate"], sum_of(epochs, "validate_seconds"));
  ASSERT_EQ(record["sessions"].size(), 2U);
  expect_sum(times["total"], sum_of(record["sessions"], "seconds"));
  EXPECT_EQ(record["sessions"][0]["seconds"], first_s);
  EXPECT_EQ(record["sessions"][0]["images"], 3 * 180);
  EXPECT_EQ(record["sessions"][1]["images"], 2 * 180);
  EXPECT_EQ(sum_of(record["sessions"], "epochs"), 5);
  EXPECT_EQ(sum_of(record["placement"]["replicas"], "samples"), 5 * 180);
  EXPECT_EQ(record["config"]["epochs"], 5);
}

TEST_F(RecordOfTraining, ItsAccuraciesAreThoseOfItsEpochsAndItsConfusions) {
  train("run", {"--on", "cpu/t1", "--epochs", "4"});
  const json record = record_in(folder_ / "run");
  const json &accuracy = record["accuracy"], &split = record["data"]["split"];
  EXPECT_EQ(split, (json{{"train", 180}, {"val", 50}, {"test", 70}}));
  EXPECT_EQ(all_of(record["confusion"]["counts"]), 70);
  EXPECT_EQ(accuracy["test"].get<double>(), static_cast<double>(diagonal_of(record["confusion"]["counts"])) / 70);
  const std::vector<Row> epochs = rows_of(folder_ / "run/epochs.csv");
  const Row& best = *std::ranges::max_element(epochs, {}, [](const Row& row) { return number(row, "val_accuracy"); });
  EXPECT_EQ(accuracy["val"].get<double>(), number(best, "val_accuracy"));
  EXPECT_EQ(accuracy["val_epoch"].get<double>(), number(best, "epoch"));
  EXPECT_EQ(accuracy["train"].get<double>(), number(epochs.back(), "train_accuracy"));
  // The files say the same: these weights have that accuracy on that part.
  const double val = accuracy["val"].get<double>() * 50;
  EXPECT_NEAR(val, std::round(val), 1e-9);
}

TEST_F(RecordOfTraining, OfTwoReplicasIsTheSumOfTheirSharesAndTheirRates) {
  train("run", {"--on", "2xcpu/t1", "--oversubscribe", "--replicas", "threads", "--shares", "3:1", "--epochs", "2"});
  const json replicas = record_in(folder_ / "run")["placement"]["replicas"];
  ASSERT_EQ(replicas.size(), 2U);
  EXPECT_EQ(replicas[0]["share"], 0.75);
  EXPECT_EQ(replicas[1]["share"], 0.25);
  // 11 batches of 16 images and one of 4, twice.
  EXPECT_EQ(replicas[0]["samples"], 2 * (11 * 12 + 3));
  EXPECT_EQ(replicas[1]["samples"], 2 * (11 * 4 + 1));
}

TEST_F(RecordOfTraining, ASecondOneInTheProcessLearnsTheSameAndAnotherSeedOther) {
  const Words words = {"--on", "cpu/t1", "--epochs", "2", "--seed", "5", "--momentum", "0.9"};
  train("first", words);
  train("second", words);
  train("other", {"--on", "cpu/t1", "--epochs", "2", "--seed", "6", "--momentum", "0.9"});
  const TensorMap first = last_weights(folder_ / "first");
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(last_weights(folder_ / "second"), first);
  EXPECT_NE(last_weights(folder_ / "other"), first);
  const auto losses = [&](const std::string& name) {
    std::vector<std::string> all;
    for (const Row& row : rows_of(folder_ / name / "epochs.csv")) {
      all.push_back(row.at("train_loss") + " " + row.at("val_loss") + " " + row.at("val_accuracy"));
    }
    return all;
  };
  EXPECT_EQ(losses("second"), losses("first"));
  EXPECT_EQ(record_in(folder_ / "second")["sessions"].size(), 1U);
  EXPECT_EQ(record_in(folder_ / "second")["accuracy"], record_in(folder_ / "first")["accuracy"]);
  EXPECT_EQ(record_in(folder_ / "second")["phases_s"].size(), record_in(folder_ / "first")["phases_s"].size());
}

class RecordOfInference : public Infer {
 protected:
  json answered(const std::string& images, const std::string& name, const Words& more = {}) const {
    const std::string model = fs::exists(file("run")) ? file("run") : trained();
    const ProgramResult result = refused(joined({model, images, "--on", "cpu/t1", "--engine", "torch", "--quiet",
                                                 "--seconds", "0", "--part", "all", "--out", file(name)},
                                                more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return record_in(file(name));
  }
};

TEST_F(RecordOfInference, ItsAccuracyIsThatOfItsPredictions) {
  const json record = answered("synth:digits:70", "answers", {"--topk", "10"});
  std::map<std::string, std::size_t> of_file;
  std::int64_t first = 0, among_five = 0, told = 0;
  const auto class_of = [](const std::string& file) { return std::stoi(file.substr(file.find('#') + 1)) % 10; };
  for (const Row& row : rows_of(file("answers/predictions.csv"))) {
    ++of_file[row.at("file")];
    ++told;
    if (std::stoi(row.at("class_index")) != class_of(row.at("file"))) continue;
    first += row.at("rank") == "1" ? 1 : 0;
    among_five += std::stoi(row.at("rank")) <= 5 ? 1 : 0;
  }
  EXPECT_EQ(of_file.size(), 70U);
  EXPECT_EQ(told, 700);
  const json& metrics = record["metrics"];
  EXPECT_LT(first, 70);
  EXPECT_LT(first, among_five);
  EXPECT_EQ(metrics["accuracy"]["value"].get<double>(), static_cast<double>(first) / 70);
  EXPECT_EQ(metrics["top5_accuracy"]["value"].get<double>(), static_cast<double>(among_five) / 70);
  EXPECT_EQ(metrics["accuracy"]["of_images"], 70);
  EXPECT_EQ(all_of(record["confusion"]["counts"]), 70);
  EXPECT_EQ(diagonal_of(record["confusion"]["counts"]), first);
  const std::vector<Row> confusions = rows_of(file("answers/confusion.csv"));
  EXPECT_EQ(sum_of(confusions, "images"), 70);
  EXPECT_EQ(static_cast<std::int64_t>(rows_of(file("answers/mistakes.csv")).size()), 70 - first);
  EXPECT_EQ(record["data"]["images"], 70);
}

std::size_t descriptors() {
  return static_cast<std::size_t>(file_count("/proc/self/fd"));
}

std::size_t threads() {
  return static_cast<std::size_t>(file_count("/proc/self/task"));
}

TEST_F(RecordOfInference, AThousandImagesTakeNoMoreFilesAndThreadsThanTen) {
  answered("synth:digits:10", "before");
  const std::size_t files_before = descriptors(), threads_before = threads();
  const json record = answered("synth:digits:1000", "answers");
  EXPECT_EQ(descriptors(), files_before);
  EXPECT_EQ(threads(), threads_before);
  EXPECT_EQ(file_count(file("answers")), file_count(file("before")));
  EXPECT_EQ(record["data"]["images"], 1000);
  answered("synth:digits:1000", "again");
  EXPECT_EQ(read_file(file("again/predictions.csv")), read_file(file("answers/predictions.csv")));
  EXPECT_EQ(record_in(file("again"))["confusion"], record["confusion"]);
}

// Folders that the first release left (tests/golden/first_release) are reported, compared, run and resumed.

std::string first_release(const std::string& name) {
  return (source_folder() / "tests/golden/first_release" / name).string();
}

TEST(FirstRelease, ItsRunIsReported) {
  const ProgramResult result = run_in_process({"report", first_release("digits"), "--no-html"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mlp:784-4-10"), HasSubstr("556,000"), HasSubstr("54.4 %")));
}

TEST(FirstRelease, ItsRunsAreCompared) {
  const ProgramResult result = run_in_process({"compare", first_release("digits"), first_release("interrupted")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("trained 3 epochs of synth:digits:1200"), HasSubstr("was interrupted")));
}

TEST(FirstRelease, ItsSweepIsReported) {
  const ProgramResult result = run_in_process({"report", first_release("sweep"), "--no-html", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["schema"], "evener-sweep-report-1");
  EXPECT_EQ(report["cells"].size(), 2U);
}

TEST(FirstRelease, ItsWeightsPredict) {
  if (!module_is_built("openvino") && !module_is_built("torch")) GTEST_SKIP() << "no engine for inference is built";
  const ProgramResult result = run_in_process(
      {"infer", first_release("digits"), "synth:digits:200", "--split", "0/0/100", "--on", "cpu/t1", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json accuracy = json::parse(result.out)["metrics"]["accuracy"];
  EXPECT_EQ(accuracy["of_images"], 200);
  EXPECT_NEAR(accuracy["value"], 0.63, 0.011);  // two images more or less, for rounding
}

TEST(FirstRelease, ItsTrainingGoesOnWithinTheThirdEpoch) {
  if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  const TestFolder folder;
  const fs::path run = folder / "run";
  fs::copy(first_release("interrupted"), run, fs::copy_options::recursive);
  const ProgramResult resumed = run_in_process({"train", "--resume", run.string(), "--epochs", "3"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const json record = record_in(run);
  ASSERT_EQ(record["epochs"].size(), 3U);
  EXPECT_EQ(record["epochs"][1]["val_accuracy"], 0.1975);
  EXPECT_EQ(record["epochs"][1]["images_per_s"], 19132.85279927829);
  EXPECT_EQ(record["sessions"][1]["epochs"], 1);
  EXPECT_EQ(record["sessions"][1]["images"], 34000 - 2 * 338);
}

}  // namespace
}  // namespace evener::test
