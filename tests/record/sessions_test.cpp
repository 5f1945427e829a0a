#include "record/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "record/validity.h"

namespace evener::record {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

EpochRecord epoch_of(std::int64_t number, double seconds) {
  EpochRecord epoch;
  epoch.epoch = number;
  epoch.seconds = seconds;
  return epoch;
}

/// A session of two epochs from `first` on, alone in its record.
Record session(int first, const std::string& started, double seconds) {
  Record record;
  record.status = Status::kDone;
  record.started = started;
  record.command = {"evener", "train", started};
  record.placement = {"cpu/t2", {{.stages = {}, .share = 1.0, .samples = 200, .busy_s = seconds / 2}}};
  record.times = {seconds, 0.5, 0.25, seconds - 1, 0.125, 0, std::nullopt, 0.75};
  record.phases_s = {{"forward", seconds / 2}};
  for (int epoch = first; epoch < first + 2; ++epoch) {
    record.training.epochs.push_back(epoch_of(epoch, seconds / 4));
    record.training.epochs.back().phases_s = {{"forward", 1.0}};
  }
  record.images_per_s.samples = {100.0 + first, 110.0 + first};
  record.images_per_s.median = 105.0 + first;
  record.images_per_s.over = "epochs after the first";
  record.cpu.seconds = 2 * seconds;
  record.cpu.others_percent = Spread{1, static_cast<double>(first), 20};
  record.cpu.samples = 10;
  record.memory.peak_rss_bytes = 1000u * static_cast<unsigned>(first);
  record.memory.ranks = {{0, record.memory.peak_rss_bytes}};
  record.energy.joules = 50;
  record.energy.seconds = seconds;
  record.sessions = {{.started = started,
                      .command = record.command,
                      .status = Status::kDone,
                      .placement = "cpu/t2",
                      .replicas = 1,
                      .engine = "torch",
                      .cpu = "Zen",
                      .seconds = seconds,
                      .cpu_seconds = 2 * seconds,
                      .epochs = 2,
                      .images = 200}};
  return record;
}

Record together(Record record, const Record& earlier) {
  add_earlier_work(record, earlier);
  add_earlier_samples(record, earlier);
  return record;
}

TEST(Sessions, AddUp) {
  const Record whole = together(session(3, "later", 30), session(1, "earlier", 10));
  EXPECT_EQ(whole.started, "earlier");
  EXPECT_EQ(whole.command.back(), "earlier");
  ASSERT_THAT(whole.sessions, SizeIs(2));
  EXPECT_EQ(whole.sessions[1].command.back(), "later");
  EXPECT_EQ(whole.times.total, 40);
  EXPECT_EQ(whole.times.train, 38);
  EXPECT_EQ(whole.times.init, 1);
  EXPECT_EQ(whole.times.first_step, 0.75) << "of the whole run";
  EXPECT_EQ(whole.phases_s.at("forward"), 20);
  EXPECT_EQ(whole.cpu.seconds, 80);
  EXPECT_EQ(whole.cpu.samples, 20);
  EXPECT_DOUBLE_EQ(whole.cpu.others_percent->mean, (1.0 * 10 + 3.0 * 30) / 40) << "weighed by the time";
  EXPECT_EQ(whole.memory.peak_rss_bytes, 3000u);
  EXPECT_EQ(whole.memory.ranks[0].peak_rss_bytes, 3000u);
  EXPECT_EQ(whole.energy.joules, 100);
  EXPECT_EQ(whole.energy.edp_js, 100 * 40);
  EXPECT_EQ(whole.placement.replicas[0].samples, 400);
  EXPECT_EQ(whole.placement.replicas[0].busy_s, 20);
  ASSERT_THAT(whole.training.epochs, SizeIs(4));
  EXPECT_EQ(whole.training.epochs[0].epoch, 1);
}

TEST(Sessions, EachLeavesItsOwnWarmUpOutOfTheSpeed) {
  const Record whole = together(session(3, "later", 30), session(1, "earlier", 10));
  EXPECT_THAT(whole.images_per_s.samples, ElementsAre(101, 111, 103, 113));
  EXPECT_EQ(whole.images_per_s.median, 107);
}

TEST(Sessions, OfTwoKindsOfSamplesThoseOfTheLongerOneCount) {
  Record earlier = session(1, "earlier", 10);
  earlier.images_per_s.over = "steps after the tenth";
  EXPECT_EQ(together(session(3, "later", 30), earlier).images_per_s.median, 108);
  earlier.sessions[0].images = 500;
  EXPECT_EQ(together(session(3, "later", 30), earlier).images_per_s.median, 106);
}

TEST(Sessions, OnDifferentPlacementsHaveNoSpeedInCommon) {
  Record earlier = session(1, "earlier", 10);
  earlier.placement.text = earlier.sessions[0].placement = "2xcpu/t1";
  const Record whole = together(session(3, "later", 30), earlier);
  EXPECT_FALSE(whole.images_per_s.median.has_value());
  EXPECT_THAT(whole.images_per_s.reason,
              HasSubstr("different placements (2xcpu/t1 with 1 replica, cpu/t2 with 1 replica)"));
  EXPECT_FALSE(whole.placement.replicas[0].samples.has_value());
  EXPECT_THAT(whole.missing.at("placement.replicas.samples"), HasSubstr("2xcpu/t1"));
  EXPECT_EQ(whole.times.total, 40);
}

TEST(Sessions, OnFewerReplicasHaveNoSpeedInCommon) {
  Record earlier = session(1, "earlier", 10);
  earlier.placement.replicas.resize(2);
  earlier.sessions[0].replicas = 2;
  const Record whole = together(session(3, "later", 30), earlier);
  EXPECT_THAT(whole.images_per_s.reason, HasSubstr("(cpu/t2 with 2 replicas, cpu/t2 with 1 replica)"));
  EXPECT_FALSE(whole.placement.replicas[0].samples.has_value());
}

TEST(Sessions, EpochsThatTheCheckpointKnowsGetTheirPhasesBack) {
  Record record = session(3, "later", 30);
  record.training.epochs.insert(record.training.epochs.begin(), epoch_of(2, 2.5));
  record.training.epochs.insert(record.training.epochs.begin(), epoch_of(1, 99));  // another one
  const Record whole = together(record, session(1, "earlier", 10));
  ASSERT_THAT(whole.training.epochs, SizeIs(4));
  EXPECT_TRUE(whole.training.epochs[0].phases_s.empty());
  EXPECT_FALSE(whole.training.epochs[1].phases_s.empty());
}

TEST(Sessions, WhatAKilledOneDidNotTellIsAbsentWithTheReason) {
  const test::TestFolder dir;
  Record killed = session(1, "earlier", 10);
  killed.status = killed.sessions[0].status = Status::kRunning;
  killed.cpu = {};
  killed.memory = {};
  killed.energy = {};
  killed.times.load.reset();
  write_record(dir.path(), killed);
  Record whole = together(session(3, "later", 30), earlier_sessions(dir.path()));
  EXPECT_EQ(whole.sessions[0].status, Status::kKilled);
  EXPECT_EQ(whole.times.total, 40);
  EXPECT_FALSE(whole.times.load.has_value());
  EXPECT_FALSE(whole.cpu.seconds.has_value());
  EXPECT_FALSE(whole.memory.peak_rss_bytes.has_value());
  EXPECT_FALSE(whole.energy.joules.has_value());
  for (const char* path : {"times_s.load", "cpu.seconds", "memory.peak_rss_bytes"}) {
    EXPECT_THAT(whole.missing.at(path), HasSubstr("session 1 was killed")) << path;
  }
  EXPECT_THAT(whole.energy.reason, HasSubstr("session 1 was killed"));
  const Validity validity = judge(whole);
  ASSERT_FALSE(validity.reasons.empty());
  EXPECT_EQ(validity.reasons[0].rule, "lost session");
}

TEST(Sessions, WithoutTheirRecordNothingIsAddedUp) {
  const test::TestFolder dir;
  const Record whole = together(session(3, "later", 30), earlier_sessions(dir.path()));
  EXPECT_EQ(whole.started, "later");
  EXPECT_FALSE(whole.times.total.has_value());
  EXPECT_THAT(whole.missing.at("times_s.total"), HasSubstr("was not there"));
}

TEST(Sessions, EnergiesAddUp) {
  Record earlier = session(1, "earlier", 10), later = session(3, "later", 30);
  earlier.energy.process_joules = 20;
  later.energy.process_joules = 5;
  earlier.energy.phases = {{.phase = "forward", .joules = 30, .seconds = 4}, {.phase = "other", .joules = 20}};
  later.energy.phases = {{.phase = "other", .joules = 8}, {.phase = "forward", .joules = 42, .seconds = 6}};
  const Energy whole = together(later, earlier).energy;
  EXPECT_EQ(whole.joules, 100);
  EXPECT_EQ(whole.process_joules, 25);
  ASSERT_THAT(whole.phases, SizeIs(2));
  EXPECT_EQ(whole.phases[0].joules, 28);
  EXPECT_EQ(whole.phases[1].joules, 72);
  EXPECT_EQ(whole.phases[1].seconds, 10);
  earlier.energy.phases.push_back({.phase = "spawn", .joules = 5, .seconds = 1});
  EXPECT_THAT(together(later, earlier).energy.phases, Contains(Field(&PhaseEnergy::joules, 5)))
      << "the first one's only";
  earlier.energy.phases.clear();
  EXPECT_THAT(together(later, earlier).energy.phases, IsEmpty()) << "a part would look like the whole";
  earlier.energy.process_joules.reset();
  EXPECT_EQ(together(later, earlier).energy.process_joules, std::nullopt);
}

}  // namespace
}  // namespace evener::record
