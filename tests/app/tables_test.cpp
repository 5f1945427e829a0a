// Figures that are summed up or laid out for people and files: tensors of a file, a detector's quality, products of
// matrices and the reading of images, how far work is, and the names of folders that photos are sorted into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <tuple>

#include "app/data/data_job.h"
#include "app/info/info_job.h"
#include "base/names.h"
#include "base/test_folder.h"
#include "data/sort_folder.h"
#include "detect/box_sink.h"
#include "matmul/matmul_job.h"
#include "measure/run/progress.h"
#include "quantize/comparison.h"
#include "train/plan_job.h"

namespace evener::app {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string lines_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TensorsInfo, NumbersAreThoseOfAllTensors) {
  weights::SafetensorsFile file;
  file.tensors = {{"b", HostTensor::of_floats({2, 3}, std::vector<float>(6))},
                  {"z", HostTensor::of_floats({5}, std::vector<float>(5))}};
  file.passed_over = {{.name = "m", .type = "F8_E4M3", .shape = {2, 2, 5}}};
  const Description info = tensors_info("w.safetensors", file);
  EXPECT_THAT(info.text,
              AllOf(HasSubstr("w.safetensors: 3 tensors with 31 numbers"), HasSubstr("no network of the zoo")));
  EXPECT_EQ(info.json["parameters"], 31);
  ASSERT_EQ(info.json["tensors"].size(), 3u);
  EXPECT_EQ(info.json["tensors"][0]["numbers"], 6);
  EXPECT_EQ(info.json["tensors"][1]["numbers"], 5);
  EXPECT_EQ(info.json["tensors"][2]["numbers"], 20);
  EXPECT_LT(info.text.find("\nb "), info.text.find("\nm "));
  EXPECT_LT(info.text.find("\nm "), info.text.find("\nz ")) << "by their names, whatever their types";
  const Description empty = tensors_info("w.safetensors", {});
  EXPECT_EQ(empty.text, "w.safetensors: it holds no tensors\n");
  EXPECT_EQ(empty.json["parameters"], 0);
}

detection::DetectionQuality quality() {
  detection::DetectionQuality all;
  all.images = 40;
  all.true_boxes = 90;
  all.found_boxes = 80;
  all.voc_2010 = 0.71;
  all.voc_2007 = 0.72;
  all.coco.ap = 0.5;
  all.coco.ap_50 = 0.73;
  all.coco.ap_75 = 0.51;
  all.coco.ap_small = 0.1;
  all.coco.ap_medium = 0.2;
  all.coco.ar_1 = 0.3;
  all.coco.ar_10 = 0.4;
  all.coco.ar_100 = 0.45;
  all.classes.resize(3);
  all.classes[0].true_boxes = 1;
  all.classes[0].found_boxes = 4;
  all.classes[0].voc_2010 = 0.6;
  all.classes[0].voc_2007 = 0.61;
  all.classes[0].coco = 0.62;
  all.classes[0].coco_50 = 0.63;
  all.classes[2].true_boxes = 89;
  all.classes[2].voc_2010 = 0.8;
  return all;
}

TEST(DetectionTables, EachFigureStandsInItsPlace) {
  const std::string text = detection::quality_text(quality(), {"cat", "dog", "owl"});
  EXPECT_THAT(text,
              HasSubstr("mAP@0.5                   71.0 % (VOC 2010: all points), 72.0 % (VOC 2007: 11 points)\n"));
  EXPECT_THAT(text, HasSubstr("mAP@0.5:0.95              50.0 % (COCO), 73.0 % at 0.5, 51.0 % at 0.75\n"));
  EXPECT_THAT(text, HasSubstr("of small, medium, large   10.0 %, 20.0 %, -"));
  EXPECT_THAT(text, HasSubstr("recall, 1, 10, 100 boxes  30.0 %, 40.0 %, 45.0 %\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("60.0 %@0.5, 62.0 %@0.5:0.95 (1 box)"), HasSubstr("(89 boxes)"), Not(HasSubstr("dog"))));
  const test::TestFolder folder;
  detection::write_metrics(folder / "metrics.csv", quality(), {"cat", "dog, big", "owl"});
  const std::string csv = lines_in(folder / "metrics.csv");
  for (const char* line : {"\nall,images,40\n",
                           "\nall,true_boxes,90\n",
                           "\nall,found_boxes,80\n",
                           "\nall,map_50,0.71000000\n",
                           "\nall,map_50_voc_2007,0.72000000\n",
                           "\nall,coco_ap,0.50000000\n",
                           "\nall,coco_ap_50,0.73000000\n",
                           "\nall,coco_ap_75,0.51000000\n",
                           "\nall,coco_ap_small,0.10000000\n",
                           "\nall,coco_ap_medium,0.20000000\n",
                           "\nall,coco_ap_large,\n",
                           "\nall,coco_ar_1,0.30000000\n",
                           "\nall,coco_ar_10,0.40000000\n",
                           "\nall,coco_ar_100,0.45000000\n",
                           "\ncat,true_boxes,1\n",
                           "\ncat,found_boxes,4\n",
                           "\ncat,ap_50,0.60000000\n",
                           "\ncat,ap_50_voc_2007,0.61000000\n",
                           "\ncat,coco_ap,0.62000000\n",
                           "\ncat,coco_ap_50,0.63000000\n",
                           "\n\"dog, big\",true_boxes,0\n",
                           "\nowl,ap_50,0.80000000\n"}) {
    EXPECT_THAT(csv, HasSubstr(line));
  }
}

/// Products of 4e9 operations each, as a device computed them.
matmul::DeviceProducts products(const std::string& name) {
  matmul::DeviceProducts products;
  products.name = name;
  products.flops = 4e9;
  products.result.product_s = {2, 1, 4};
  products.result.products_in_sample = 5;
  products.result.h2d_s = 0.25;
  products.result.d2h_s = 0.125;
  products.result.check.difference = 3;
  products.result.check.allowed = 12;
  products.peak.gflops = 8;
  return products;
}

TEST(MatmulRecord, SpeedsAreFlopsOverSeconds) {
  record::Record record;
  record.kind = "matmul";
  matmul::fill_products(record, products("cpu"), false);
  const auto value = [&](const std::string& name) { return record.metrics.at(name).value.value(); };
  EXPECT_DOUBLE_EQ(value("gflops"), 2);
  EXPECT_THAT(record.metrics.at("gflops").samples, testing::ElementsAre(2, 4, 1));
  EXPECT_EQ(record.metrics.at("gflops").over, "blocks of 5 products");
  EXPECT_DOUBLE_EQ(value("peak_share"), 0.25);
  EXPECT_DOUBLE_EQ(value("product_s"), 2);
  EXPECT_DOUBLE_EQ(value("h2d_s"), 0.25);
  EXPECT_DOUBLE_EQ(value("d2h_s"), 0.125);
  EXPECT_DOUBLE_EQ(value("check_difference_of_allowed"), 0.25);
  const std::string text = matmul::products_text(products("cpu"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("25.0 % of "), HasSubstr("250 ms, 125 ms"), HasSubstr("differ by 3 at most, 25 %")));
}

TEST(MatmulRecord, SeveralDevicesHaveNamesOfTheirOwn) {
  record::Record record;
  record.kind = "matmul";
  matmul::fill_products(record, products("cpu"), true);
  matmul::DeviceProducts second = products("cuda:1");
  second.result.products_in_sample = 1;
  second.result.h2d_s.reset();
  second.peak.gflops.reset();
  second.peak.reason = "nobody measured it";
  matmul::fill_products(record, second, true);
  EXPECT_EQ(record.metrics.at("gflops_cuda_1").title, "GFLOP/s cuda:1");
  EXPECT_EQ(record.metrics.at("gflops_cuda_1").over, "products");
  EXPECT_EQ(record.metrics.at("gflops_cpu").label, "speed of products on cpu");
  EXPECT_FALSE(record.metrics.at("peak_share_cuda_1").value);
  EXPECT_EQ(record.metrics.at("peak_share_cuda_1").reason, "nobody measured it");
  EXPECT_EQ(record.metrics.at("h2d_s_cuda_1").reason, "the processor computes where the matrices lie");
  EXPECT_THAT(matmul::products_text(second),
              AllOf(HasSubstr("not known: nobody measured it"), Not(HasSubstr("to the device"))));
}

TEST(ReadingFlow, ImagesAndWaitsAreThoseOfTheWorkersThatDecode) {
  parallel::FlowReport report;
  report.seconds = 4;
  report.steps.resize(2);
  report.steps[0].name = "list";
  report.steps[0].workers.resize(1);
  report.steps[0].workers[0].items = 999;
  report.steps[1].name = "decode";
  report.steps[1].workers.resize(2);
  report.steps[1].workers[0].items = 30;
  report.steps[1].workers[0].busy_s = 3;
  report.steps[1].workers[0].wait_input_s = 0.5;
  report.steps[1].workers[0].wait_room_s = 0.25;
  report.steps[1].workers[1].items = 10;
  report.steps[1].workers[1].busy_s = 1;
  report.steps[1].queue.emplace();
  report.steps[1].queue->mean_depth = 2.5;
  report.steps[1].queue->capacity = 8;
  report.steps[1].queue->max_depth = 7;
  EXPECT_EQ(reading_text(report),
            "40 images in 4.0 s, 10 images/s; 2 workers busy 50 %; 2.5 of 8 images waiting on average");
  const auto json = reading_json(report);
  EXPECT_EQ(json["images_per_s"], 10);
  EXPECT_EQ(json["workers"][0]["images"], 30);
  EXPECT_EQ(json["workers"][0]["images_per_s"], 7.5);
  EXPECT_EQ(json["workers"][0]["wait_s"], 0.75);
  EXPECT_EQ(json["workers"][1]["busy_s"], 1);
  EXPECT_EQ(json["queue"]["max_depth"], 7);
  EXPECT_EQ(reading_text({}), "");
  EXPECT_TRUE(reading_json({}).is_null());
}

TEST(ReadingFlow, DealsEachFileOnceAndTellsHowFarItIs) {
  data::DataOptions options;
  options.threads = 2;
  std::vector<std::size_t> told;
  options.progress = [&](std::size_t done, std::size_t count) {
    EXPECT_EQ(count, 9u);
    told.push_back(done);
  };
  parallel::FlowReport report;
  read_by_flow(options, report);
  std::array<std::atomic<int>, 9> dealt{};
  options.deal(9, [&](std::size_t file) { ++dealt[file]; });
  for (const auto& count : dealt) EXPECT_EQ(count, 1);
  EXPECT_THAT(told, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  ASSERT_EQ(report.steps.size(), 3u);
  EXPECT_EQ(report.steps[1].workers.size(), 2u);
  EXPECT_EQ(report.steps[1].queue->capacity, 8u);
}

// What is told of comparisons: placements for a training, and a network before and after it was quantised.

training::Row placement_row(const std::string& text, training::Basis validated) {
  training::Row row;
  row.text = text;
  row.images_per_s = 100;
  row.train_s = 8;
  row.validate_s = 2;
  row.validate_basis = validated;
  return row;
}

TEST(ComparisonOfPlacements, SaysWhereEpochsAreEstimated) {
  training::Comparison comparison;
  comparison.rows = {placement_row("cpu/t2", training::Basis::kMeasured),
                     placement_row("cpu/t1", training::Basis::kMeasured)};
  comparison.best = 0;
  comparison.reason = "the fastest";
  EXPECT_THAT(comparison_text(comparison), AllOf(HasSubstr("cpu/t2 *"), Not(HasSubstr("cpu/t1 *")), HasSubstr("10.0 s"),
                                                 Not(HasSubstr("estimated"))));
  training::Row refused;
  refused.text = "cuda:0";
  refused.refusal = "there is no GPU";
  comparison.rows.back().validate_basis = training::Basis::kPredicted;
  comparison.rows.push_back(refused);
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("validation (estimated from"), HasSubstr("can't be used:\n  cuda:0: there is no GPU\n")));
  const nlohmann::ordered_json json = training::comparison_json(comparison);
  EXPECT_EQ(json["choice"], "cpu/t2");
  EXPECT_EQ(json["placements"][0]["epoch_s"], 10);
  EXPECT_EQ(json["placements"][1]["validate_basis"], "predicted");
  EXPECT_EQ(json["placements"][2], (nlohmann::ordered_json{{"placement", "cuda:0"}, {"refusal", "there is no GPU"}}));
}

training::Row frugal_row(const std::string& text, double images_per_s, double watts) {
  training::Row row = placement_row(text, training::Basis::kMeasured);
  row.images_per_s = images_per_s;
  row.power = training::Row::Power{.watts = watts, .used_watts = watts, .noise = 0.01};
  row.noise = 0.01;
  return row;
}

TEST(ComparisonOfPlacements, DrawsTimeAgainstEnergyWhereItIsKnown) {
  training::Comparison comparison;
  comparison.rows = {frugal_row("cpu/t4", 1000, 60), frugal_row("4xcpu/t1", 900, 70), frugal_row("cpu/t1", 250, 10)};
  comparison.rows[2].power->used_watts = 5;
  comparison.rows[1].power->of = "cpu/t4";
  comparison.best = 0;
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("60 mJ"), HasSubstr("of used devices"), HasSubstr("20 mJ"), HasSubstr("+-1 %"),
                    HasSubstr("energy of 4xcpu/t1: with the power of cpu/t4"),
                    HasSubstr("in time and energy nothing beats: cpu/t4, cpu/t1; beaten: 4xcpu/t1 by cpu/t4")));
  const std::string plot = training::front_plot(comparison);
  EXPECT_THAT(plot, AllOf(HasSubstr("*a cpu/t4  b 4xcpu/t1  *c cpu/t1"), HasSubstr("4 ms  time/image")));
  EXPECT_LT(plot.find("|"), plot.find('b'));
  const nlohmann::ordered_json json = training::comparison_json(comparison);
  EXPECT_EQ(json["placements"][1]["beaten_by"], "cpu/t4");
  EXPECT_EQ(json["placements"][2]["used_joules_per_image"], 0.02);
  EXPECT_EQ(json["placements"][0]["power"]["class"], "measured");
  comparison.rows[1].power.reset();
  comparison.rows[2].power.reset();
  EXPECT_EQ(training::front_plot(comparison), "");
}

TEST(ComparisonOfPlacements, TellsWhatEpochsCost) {
  training::Comparison comparison;
  comparison.rows = {frugal_row("cpu/t4", 1000, 3600)};
  comparison.goal = {.objective = training::Objective::kCost, .price = {.per_kwh = 100, .per_hour = 360}};
  EXPECT_THAT(comparison_text(comparison), ContainsRegex("cost/epoch(.|\n)* 2\n")) << "10 s: 1 for energy, 1 for time";
}

TEST(ComparisonOfQuantized, CountsAgreementAmongImagesThatBothAnswered) {
  quantization::QuantizeComparison comparison;
  comparison.float_bytes = 4000;
  comparison.file_bytes = 1000;
  comparison.before.images = comparison.after.images = 4;
  comparison.before.classes = {3, 1, -1, 2, 7};  // -1: could not be read
  comparison.after.classes = {3, 2, -1, -1, 7};
  EXPECT_THAT(comparison_text(comparison),
              AllOf(ContainsRegex("same class +66\\.67 %"), ContainsRegex("weights .*0\\.25x")));
  comparison.classes_known = false;
  EXPECT_THAT(comparison_text(comparison), ContainsRegex("same largest output +66\\.67 %"));
  comparison.after.classes = {-1, -1, -1, -1, -1};
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("same largest output"))) << "nothing was answered";
}

TEST(ComparisonOfQuantized, TellsWhatIsLostAndBothSpeeds) {
  quantization::QuantizeComparison comparison;
  comparison.before.images = comparison.after.images = comparison.before.labelled = comparison.after.labelled = 1000;
  comparison.before.correct = 900;
  comparison.after.correct = 880;
  comparison.before.rates = {50};
  comparison.after.rates = {200};
  EXPECT_THAT(comparison_text(comparison),
              ContainsRegex("accuracy +90\\.00 % +88\\.00 % +-2\\.00 points of 1000 images"));
  record::Record record;
  quantization::fill_quantize_metrics(comparison, record);
  EXPECT_EQ(record.metrics.at("network_images_per_s").value, 200);
  EXPECT_EQ(record.metrics.at("float_network_images_per_s").value, 50);
}

TEST(ComparisonOfQuantized, WarnsOfWhatIsWorseByMoreThanChance) {
  const auto labelled = [](std::int64_t before, std::int64_t after, std::int64_t images) {
    quantization::QuantizeComparison c;
    c.before.images = c.after.images = c.before.labelled = c.after.labelled = images;
    c.before.correct = before;
    c.after.correct = after;
    return quantization::quantization_warning(c, "the remedy");
  };
  EXPECT_THAT(labelled(300, 100, 300),
              AllOf(HasSubstr("is 33.33 % of 300 images"), HasSubstr("was 100 % in float"), HasSubstr(": the remedy")));
  EXPECT_THAT(labelled(12, 4, 12), HasSubstr("is 33.33 % of 12 images")) << "few, but enough";
  for (const auto& [before, after, images] :
       {std::tuple(900, 880, 1000), {12, 11, 12}, {9950, 9899, 10000}, {100, 300, 300}}) {
    EXPECT_EQ(labelled(before, after, images), "") << before << " to " << after;
  }
  quantization::QuantizeComparison c;
  c.before.images = c.after.images = 40;
  c.before.ap_50 = 0.8, c.after.ap_50 = 0.76;
  EXPECT_EQ(quantization::quantization_warning(c, ""), "");
  c.after.ap_50 = 0.2;
  EXPECT_THAT(quantization::quantization_warning(c, ""),
              AllOf(HasSubstr("mAP@0.5 is 20 % of 40"), HasSubstr("was 80 %")));
  c.before.ap_50 = c.after.ap_50 = {};
  c.before.classes = {1, 2, 3, 4};
  c.after.classes = {1, 1, 1, 4};
  EXPECT_THAT(quantization::quantization_warning(c, ""), HasSubstr("alike is 50 % of 40"));
  c.classes_known = false;
  EXPECT_EQ(quantization::quantization_warning(c, ""), "") << "the largest output of an embedding says little";
}

TEST(ComparisonOfQuantized, TellsTheLayersWithTheLargestErrorsFirst) {
  quantization::QuantizeComparison comparison;
  for (const double sqnr_db : {30.0, 12.5, 40.0, 21.0, 33.0, 50.0}) {
    quantization::LayerError layer;
    layer.layer = "layer" + std::to_string(static_cast<int>(sqnr_db));
    layer.sqnr_db = sqnr_db;
    layer.quantized = sqnr_db > 20;
    comparison.layers.push_back(layer);
  }
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, ContainsRegex("layer12 +12\\.5 dB  \\(in float\\)\n +layer21 +21\\.0 dB\n"));
  EXPECT_THAT(text, Not(HasSubstr("layer50"))) << "the five worst";
  EXPECT_EQ(quantization::layers_csv({comparison.layers[1]}), "layer,quantized,sqnr_db\nlayer12,0,12.500\n");
}

TEST(ComparisonOfQuantized, TellsTheEnergyOfOneImageAndLayersInInt8) {
  quantization::QuantizeComparison comparison;
  comparison.before.images = comparison.after.images = 4;
  comparison.before.power_w = comparison.after.power_w = 10;
  comparison.before.rates = {5};
  comparison.after.rates = {20};
  comparison.after.executed = {{"Convolution i8", 1},    {"Convolution u8", 2}, {"Convolution f32", 3},
                               {"FullyConnected i8", 1}, {"MatMul f32", 1},     {"Pooling u8", 9}};
  EXPECT_THAT(comparison_text(comparison), AllOf(ContainsRegex("energy of one image +2.*J +0?\\.?5.*J +0\\.25x"),
                                                 ContainsRegex("computed in int8 +4 of 8")));
}

TEST(ProgressTexts, TellSharesAndTimes) {
  EXPECT_EQ(measure::progress_bar(0), "[....................]");
  EXPECT_EQ(measure::progress_bar(0.5), "[##########..........]");
  EXPECT_EQ(measure::progress_bar(0.549), "[##########..........]");
  EXPECT_EQ(measure::progress_bar(1), "[####################]");
  EXPECT_EQ(measure::progress_bar(1.5), "[####################]");
  EXPECT_EQ(measure::progress_bar(-1), "[....................]");
  EXPECT_EQ(measure::time_left_text(0.94), "less than 1 s");
  EXPECT_EQ(measure::time_left_text(0.96), "1 s");
  EXPECT_EQ(measure::time_left_text(59.4), "59 s");
  EXPECT_EQ(measure::time_left_text(59.6), duration_text(59.6));
}

TEST(SortFolder, ClassesOfSimilarNamesHaveFoldersOfTheirOwn) {
  EXPECT_THAT(data::folders_of({"a/b", "a_b", "a\nb", "../up", "plain"}),
              testing::ElementsAre(testing::Pair("../up", "_.._up"), testing::Pair("a\nb", "a_b-3"),
                                   testing::Pair("a/b", "a_b-2"), testing::Pair("a_b", "a_b"),
                                   testing::Pair("plain", "plain")));
  EXPECT_THAT(data::folders_of({"a/b", "a_b-2", "a_b"}),
              testing::ElementsAre(testing::Pair("a/b", "a_b-3"), testing::Pair("a_b", "a_b"),
                                   testing::Pair("a_b-2", "a_b-2")));
  EXPECT_THAT(data::folders_of({"car/van", "car/van", ""}), testing::ElementsAre(testing::Pair("car/van", "car_van")));
  EXPECT_THAT(data::folders_of({}), testing::IsEmpty());
}

}  // namespace
}  // namespace evener::app
