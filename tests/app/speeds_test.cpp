// What records say of speeds: images/s times the seconds that stand beside them are the images that there were.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/module.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/faces_helpers.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "support/run_helpers.h"
#include "support/train_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::Row;
using test::rows_of;
using test::run_program;
using Words = test::Words;

constexpr double kRounding = 1e-9;  // of numbers in a file, as a share

void expect_product(double per_s, double seconds, double count) {
  EXPECT_NEAR(per_s * seconds, count, kRounding * count);
}

double figure_in(const json& record, const std::string& name) {
  return record["metrics"][name]["value"].get<double>();
}

/// How long so many images took in each block of `rates`, all of one size, added up.
double seconds_of_blocks(const json& rates, double images_of_each) {
  double seconds = 0;
  for (const json& rate : rates) seconds += images_of_each / rate.get<double>();
  return seconds;
}

/// The speed of a run over few images is that of one block, all of them, whose last answer came before the run ended.
void expect_one_block_of(const json& record, double images) {
  ASSERT_EQ(record["images_per_s_details"]["samples"].size(), 1U);
  EXPECT_EQ(record["images_per_s"], record["images_per_s_details"]["samples"][0]);
  EXPECT_LE(images / record["images_per_s"].get<double>(), record["times_s"]["total"]);
}

constexpr double kWatts = 50;  // stated, all the time
const Words kStated = {"--assume-power", "cpu=50W"};

/// The joules of an image are those of the work on so many computed ones, which lasted `seconds`, and no others: the
/// start and what only measures draw as much. Of less than a second nothing is told.
void expect_energy_of_work(const json& record, double images, double seconds) {
  EXPECT_EQ(record["sessions"].back()["images"], images);
  const json& energy = record["energy"];
  ASSERT_TRUE(energy["joules"].is_number()) << energy["reason"];
  if (energy["work_joules"].is_null()) {
    EXPECT_LT(seconds, 1);
    EXPECT_NE(energy["work_reason"].get<std::string>().find("too short"), std::string::npos) << energy;
    return;
  }
  const double joules = energy["work_joules"], work_s = energy["work_seconds"];
  if (energy["class"] == "estimated") {  // else this one's own
    EXPECT_NEAR(joules, kWatts * work_s, 0.05 * joules);
  }
  EXPECT_GE(work_s, seconds - 1e-6);
  EXPECT_LT(joules, energy["joules"].get<double>());
}

class TrainingSpeeds : public test::TrainCommand {
 protected:
  /// The figures of a run that may have had several sessions, each with epochs of so many images.
  void expect_consistent(const fs::path& folder, std::int64_t epochs, double images_of_epoch) const {
    const json record = record_in(folder);
    const double images = static_cast<double>(epochs) * images_of_epoch;
    double seconds = 0, of_sessions = 0, of_replicas = 0;
    ASSERT_EQ(record["epochs"].size(), static_cast<std::size_t>(epochs));
    for (const json& epoch : record["epochs"]) {
      expect_product(epoch["images_per_s"], epoch["seconds"], images_of_epoch);
      seconds += epoch["seconds"].get<double>();
    }
    EXPECT_NEAR(record["times_s"]["train"], seconds, kRounding * seconds);
    for (const json& session : record["sessions"]) of_sessions += session["images"].get<double>();
    EXPECT_EQ(of_sessions, images);
    for (const json& replica : record["placement"]["replicas"]) of_replicas += replica["samples"].get<double>();
    EXPECT_EQ(of_replicas, images);
    const Row told = table_of(folder);
    expect_product(std::stod(told.at("images_per_s_overall")), std::stod(told.at("train_s")), images);
  }

  /// The line of `evener report --csv`.
  Row table_of(const fs::path& folder) const {
    const fs::path path = folder_ / "table.csv";
    const ProgramResult result = test::run_in_process({"report", folder.string(), "--csv", path.string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto rows = rows_of(path);
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? Row() : rows.front();
  }
};

TEST_F(TrainingSpeeds, OfEpochsAndOfAllTimesTheirSecondsAreTheImages) {
  const ProgramResult result = run_program(test::small_run(out()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_consistent(out(), 3, 280);
  const json record = record_in(out());
  // The speed's samples are the steps after the first epoch: of each epoch 17 with 16 images and one with 8.
  const json& rates = record["images_per_s_details"]["samples"];
  ASSERT_EQ(record["images_per_s_details"]["over"], "steps after the first epoch");
  ASSERT_EQ(rates.size(), 36U);
  for (std::size_t epoch : {1U, 2U}) {
    double seconds = 0;
    for (std::size_t step = 0; step < 18; ++step) {
      seconds += (step < 17 ? 16 : 8) / rates[18 * (epoch - 1) + step].get<double>();
    }
    EXPECT_NEAR(seconds, record["epochs"][epoch]["seconds"], kRounding * seconds);
  }
}

TEST_F(TrainingSpeeds, OfResumedRunsAndOfReplicasLikewise) {
  const Words half = test::with_value(test::with_value(test::small_run(out()), "--epochs", "2"), "--on", "2xcpu/t1");
  ASSERT_EQ(run_program(half).exit_code, 0);
  expect_consistent(out(), 2, 280);
  const ProgramResult rest = run_program({"train", "--resume", out().string(), "--epochs", "5"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  ASSERT_EQ(record_in(out())["sessions"].size(), 2U);
  expect_consistent(out(), 5, 280);
}

class InferenceSpeeds : public test::Infer {};

TEST_F(InferenceSpeeds, TimesTheSecondsOfAnsweringAreTheImages) {
  const std::string network = trained();
  const ProgramResult few = infer({network, "random:7", "--on", "cpu/t1", "--out", file("few"), "--quiet"});
  ASSERT_EQ(few.exit_code, 0) << few.err;
  const json of_few = record_in(file("few"));
  expect_product(figure_in(of_few, "images_per_s_overall"), figure_in(of_few, "answering_s"), 7);
  expect_one_block_of(of_few, 7);
  // Twenty blocks of a hundred images.
  ASSERT_EQ(infer({network, "random:2000", "--on", "2xcpu/t1", "--streams", "1", "--batch", "8", "--out", file("many"),
                   "--quiet"})
                .exit_code,
            0);
  const json of_many = record_in(file("many"));
  const json& rates = of_many["images_per_s_details"]["samples"];
  expect_product(figure_in(of_many, "images_per_s_overall"), figure_in(of_many, "answering_s"), 2000);
  ASSERT_EQ(rates.size(), 20U);
  EXPECT_LE(seconds_of_blocks(rates, 100), of_many["times_s"]["total"]);
}

TEST_F(InferenceSpeeds, LeaveOutWhatCouldNotBeRead) {
  const std::string folder = pictures({"a.pgm", "b.pgm", "c.pgm"});
  std::ofstream(folder + "/broken.png") << "no picture";
  const Words words = {trained(), folder, "--on", "cpu/t1", "--out", file("some"), "--seconds", "1.1"};
  ASSERT_EQ(infer(joined(words, kStated)).exit_code, 0);
  const json record = record_in(file("some"));
  EXPECT_EQ(record["data"]["skipped"], 1);
  expect_energy_of_work(record, 3, figure_in(record, "answering_s"));
  expect_product(figure_in(record, "images_per_s_overall"), figure_in(record, "answering_s"), 3);
}

TEST_F(InferenceSpeeds, OfScenariosTimesTheirSecondsAreSamplesAndQueries) {
  const std::string network = trained();
  for (const std::string scenario : {"single-stream", "multi-stream", "server", "offline"}) {
    SCOPED_TRACE(scenario);
    const bool is_offline = scenario == "offline";
    Words words = {network, "random:20", "--on", "cpu/t1", "--min-duration", is_offline ? "1.1" : "0.05", "--quiet"};
    words = joined(words, kStated);
    words = joined(words, {"--scenario", scenario, "--out", file(scenario)});
    if (scenario == "server") words = joined(words, {"--target-rate", "2000"});
    if (scenario == "multi-stream") words = joined(words, {"--samples-per-query", "3"});
    const ProgramResult result = infer(words);
    ASSERT_TRUE(result.exit_code == 0 || result.exit_code == 3) << result.err;
    const json record = record_in(file(scenario));
    const double seconds = record["scenario"]["seconds"], samples = record["scenario"]["samples"];
    const auto rows = rows_of(file(scenario) + "/latencies.csv");
    double of_rows = 0;
    for (const Row& row : rows) of_rows += std::stod(row.at("samples"));
    EXPECT_EQ(of_rows, samples);
    expect_product(figure_in(record, "samples_per_s"), seconds, samples);
    double of_tenths = 0;
    for (const json& rate : record["metrics"]["samples_per_s"]["samples"])
      of_tenths += rate.get<double>() * seconds / 10;
    EXPECT_NEAR(of_tenths, samples, kRounding * samples);
    if (is_offline) {
      expect_energy_of_work(record, samples, seconds);
      EXPECT_NEAR(record["energy"]["work_seconds"], seconds, 1e-6) << "of the reported run alone";
      continue;
    }
    const double queries = record["scenario"]["queries"];
    EXPECT_EQ(static_cast<double>(rows.size()), queries);
    if (scenario != "server") expect_product(figure_in(record, "queries_per_s"), seconds, queries);
    // LoadGen's percentiles of the table: the one that so many of all are faster than.
    std::vector<double> latencies;
    for (const Row& row : rows) latencies.push_back(std::stod(row.at("latency_s")));
    std::ranges::sort(latencies);
    const double p90 = latencies[latencies.size() * 9 / 10], p50 = latencies[latencies.size() / 2];
    EXPECT_NEAR(figure_in(record, "latency_p90_s"), p90, 1e-8 * p90);
    EXPECT_NEAR(figure_in(record, "latency_p50_s"), p50, 1e-8 * p50);
  }
}

TEST_F(InferenceSpeeds, OfDetectionsLikewise) {
  const network::Network network =
      network::build("ssdlite_mobilenet_v2", {.input = network::Shape{3, 64, 64}, .classes = 2});
  const inference::ModelFacts facts{.model = network.model(),
                                    .classes = {"cat", "dog"},
                                    .input = network.input_shape(),
                                    .normalization = data::ChannelStatistics{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
                                    .normalizes_inside = false};
  weights::write_safetensors(file("model.safetensors"), network::initial_state(network, 3),
                             inference::model_metadata(facts));
  const std::string folder = pictures({"a.pgm", "b.pgm", "c.pgm", "d.pgm", "e.pgm"});
  std::ofstream(folder + "/broken.png") << "no picture";
  const Words words = {"detect", file("model.safetensors"), folder, "--on", "cpu/t1", "--out", file("found")};
  const ProgramResult result = run_program(joined(words, kStated), options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = record_in(file("found"));
  EXPECT_EQ(record["sessions"][0]["images"], 5) << "computed, of six";
  expect_product(figure_in(record, "images_per_s_overall"), figure_in(record, "answering_s"), 5);
  expect_one_block_of(record, 5);
}

class FacesSpeeds : public test::Faces {};

TEST_F(FacesSpeeds, TimesTheSecondsOfAllTheirWorkAreThePhotos) {
  for (const char* name : {"a.pgm", "b.pgm", "c.pgm"}) write_photo(name);
  std::ofstream(file("photos") + "/broken.png") << "no picture";
  const ProgramResult result = faces({file("photos"), "--out", file("found")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = record_in(file("found"));
  EXPECT_EQ(record["sessions"][0]["images"], 3) << "computed, of four";
  EXPECT_LE(3 / figure_in(record, "images_per_s_overall"), record["times_s"]["total"]);
  expect_one_block_of(record, 3);
}

TEST(ReadingSpeeds, TimesTheSecondsAreTheImages) {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 12; ++i) {
    test::write_text(folder / "pictures" / (i % 2 == 0 ? "even" : "odd") / (std::to_string(i) + ".pgm"),
                     "P5\n20 30\n255\n" + std::string(600, static_cast<char>(20 * i)));
  }
  const ProgramResult result =
      test::run_in_process({"data", "info", (folder / "pictures").string(), "--threads", "3", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json reading = json::parse(result.out)["reading"];
  double images = 0;
  for (const json& worker : reading["workers"]) {
    expect_product(worker["images_per_s"], reading["seconds"], worker["images"]);
    images += worker["images"].get<double>();
  }
  EXPECT_EQ(images, 12);
  expect_product(reading["images_per_s"], reading["seconds"], images);
}

}  // namespace
}  // namespace evener
