#include "report/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using measure::Record;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Record run(const char* placement, double images_per_s, double test_accuracy = 0.97) {
  return test::sample_record({.placement = placement, .images_per_s = images_per_s, .test_accuracy = test_accuracy});
}
std::string concluded(std::vector<Record> records) {
  return conclusion(records);
}

TEST(Conclusion, ComparesTwoRuns) {
  EXPECT_THAT(
      concluded({run("cpu/t1", 14.5, 0.97), run("cpu/t2", 26.9, 0.972)}),
      MatchesRegex("resnet34 on cpu/t2 trains 1\\.8.x as fast as on cpu/t1 \\(2[67]\\.. against 14\\.. images/s\\), "
                   "at equal test accuracy \\(97\\.2 % and 97\\.0 %\\)\\."));
}

TEST(Conclusion, IsHarmlessWhereItIsShown) {
  const std::vector<Record> records = {run("\x1b[2J\n<b>", 14.5)};
  EXPECT_THAT(conclusion(records), HasSubstr("on \x1b[2J\n<b>"));
  EXPECT_THAT(terminal_conclusion(records), HasSubstr("on ?[2J?<b>"));
  EXPECT_THAT(markdown_conclusion(records), HasSubstr("on ?\\[2J \\<b\\>"));
}

TEST(Conclusion, ASlowerSecondRunIsToldAsItIs) {
  EXPECT_THAT(concluded({run("cpu/t2", 26.9), run("cpu/t1", 14.5)}), HasSubstr("cpu/t1 trains 0.5"));
}

TEST(Conclusion, OverlappingIntervalsAreUndecided) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 20);
  a.images_per_s = measure::training_throughput(std::vector<double>{1, 18, 20, 22, 19, 21}, {});
  b.images_per_s = measure::training_throughput(std::vector<double>{1, 19, 21, 23, 18, 20}, {});
  EXPECT_THAT(concluded({a, b}), HasSubstr("is undecided (20.0 against 20.0 images/s; 95 % interval of the ratio"));
}

TEST(Conclusion, SmallDifferencesOfSingleRunsAreNotClaimed) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 20);
  a.images_per_s = measure::training_throughput(std::vector<double>{1, 20.0, 20.01, 20.02, 20.03}, {});
  b.images_per_s = measure::training_throughput(std::vector<double>{1, 20.3, 20.31, 20.32, 20.33}, {});
  ASSERT_EQ(measure::compare_rates(a.images_per_s.samples, b.images_per_s.samples).verdict, measure::Verdict::kFaster);
  EXPECT_THAT(concluded({a, b}), HasSubstr("trains about as fast on cpu/t2 as on cpu/t1"));
}

TEST(Conclusion, SpeedsOfSingleRunsCountFromThreePercentOn) {
  const auto steady = [](const char* placement, double images_per_s) {
    Record record = run(placement, images_per_s);
    const std::vector<double> epochs = {1, images_per_s, images_per_s * 1.0001, images_per_s * 1.0002, images_per_s};
    record.images_per_s = measure::training_throughput(epochs, {});
    return record;
  };
  EXPECT_THAT(concluded({steady("cpu/t1", 1000), steady("cpu/t2", 1028)}), HasSubstr("trains about as fast"));
  EXPECT_THAT(concluded({steady("cpu/t1", 1000), steady("cpu/t2", 1032)}), HasSubstr("trains 1.03x as fast"));
}

TEST(Conclusion, TooFewSamplesStayUndecided) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 40);
  a.images_per_s = measure::training_throughput(std::vector<double>{1, 20}, {});
  b.images_per_s = measure::training_throughput(std::vector<double>{1, 40}, {});
  EXPECT_THAT(concluded({a, b}), HasSubstr("trained 2.00x as fast as on cpu/t1"));
  EXPECT_THAT(concluded({a, b}), HasSubstr("undecided: too few samples"));
}

TEST(Conclusion, MissingSpeedsAreNotInvented) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 40);
  b.images_per_s = {};
  EXPECT_THAT(concluded({a, b}), HasSubstr("can't be compared in speed: images/s is missing"));
}

TEST(Conclusion, AccuracyDifferencesAreTold) {
  EXPECT_THAT(concluded({run("cpu/t1", 10, 0.97), run("cpu/t2", 20, 0.60)}),
              HasSubstr("at lower test accuracy (60.0 % against 97.0 %)"));
  EXPECT_THAT(concluded({run("cpu/t1", 10, 0.97), run("cpu/t2", 20, 0.92)}),
              HasSubstr("that 90 images can't tell apart"));
}

TEST(Conclusion, WithoutATestPartValidationCounts) {
  Record a = run("cpu/t1", 10), b = run("cpu/t2", 20);
  b.training.accuracy.test.reset();
  EXPECT_THAT(concluded({a, b}), HasSubstr("validation accurac"));
}

TEST(Conclusion, InvalidRunsAreNamed) {
  Record a = run("cpu/t1", 10), b = run("cpu/t2", 20);
  a.validity = {false, {{"other load", "w", "a"}, {"swap", "w", "a"}}};
  EXPECT_THAT(concluded({a, b}), HasSubstr("; but cpu/t1 is INVALID as a measurement (other load, swap)."));
}

TEST(Conclusion, OfManyRunsTheFastestIsShown) {
  EXPECT_THAT(concluded({run("cpu/t1", 10), run("cpu/t2", 20), run("cpu/t4", 40)}),
              HasSubstr("Fastest of 3 runs, resnet34 on cpu/t4 trains"));
  EXPECT_THAT(concluded({run("cpu/t4", 40), run("cpu/t1", 10), run("cpu/t2", 20)}), HasSubstr("as fast as on cpu/t2"));
}

TEST(Conclusion, DifferentJobsAreNotCompared) {
  Record digits = test::sample_record({.model = "mlp:784-256-10", .data = "synth:digits", .images_per_s = 50000});
  const std::string sentence = concluded({run("cpu/t1", 10), digits});
  EXPECT_THAT(sentence, Not(HasSubstr("as fast as")));
  EXPECT_THAT(sentence, HasSubstr("; mlp:784-256-10 trained 8 epochs of synth:digits"));
}

TEST(Conclusion, WhatElseDiffersIsNamed) {
  Record a = run("cpu/t2", 10), b = run("cpu/t2", 20);
  b.precision = "bf16";
  EXPECT_THAT(concluded({a, b}), HasSubstr("on cpu/t2 in bf16 trains"));
}

TEST(Conclusion, RunsOnOnePlacementAreToldApartByTheirOptions) {
  Record a = run("cpu/t2", 10), b = run("cpu/t2", 20);
  EXPECT_THAT(concluded({a, b}), HasSubstr("as fast as in another run of the same ("));
  a.config = {{"lr", "0.1"}, {"nesterov", "false"}, {"seed", "1"}};
  b.config = {{"lr", "0.02"}, {"nesterov", "true"}, {"seed", "1"}};
  EXPECT_THAT(concluded({a, b}), HasSubstr("on cpu/t2 with --lr 0.02 and --nesterov trains"));
  EXPECT_THAT(concluded({a, b}), HasSubstr("as fast as on cpu/t2 with --lr 0.1 and no --nesterov ("));
}

TEST(Conclusion, FiguresOfOtherTasksAreToldByTheirNamesAndDirections) {
  Record a, b;
  for (Record* record : {&a, &b}) {
    record->kind = "answer";
    record->model.name = "resnet34";
    record->placement.text = record == &a ? "cpu/t1" : "cpu/t2";
    const double scale = record == &a ? 1 : 0.5;
    measure::add_metric(*record, {.name = "latency_s",
                                  .unit = "s",
                                  .title = "latency",
                                  .label = "latency",
                                  .better = measure::Better::kLower,
                                  .role = measure::MetricRole::kSpeed,
                                  .value = 0.2 * scale,
                                  .samples = {0.2 * scale, 0.201 * scale, 0.202 * scale, 0.2 * scale}});
    measure::add_metric(*record, {.name = "recall",
                                  .unit = "share",
                                  .title = "recall",
                                  .label = "recall",
                                  .role = measure::MetricRole::kQuality,
                                  .value = 0.9,
                                  .of_images = 100});
  }
  EXPECT_EQ(concluded({a, b}),
            "resnet34 on cpu/t2 runs 2.00x as fast as on cpu/t1 (0.100 against 0.200 s), at equal recall (90.0 %).");
  EXPECT_THAT(concluded({a}), HasSubstr("and reached 90.0 % recall"));
}

TEST(Conclusion, OneRun) {
  EXPECT_THAT(
      concluded({run("cpu/t2", 26.9, 0.972)}),
      MatchesRegex("resnet34 trained 8 epochs of synth:masks on cpu/t2 in 4 min .* at 2[67]\\.. images/s and reached "
                   "97\\.2 % test accuracy\\."));
  Record stopped = run("cpu/t2", 26.9);
  stopped.status = measure::Status::kInterrupted;
  EXPECT_THAT(concluded({stopped}), HasSubstr("was interrupted after 8 epochs"));
  EXPECT_EQ(concluded({}), "");
}

}  // namespace
}  // namespace evener::report
