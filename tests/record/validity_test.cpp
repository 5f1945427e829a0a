#include "record/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.h"
#include "record/metric.h"
#include "record/record.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

using testing::HasSubstr;

Record good_record() {
  Record record;
  record.machine.online_cpus = 4;
  record.versions = {{"build", "optimised"}};
  record.images_per_s = throughput_of({101, 100, 99, 100, 102, 98, 100, 101, 99, 100}, "steps after the first epoch");
  record.cpu.others_percent = Spread{0, 8, 30};  // of one CPU: 2 % of four
  record.cpu.steal_percent_mean = 1;
  record.memory.swap_bytes_max = 0;
  record.cpu.throttle_events = 0;
  return record;
}

TEST(Validity, AGoodRunIsValid) {
  const Validity validity = judge(good_record());
  EXPECT_EQ(validity.valid, true);
  EXPECT_TRUE(validity.reasons.empty());
}

TEST(Validity, WhatATaskFoundStays) {
  Record record = good_record();
  record.validity.reasons = {{"latency limit", "12 of 100 queries took longer", "ask for less"}};
  const Validity validity = judge(record);
  EXPECT_EQ(validity.valid, false);
  ASSERT_EQ(validity.reasons.size(), 1u);
  EXPECT_EQ(validity.reasons[0].rule, "latency limit");
}

TEST(Validity, ScenariosHaveTheirOwnRulesForHowMuchIsEnough) {
  Record record = good_record();
  record.images_per_s = {};
  EXPECT_EQ(judge(record).valid, false);
  record.scenario.name = "server";
  EXPECT_EQ(judge(record).valid, true);
}

TEST(Validity, WhatCantBeSeenIsNotAFault) {
  Record record = good_record();
  const auto others = record.cpu.others_percent;
  record.cpu = {};
  record.cpu.others_percent = others;
  record.memory = {};
  EXPECT_EQ(judge(record).valid, true);
}

TEST(Validity, WhatNobodyLookedAtIsNeverValid) {
  Record record = good_record();
  record.cpu.others_percent.reset();
  const Validity validity = judge(record);
  EXPECT_EQ(validity.valid, false);
  ASSERT_EQ(validity.reasons.size(), 1U);
  EXPECT_EQ(validity.reasons[0].rule, "unknown load");
  EXPECT_EQ(spoiled_by(validity), Spoils::kFigures);
  record.status = Status::kInterrupted;
  EXPECT_EQ(judge(record).reasons.size(), 1U) << "that it didn't end is told already";
}

TEST(Validity, AllFaultsAreTold) {
  Record record = good_record();
  record.cpu.throttle_events = 1;
  record.fallbacks = {"one", "two"};
  EXPECT_EQ(judge(record).reasons.size(), 3u);
}

// One step in ten that takes five times as long, or no time, is no noise: the middle half is looked at.
TEST(Validity, SingleOutliersAreNoNoise) {
  for (const double outlier : {20.0, 500.0}) {
    Record record = good_record();
    record.images_per_s = throughput_of({101, 100, 99, outlier, 102, 98, 100, 101, 99, 100}, "steps");
    EXPECT_EQ(judge(record).valid, true) << outlier;
  }
}

struct Bound {
  const char* rule;
  std::function<void(Record&)> at;      // still good
  std::function<void(Record&)> beyond;  // by a little
};

TEST(Validity, EachRuleHasItsBound) {
  const Bound bounds[] = {
      {"other load",
       [](Record& r) {
         r.cpu.others_percent = Spread{0, 20, 30};
       },
       [](Record& r) {
         r.cpu.others_percent = Spread{0, 20.1, 30};
       }},
      {"stolen time", [](Record& r) { r.cpu.steal_percent_mean = 8; },
       [](Record& r) { r.cpu.steal_percent_mean = 8.1; }},
      {"swap", [](Record& r) { r.memory.swap_bytes_max = 1 << 20; },
       [](Record& r) { r.memory.swap_bytes_max = (1 << 20) + 1; }},
      {"throttling", [](Record& r) { r.cpu.throttle_events = 0; }, [](Record& r) { r.cpu.throttle_events = 1; }},
      {"noise",
       [](Record& r) {
         r.images_per_s = throughput_of({90, 90, 90, 90, 100, 100, 110, 110, 110, 110}, "steps");
       },
       [](Record& r) {
         r.images_per_s = throughput_of({89, 89, 89, 89, 100, 100, 110, 110, 110, 110}, "steps");
       }},
      {"too few samples", [](Record& r) { r.images_per_s = throughput_of(std::vector<double>(10, 1), "steps"); },
       [](Record& r) { r.images_per_s = throughput_of(std::vector<double>(9, 1), "steps"); }},
      {"lost session",
       [](Record& r) {
         r.sessions.resize(2);
         r.sessions[0].status = Status::kInterrupted;
       },
       [](Record& r) {
         r.sessions.resize(2);
         r.sessions[0].status = Status::kFailed;
       }},
      {"fallback", [](Record&) {}, [](Record& r) { r.fallbacks = {"fp16 was computed as bf16"}; }},
      {"build", [](Record&) {}, [](Record& r) { r.versions["build"] = "not optimised"; }},
      {"unfinished", [](Record&) {}, [](Record& r) { r.status = Status::kInterrupted; }},
      {"too few samples", [](Record&) {}, [](Record& r) { r.images_per_s = {}; }},
      {"energy", [](Record& r) { r.energy.reason = "no sensor"; }, [](Record& r) { r.energy.lost = {"gpu 0"}; }},
  };
  for (const Bound& bound : bounds) {
    Record good = good_record(), bad = good_record();
    bound.at(good);
    bound.beyond(bad);
    EXPECT_EQ(judge(good).valid, true) << bound.rule;
    const Validity validity = judge(bad);
    EXPECT_EQ(validity.valid, false) << bound.rule;
    ASSERT_EQ(validity.reasons.size(), 1u) << bound.rule;
    EXPECT_EQ(validity.reasons[0].rule, bound.rule);
    EXPECT_FALSE(validity.reasons[0].what.empty());
    EXPECT_FALSE(validity.reasons[0].advice.empty());
  }
}

TEST(Validity, AMachineOfOneCpuIsJudgedByThatOne) {
  Record record = good_record();  // 8 % of one
  record.machine.online_cpus = 1;
  EXPECT_EQ(judge(record).reasons.at(0).rule, "other load");
  record.machine.online_cpus = 0;  // not known
  EXPECT_EQ(judge(record).reasons.at(0).rule, "other load");
}

TEST(Validity, AnUnfinishedRunIsToldOnceAndByItsEnd) {
  for (const Status status : {Status::kRunning, Status::kKilled, Status::kFailed, Status::kDiverged}) {
    Record record = good_record();
    record.status = status;
    ASSERT_EQ(judge(record).reasons.size(), 1u);
    EXPECT_EQ(judge(record).reasons[0].rule, "unfinished");
    record.validity.reasons = {{"unfinished", "its task knows why", "resume it"}};
    ASSERT_EQ(judge(record).reasons.size(), 1u);
    EXPECT_EQ(judge(record).reasons[0].what, "its task knows why");
  }
}

Validity broken(const std::vector<const char*>& rules) {
  Validity validity{false, {}};
  for (const char* const rule : rules) validity.reasons.push_back({rule, "w", "a"});
  return validity;
}

TEST(ValidityRules, WhatComesAndGoesSpoilsNoComparison) {
  EXPECT_EQ(spoiled_by({true, {}}), std::nullopt);
  EXPECT_EQ(spoiled_by(broken({"energy"})), Spoils::kEnergy);
  EXPECT_EQ(spoiled_by(broken({"other load", "energy"})), Spoils::kFigures);
  EXPECT_EQ(spoiled_by(broken({"stolen time", "noise", "too few samples"})), Spoils::kFigures);
  EXPECT_EQ(spoiled_by(broken({"other load", "throttling"})), Spoils::kComparisons);
  EXPECT_EQ(spoiled_by(broken({"a rule of tomorrow"})), Spoils::kComparisons);
}

TEST(ValidityRules, OtherProgramsAreThoseOfTheHostToo) {
  EXPECT_TRUE(is_beside_others(broken({"other load"})));
  EXPECT_TRUE(is_beside_others(broken({"noise", "stolen time"})));
  EXPECT_FALSE(is_beside_others(broken({"noise"})));
  EXPECT_DOUBLE_EQ(*others_load_percent(good_record()), (8 + 1) / 4.0);
  EXPECT_EQ(others_load_percent(Record()), std::nullopt);
}

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
