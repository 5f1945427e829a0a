// What is told of comparisons: placements for a training, and a network before and after it was quantised.
#include <gmock/gmock.h>

#include "job/plan/plan_job.h"
#include "job/quantize/comparison.h"

namespace evener::job {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

plan::Row placement_row(const std::string& text, plan::Basis validated) {
  plan::Row row;
  row.text = text;
  row.images_per_s = 100;
  row.train_s = 8;
  row.validate_s = 2;
  row.validate_basis = validated;
  return row;
}

TEST(ComparisonOfPlacements, SaysWhereEpochsAreEstimated) {
  plan::Comparison comparison;
  comparison.rows = {placement_row("cpu/t2", plan::Basis::kMeasured), placement_row("cpu/t1", plan::Basis::kMeasured)};
  comparison.best = 0;
  comparison.reason = "the fastest";
  EXPECT_THAT(comparison_text(comparison), AllOf(HasSubstr("cpu/t2 *"), Not(HasSubstr("cpu/t1 *")), HasSubstr("10.0 s"),
                                                 Not(HasSubstr("estimated"))));
  plan::Row refused;
  refused.text = "cuda:0";
  refused.refusal = "there is no GPU";
  comparison.rows.back().validate_basis = plan::Basis::kPredicted;
  comparison.rows.push_back(refused);
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("validation (estimated from"), HasSubstr("can't be used:\n  cuda:0: there is no GPU\n")));
  const nlohmann::ordered_json json = comparison_json(comparison);
  EXPECT_EQ(json["choice"], "cpu/t2");
  EXPECT_EQ(json["placements"][0]["epoch_s"], 10);
  EXPECT_EQ(json["placements"][1]["validate_basis"], "predicted");
  EXPECT_EQ(json["placements"][2], (nlohmann::ordered_json{{"placement", "cuda:0"}, {"refusal", "there is no GPU"}}));
}

plan::Row frugal_row(const std::string& text, double images_per_s, double watts) {
  plan::Row row = placement_row(text, plan::Basis::kMeasured);
  row.images_per_s = images_per_s;
  row.power = plan::Row::Power{.watts = watts, .used_watts = watts, .noise = 0.01};
  row.noise = 0.01;
  return row;
}

TEST(ComparisonOfPlacements, DrawsTimeAgainstEnergyWhereItIsKnown) {
  plan::Comparison comparison;
  comparison.rows = {frugal_row("cpu/t4", 1000, 60), frugal_row("4xcpu/t1", 900, 70), frugal_row("cpu/t1", 250, 10)};
  comparison.rows[2].power->used_watts = 5;
  comparison.rows[1].power->of = "cpu/t4";
  comparison.best = 0;
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("60 mJ"), HasSubstr("of used devices"), HasSubstr("20 mJ"), HasSubstr("+-1 %"),
                    HasSubstr("energy of 4xcpu/t1: with the power of cpu/t4"),
                    HasSubstr("in time and energy nothing beats: cpu/t4, cpu/t1; beaten: 4xcpu/t1 by cpu/t4")));
  const std::string plot = front_plot(comparison);
  EXPECT_THAT(plot, AllOf(HasSubstr("*a cpu/t4  b 4xcpu/t1  *c cpu/t1"), HasSubstr("4 ms  time/image")));
  EXPECT_LT(plot.find("|"), plot.find('b'));
  const nlohmann::ordered_json json = comparison_json(comparison);
  EXPECT_EQ(json["placements"][1]["beaten_by"], "cpu/t4");
  EXPECT_EQ(json["placements"][2]["used_joules_per_image"], 0.02);
  EXPECT_EQ(json["placements"][0]["power"]["class"], "measured");
  comparison.rows[1].power.reset();
  comparison.rows[2].power.reset();
  EXPECT_EQ(front_plot(comparison), "");
}

TEST(ComparisonOfPlacements, TellsWhatEpochsCost) {
  plan::Comparison comparison;
  comparison.rows = {frugal_row("cpu/t4", 1000, 3600)};
  comparison.goal = {.objective = plan::Objective::kCost, .price = {.per_kwh = 100, .per_hour = 360}};
  EXPECT_THAT(comparison_text(comparison), ContainsRegex("cost/epoch(.|\n)* 2\n")) << "10 s: 1 for energy, 1 for time";
}

TEST(ComparisonOfQuantized, CountsAgreementAmongImagesThatBothAnswered) {
  QuantizeComparison comparison;
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
  QuantizeComparison comparison;
  comparison.before.images = comparison.after.images = comparison.before.labelled = comparison.after.labelled = 1000;
  comparison.before.correct = 900;
  comparison.after.correct = 880;
  comparison.before.rates = {50};
  comparison.after.rates = {200};
  EXPECT_THAT(comparison_text(comparison),
              ContainsRegex("accuracy +90\\.00 % +88\\.00 % +-2\\.00 points of 1000 images"));
  record::Record record;
  fill_quantize_metrics(comparison, record);
  EXPECT_EQ(record.metrics.at("network_images_per_s").value, 200);
  EXPECT_EQ(record.metrics.at("float_network_images_per_s").value, 50);
}

TEST(ComparisonOfQuantized, TellsTheLayersWithTheLargestErrorsFirst) {
  QuantizeComparison comparison;
  for (const double sqnr_db : {30.0, 12.5, 40.0, 21.0, 33.0, 50.0}) {
    task::LayerError layer;
    layer.layer = "layer" + std::to_string(static_cast<int>(sqnr_db));
    layer.sqnr_db = sqnr_db;
    layer.quantized = sqnr_db > 20;
    comparison.layers.push_back(layer);
  }
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, ContainsRegex("layer12 +12\\.5 dB  \\(in float\\)\n +layer21 +21\\.0 dB\n"));
  EXPECT_THAT(text, Not(HasSubstr("layer50"))) << "the five worst";
  EXPECT_EQ(layers_csv({comparison.layers[1]}), "layer,quantized,sqnr_db\nlayer12,0,12.500\n");
}

TEST(ComparisonOfQuantized, TellsTheEnergyOfOneImageAndLayersInInt8) {
  QuantizeComparison comparison;
  comparison.before.images = comparison.after.images = 4;
  comparison.before.power_w = comparison.after.power_w = 10;
  comparison.before.rates = {5};
  comparison.after.rates = {20};
  comparison.after.executed = {{"Convolution i8", 1},    {"Convolution u8", 2}, {"Convolution f32", 3},
                               {"FullyConnected i8", 1}, {"MatMul f32", 1},     {"Pooling u8", 9}};
  EXPECT_THAT(comparison_text(comparison), AllOf(ContainsRegex("energy of one image +2.*J +0?\\.?5.*J +0\\.25x"),
                                                 ContainsRegex("computed in int8 +4 of 8")));
}

}  // namespace
}  // namespace evener::job
