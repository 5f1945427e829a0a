#include "record/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "record/record.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> names_of(const Record& record) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics_of(record)) names.push_back(metric.name);
  return names;
}

Metric latency(double value, std::vector<double> samples = {}) {
  return {.name = "latency_s",
          .unit = "s",
          .title = "latency",
          .label = "latency",
          .better = Better::kLower,
          .role = MetricRole::kSpeed,
          .value = value,
          .samples = std::move(samples)};
}

TEST(Metrics, OfATrainingAreViewsOfItsKeys) {
  Record record;
  record.images_per_s = throughput_of({10, 11, 12}, "steps after the first epoch");
  record.training.accuracy.test = 0.9;
  record.data.test = 50;
  record.missing["accuracy.val"] = "no validation images";
  const auto metrics = metrics_of(record);
  EXPECT_EQ(main_speed(metrics)->name, "images_per_s");
  EXPECT_EQ(main_speed(metrics)->value, 11);
  EXPECT_EQ(find_metric(metrics, "test_accuracy")->of_images, 50);
  EXPECT_EQ(find_metric(metrics, "best_val_accuracy")->value, std::nullopt);
  EXPECT_EQ(find_metric(metrics, "best_val_accuracy")->reason, "no validation images");
  EXPECT_EQ(find_metric(metrics, "energy_joules")->better, Better::kLower);
}

TEST(Metrics, TheFirstEpochIsNoTypicalOne) {
  Record record;
  const auto seconds_of = [&](const std::vector<double>& epochs) {
    record.training.epochs.assign(epochs.size(), {});
    for (std::size_t i = 0; i < epochs.size(); ++i) record.training.epochs[i].seconds = epochs[i];
    return find_metric(metrics_of(record), "seconds_per_epoch")->value;
  };
  EXPECT_EQ(seconds_of({}), std::nullopt);
  EXPECT_EQ(seconds_of({9}), 9) << "the only one there is";
  EXPECT_EQ(seconds_of({9, 2}), 2);
  EXPECT_EQ(seconds_of({9, 2, 4, 3}), 3);
}

TEST(Metrics, HaveUniqueNames) {
  Record record;
  const auto names = names_of(record);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const char* taken : {"images_per_s", "test_accuracy", "total_s", ""}) {
    Metric metric = latency(1);
    metric.name = taken;
    EXPECT_THROW(add_metric(record, metric), Error) << taken;
  }
  add_metric(record, latency(1));
  EXPECT_THROW(add_metric(record, latency(2)), Error);
}

TEST(Metrics, OfAnUnknownTaskAreThoseThatItGave) {
  Record record;
  record.kind = "made-up";
  EXPECT_EQ(main_speed(metrics_of(record)), nullptr);
  add_metric(record, latency(0.5));
  EXPECT_EQ(names_of(record).front(), "latency_s");
  record.images_per_s.median = 3;  // which every task may have
  EXPECT_EQ(names_of(record).front(), "images_per_s");
}

TEST(Metrics, AreToldWithWhatIsKnownOfTheirSpread) {
  Metric few = latency(2, {1, 2, 3});
  few.over = "steps after the first epoch";
  EXPECT_EQ(spread_text(few), "the median of 3 steps after the first epoch; their range: 1 to 3");
  few.interval = Interval{1.5, 2.5};
  EXPECT_EQ(spread_text(few), "the median of 3 steps after the first epoch; 95 %: 1.5 to 2.5");
  EXPECT_EQ(spread_text(latency(2, {2})), "a single sample");
  EXPECT_EQ(spread_text(latency(2)), "");
}

Record with_epochs(const std::vector<double>& images_per_s, double median) {
  Record record;
  for (const double rate : images_per_s) {
    record.training.epochs.emplace_back().images_per_s = rate;
    record.training.epochs.back().seconds = 1000 / rate;
  }
  record.images_per_s = throughput_of({median}, "steps after the first epoch");
  return record;
}

TEST(SpeedNote, WarnsWhereTheMedianIsNotImagesOverSeconds) {
  EXPECT_EQ(speed_note(with_epochs({95, 100, 100}, 100)), "");
  const Record uneven = with_epochs({50, 100}, 100);
  EXPECT_NEAR(find_metric(metrics_of(uneven), kOverallSpeed)->value.value(), 2000 / 30.0, 1e-9);
  EXPECT_THAT(speed_note(uneven),
              HasSubstr("66.7 images/s, 33 % less than the training speed, which is a single sample: "));
  EXPECT_THAT(speed_note(with_epochs({100, 100}, 80)), HasSubstr("25 % more"));
  EXPECT_EQ(speed_note(Record{}), "");
}

TEST(Metrics, LowerIsFasterWhereLowerIsBetter) {
  const Metric slow = latency(2, std::vector<double>(12, 2)), fast = latency(1, std::vector<double>(12, 1));
  EXPECT_DOUBLE_EQ(*speed_ratio(slow, fast), 2);
  EXPECT_EQ(compare_speeds(slow, fast).verdict, Verdict::kFaster);
  EXPECT_EQ(compare_speeds(fast, slow).verdict, Verdict::kSlower);
  EXPECT_EQ(speed_ratio(slow, latency(0)), std::nullopt);
}

}  // namespace
}  // namespace evener::record
