// Figures that are summed up or laid out for people and files: tensors of a file, a detector's quality, products of
// matrices and the reading of images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>

#include "base/test_folder.h"
#include "job/data/reading_flow.h"
#include "job/detect/record.h"
#include "job/info/info_job.h"
#include "job/matmul/matmul_job.h"

namespace evener::job {
namespace {

using testing::AllOf;
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

task::DetectionQuality quality() {
  task::DetectionQuality all;
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
  const std::string text = quality_text(quality(), {"cat", "dog", "owl"});
  EXPECT_THAT(text,
              HasSubstr("mAP@0.5                   71.0 % (VOC 2010: all points), 72.0 % (VOC 2007: 11 points)\n"));
  EXPECT_THAT(text, HasSubstr("mAP@0.5:0.95              50.0 % (COCO), 73.0 % at 0.5, 51.0 % at 0.75\n"));
  EXPECT_THAT(text, HasSubstr("of small, medium, large   10.0 %, 20.0 %, -"));
  EXPECT_THAT(text, HasSubstr("recall, 1, 10, 100 boxes  30.0 %, 40.0 %, 45.0 %\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("60.0 %@0.5, 62.0 %@0.5:0.95 (1 box)"), HasSubstr("(89 boxes)"), Not(HasSubstr("dog"))));
  const test::TestFolder folder;
  write_metrics(folder / "metrics.csv", quality(), {"cat", "dog, big", "owl"});
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
DeviceProducts products(const std::string& name) {
  DeviceProducts products;
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
  fill_products(record, products("cpu"), false);
  const auto value = [&](const std::string& name) { return record.metrics.at(name).value.value(); };
  EXPECT_DOUBLE_EQ(value("gflops"), 2);
  EXPECT_THAT(record.metrics.at("gflops").samples, testing::ElementsAre(2, 4, 1));
  EXPECT_EQ(record.metrics.at("gflops").over, "blocks of 5 products");
  EXPECT_DOUBLE_EQ(value("peak_share"), 0.25);
  EXPECT_DOUBLE_EQ(value("product_s"), 2);
  EXPECT_DOUBLE_EQ(value("h2d_s"), 0.25);
  EXPECT_DOUBLE_EQ(value("d2h_s"), 0.125);
  EXPECT_DOUBLE_EQ(value("check_difference_of_allowed"), 0.25);
  const std::string text = products_text(products("cpu"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("25.0 % of "), HasSubstr("250 ms, 125 ms"), HasSubstr("differ by 3 at most, 25 %")));
}

TEST(MatmulRecord, SeveralDevicesHaveNamesOfTheirOwn) {
  record::Record record;
  record.kind = "matmul";
  fill_products(record, products("cpu"), true);
  DeviceProducts second = products("cuda:1");
  second.result.products_in_sample = 1;
  second.result.h2d_s.reset();
  second.peak.gflops.reset();
  second.peak.reason = "nobody measured it";
  fill_products(record, second, true);
  EXPECT_EQ(record.metrics.at("gflops_cuda_1").title, "GFLOP/s cuda:1");
  EXPECT_EQ(record.metrics.at("gflops_cuda_1").over, "products");
  EXPECT_EQ(record.metrics.at("gflops_cpu").label, "speed of products on cpu");
  EXPECT_FALSE(record.metrics.at("peak_share_cuda_1").value);
  EXPECT_EQ(record.metrics.at("peak_share_cuda_1").reason, "nobody measured it");
  EXPECT_EQ(record.metrics.at("h2d_s_cuda_1").reason, "the processor computes where the matrices lie");
  EXPECT_THAT(products_text(second),
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

}  // namespace
}  // namespace evener::job
