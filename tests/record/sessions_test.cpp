#include "record/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/test_folder.h"
#include "record/validity.h"

namespace evener::record {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
  record.memory.peak_rss_bytes = 1000u * static_cast<unsigned>(first);
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

TEST(Sessions, FollowEachOther) {
  const Record whole = together(session(3, "later", 30), session(1, "earlier", 10));
  EXPECT_EQ(whole.started, "earlier");
  EXPECT_EQ(whole.command.back(), "earlier");
  ASSERT_THAT(whole.sessions, SizeIs(2));
  EXPECT_EQ(whole.sessions[1].command.back(), "later");
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
  later.energy.work_joules = 11, later.energy.work_seconds = 3;
  EXPECT_EQ(together(later, earlier).energy.work_reason, "not all sessions knew it");
  earlier.energy.work_joules = 29, earlier.energy.work_seconds = 5;
  const Record both = together(later, earlier);
  EXPECT_EQ(both.energy.work_seconds, 8);
  EXPECT_THAT(energy_text(both), HasSubstr("100 mJ an image")) << "40 J of the work on 400 images";
}

// What two sessions of one run come to, figure by figure, from parts that are all unlike.

/// Ran for 10 s.
Record first_session() {
  Record record;
  record.started = "first";
  record.status = Status::kDone;
  record.sessions = {{.started = "first",
                      .command = {},
                      .status = Status::kDone,
                      .placement = "2xcpu/t1",
                      .replicas = 2,
                      .engine = "torch",
                      .cpu = "Zen",
                      .seconds = 10,
                      .cpu_seconds = 15,
                      .epochs = 1,
                      .images = 100}};
  record.placement = {"2xcpu/t1",
                      {{.stages = {}, .samples = 60, .busy_s = 6}, {.stages = {}, .samples = 40, .busy_s = 7}}};
  return record;
}

/// Went on with it for 30 s.
Record second_session() {
  Record record = first_session();
  record.started = record.sessions[0].started = "second";
  record.sessions[0].seconds = 30;
  record.sessions[0].images = 300;
  record.placement.replicas[0].samples = 100;
  record.placement.replicas[0].busy_s = 20;
  record.placement.replicas[1].samples = 200;
  record.placement.replicas[1].busy_s = 21;
  return record;
}

TEST(SessionSums, EachTimeIsItsOwnSum) {
  Record first = first_session(), second = second_session();
  first.times = {.total = 10,
                 .init = 1,
                 .load = 2,
                 .train = 3,
                 .validate = 0.5,
                 .test = 0.25,
                 .to_accuracy = {},
                 .first_step = 1.5,
                 .checkpoint = 0.125};
  second.times = {.total = 30,
                  .init = 4,
                  .load = 6,
                  .train = 11,
                  .validate = 5,
                  .test = 2,
                  .to_accuracy = {},
                  .first_step = 7,
                  .checkpoint = 0.5};
  first.phases_s = {{"forward", 1}, {"spawn", 3}};
  second.phases_s = {{"forward", 5}, {"step", 7}};
  first.hidden_s = {{"read", 2}};
  second.hidden_s = {{"read", 9}, {"wait", 4}};
  const Record whole = together(second, first);
  EXPECT_EQ(whole.times.total, 40);
  EXPECT_EQ(whole.times.init, 5);
  EXPECT_EQ(whole.times.load, 8);
  EXPECT_EQ(whole.times.train, 14);
  EXPECT_EQ(whole.times.validate, 5.5);
  EXPECT_EQ(whole.times.test, 2.25);
  EXPECT_EQ(whole.times.checkpoint, 0.625);
  EXPECT_EQ(whole.times.first_step, 1.5);
  EXPECT_EQ(whole.phases_s, (std::map<std::string, double>{{"forward", 6}, {"spawn", 3}, {"step", 7}}));
  EXPECT_EQ(whole.hidden_s, (std::map<std::string, double>{{"read", 11}, {"wait", 4}}));
}

TEST(SessionSums, TheAccuracyIsReachedWhereItFirstWas) {
  Record first = first_session(), second = second_session();
  first.times.to_accuracy = 8;
  EXPECT_EQ(together(second, first).times.to_accuracy, 8);
  second.times.to_accuracy = 25;
  EXPECT_EQ(together(second, first).times.to_accuracy, 25) << "a session that reached it knows of those before";
}

TEST(SessionSums, ReplicasShareWhatAllSessionsTrainedOn) {
  const Record whole = together(second_session(), first_session());
  EXPECT_EQ(whole.placement.replicas[0].samples, 160);
  EXPECT_EQ(whole.placement.replicas[1].samples, 240);
  EXPECT_DOUBLE_EQ(*whole.placement.replicas[0].share, 0.4);
  EXPECT_DOUBLE_EQ(*whole.placement.replicas[1].share, 0.6);
  EXPECT_EQ(whole.placement.replicas[0].busy_s, 26);
  EXPECT_EQ(whole.placement.replicas[1].busy_s, 28);
}

TEST(SessionSums, EachDifferenceLeavesTheRunWithoutASpeed) {
  const std::pair<std::function<void(SessionRecord&)>, const char*> rows[] = {
      {[](SessionRecord& s) { s.placement = "cuda"; }, "different placements (cuda with 2 replicas, 2xcpu/t1 with 2"},
      {[](SessionRecord& s) { s.replicas = 1; }, "different placements (2xcpu/t1 with 1 replica, 2xcpu/t1 with 2"},
      {[](SessionRecord& s) { s.engine = "native"; }, "different engines (native, torch)"},
      {[](SessionRecord& s) { s.cpu = "Core"; }, "different processors (Core, Zen)"},
  };
  Record second = second_session();
  second.images_per_s = throughput_of({100, 102}, "steps");
  EXPECT_EQ(together(second, first_session()).images_per_s.median, 101);
  for (const auto& [change, words] : rows) {
    Record first = first_session();
    change(first.sessions[0]);
    const Record whole = together(second, first);
    EXPECT_EQ(whole.images_per_s.median, std::nullopt) << words;
    EXPECT_THAT(whole.images_per_s.reason, HasSubstr(words));
  }
}

TEST(SessionSums, EpochsThatWereDoneAgainCountOnceAndKeepTheirEnergy) {
  Record first = first_session(), second = second_session();
  for (int n = 1; n <= 3; ++n) {
    EpochRecord epoch;
    epoch.epoch = n;
    epoch.seconds = 2.0 * n;
    epoch.phases_s = {{"forward", 1.0 * n}};
    epoch.from_s = 10.0 * n;
    epoch.to_s = 10.0 * n + 5;
    epoch.joules = 100.0 * n;
    first.training.epochs.push_back(epoch);
  }
  EpochRecord known;  // the checkpoint's
  known.epoch = 2;
  known.seconds = 4;
  EpochRecord again;
  again.epoch = 3;
  again.seconds = 7;
  again.joules = 5;
  again.phases_s = {{"forward", 9.0}};
  second.training.epochs = {known, again};
  const auto epochs = together(second, first).training.epochs;
  ASSERT_EQ(epochs.size(), 3U);
  EXPECT_EQ(epochs[0].epoch, 1);
  EXPECT_EQ(epochs[0].joules, 100);
  EXPECT_EQ(epochs[1].epoch, 2);
  EXPECT_EQ(epochs[1].joules, 200);
  EXPECT_EQ(epochs[1].from_s, 20);
  EXPECT_EQ(epochs[1].to_s, 25);
  EXPECT_EQ(epochs[1].phases_s.at("forward"), 2);
  EXPECT_EQ(epochs[2].seconds, 7);
  EXPECT_EQ(epochs[2].joules, 5);
  second.training.epochs.clear();  // ended before its first epoch was over
  EXPECT_EQ(together(second, first).training.epochs.size(), 3U);
}

TEST(SessionSums, LinesStandOnceTheEarlierOnesFirst) {
  Record first = first_session(), second = second_session();
  first.notes = {"b", "a"};
  second.notes = {"a", "c"};
  first.fallbacks = {"x"};
  second.fallbacks = {"y", "x"};
  first.confusion.part = "validation";
  first.confusion.counts = {{1, 2}, {3, 4}};
  Record whole = together(second, first);
  EXPECT_THAT(whole.notes, ElementsAre("b", "a", "c"));
  EXPECT_THAT(whole.fallbacks, ElementsAre("x", "y"));
  EXPECT_EQ(whole.confusion.part, "validation");
  second.confusion.part = "test";
  second.confusion.counts = {{5}};
  EXPECT_EQ(together(second, first).confusion.part, "test");
}

TEST(SessionSums, MeansAreWeighedByTimeAndExtremesKept) {
  Record first = first_session(), second = second_session();
  first.cpu = {.seconds = 15,
               .percent = Spread{50, 100, 200},
               .core_percent_mean = {40, 60},
               .others_percent = Spread{2, 8, 9},
               .steal_percent_mean = 4,
               .throttle_events = 3,
               .exchanged = 10,
               .lent = 200,
               .samples = 20};
  second.cpu = {.seconds = 45,
                .percent = Spread{10, 140, 150},
                .core_percent_mean = {80, 20},
                .others_percent = Spread{1, 4, 30},
                .steal_percent_mean = 1,
                .throttle_events = 5,
                .exchanged = 7,
                .lent = 40,
                .samples = 61};
  first.memory.peak_rss_bytes = 900;
  second.memory.peak_rss_bytes = 700;
  first.memory.rss_bytes = Spread{100, 500, 900};
  second.memory.rss_bytes = Spread{200, 600, 700};
  first.memory.pss_bytes = Spread{90, 400, 410};
  second.memory.pss_bytes = Spread{80, 480, 500};
  first.memory.swap_bytes_max = 12;
  second.memory.swap_bytes_max = 7;
  first.memory.ranks = {{0, 400}, {1, 350}};
  second.memory.ranks = {{0, 300}, {1, 450}};
  first.gpus.resize(1);
  second.gpus.resize(1);
  first.gpus[0].peak_memory_bytes = 5000;
  second.gpus[0].peak_memory_bytes = 4000;
  Record whole = together(second, first);
  EXPECT_EQ(whole.cpu.seconds, 60);
  EXPECT_EQ(whole.cpu.percent->min, 10);
  EXPECT_DOUBLE_EQ(whole.cpu.percent->mean, 130);
  EXPECT_EQ(whole.cpu.percent->max, 200);
  EXPECT_THAT(whole.cpu.core_percent_mean, ElementsAre(70, 30));
  EXPECT_DOUBLE_EQ(whole.cpu.others_percent->mean, 5);
  EXPECT_EQ(whole.cpu.others_percent->max, 30);
  EXPECT_DOUBLE_EQ(*whole.cpu.steal_percent_mean, 1.75);
  EXPECT_EQ(whole.cpu.throttle_events, 8);
  EXPECT_EQ(whole.cpu.exchanged, 17);
  EXPECT_EQ(whole.cpu.lent, 240);
  EXPECT_EQ(whole.cpu.samples, 81);
  EXPECT_EQ(whole.memory.peak_rss_bytes, 900U);
  EXPECT_DOUBLE_EQ(whole.memory.rss_bytes->mean, 575);
  EXPECT_EQ(whole.memory.rss_bytes->min, 100);
  EXPECT_EQ(whole.memory.rss_bytes->max, 900);
  EXPECT_DOUBLE_EQ(whole.memory.pss_bytes->mean, 460);
  EXPECT_EQ(whole.memory.swap_bytes_max, 12U);
  EXPECT_EQ(whole.memory.ranks[0].peak_rss_bytes, 400U);
  EXPECT_EQ(whole.memory.ranks[1].peak_rss_bytes, 450U);
  EXPECT_EQ(whole.gpus[0].peak_memory_bytes, 5000U);
  first.memory.ranks.resize(1);  // other ranks
  EXPECT_EQ(together(second, first).memory.ranks[0].peak_rss_bytes, 300U);
  first.cpu.percent.reset();
  first.cpu.steal_percent_mean.reset();
  whole = together(second, first);
  EXPECT_DOUBLE_EQ(whole.cpu.percent->mean, 140) << "of the session that knows it";
  EXPECT_DOUBLE_EQ(*whole.cpu.steal_percent_mean, 1);
}

DeviceEnergy device(const std::string& name, double joules, double watts, double net, EnergyClass kind) {
  DeviceEnergy made;
  made.name = name;
  made.sensor = "powercap";
  made.kind = kind;
  made.joules = joules;
  made.peak_watts = watts;
  made.net_joules = net;
  return made;
}

Energy energy_of(double joules, double seconds) {
  Energy energy;
  energy.joules = joules;
  energy.seconds = seconds;
  energy.kind = EnergyClass::kMeasured;
  return energy;
}

TEST(SessionSums, EnergiesAddUpAndTheirProductsAreOfTheWhole) {
  Record first = first_session(), second = second_session();
  first.energy = energy_of(200, 10);
  second.energy = energy_of(900, 30);
  first.energy.used_joules = 150;
  second.energy.used_joules = 650;
  first.energy.net_joules = 120;
  second.energy.net_joules = -20;
  second.energy.net_interval = Interval{-30, -10};
  first.energy.by_class = {{"measured", 180}, {"estimated", 20}};
  second.energy.by_class = {{"measured", 900}};
  first.energy.kind = EnergyClass::kMixed;
  first.energy.domains = {{"package-0", 160}, {"dram", 40}};
  second.energy.domains = {{"dram", 100}, {"package-0", 800}};
  first.energy.devices = {device("package-0", 160, 30, 100, EnergyClass::kMeasured),
                          device("gpu 0", 40, 90, 20, EnergyClass::kEstimated)};
  second.energy.devices = {device("gpu 0", 100, 80, 5, EnergyClass::kMeasured),
                           device("package-0", 800, 35, -25, EnergyClass::kMeasured),
                           device("gpu 1", 7, 9, 1, EnergyClass::kMeasured)};
  const Energy whole = together(second, first).energy;
  EXPECT_EQ(whole.joules, 1100);
  EXPECT_EQ(whole.seconds, 40);
  EXPECT_EQ(whole.edp_js, 1100 * 40);
  EXPECT_EQ(whole.ed2p_js2, 1100 * 40 * 40);
  EXPECT_EQ(whole.used_joules, 800);
  EXPECT_EQ(whole.used_edp_js, 800 * 40);
  EXPECT_EQ(whole.net_joules, 100);
  EXPECT_EQ(whole.net_interval, std::nullopt) << "each session has its own idle power";
  EXPECT_EQ(whole.kind, EnergyClass::kMixed);
  EXPECT_EQ(whole.by_class, (std::map<std::string, double>{{"measured", 1080}, {"estimated", 20}}));
  EXPECT_EQ(whole.domains[0].joules, 140);
  EXPECT_EQ(whole.domains[1].joules, 960);
  const DeviceEnergy& gpu = whole.devices[0];
  EXPECT_EQ(gpu.joules, 140);
  EXPECT_EQ(gpu.mean_watts, 3.5);
  EXPECT_EQ(gpu.peak_watts, 90);
  EXPECT_EQ(gpu.net_joules, 25);
  EXPECT_EQ(gpu.kind, EnergyClass::kMixed);
  EXPECT_EQ(whole.devices[1].joules, 960);
  EXPECT_EQ(whole.devices[1].peak_watts, 35);
  EXPECT_EQ(whole.devices[1].net_joules, 75);
  EXPECT_EQ(whole.devices[2].joules, std::nullopt);
  EXPECT_EQ(whole.devices[2].net_joules, std::nullopt);
  EXPECT_EQ(whole.devices[2].kind, EnergyClass::kAbsent);
  EXPECT_THAT(whole.devices[2].reason, HasSubstr("a session before did not know it"));
}

TEST(SessionSums, ADeviceIsTheSameByItsSensorAndHost) {
  Record first = first_session(), second = second_session();
  first.energy = energy_of(200, 10);
  second.energy = energy_of(900, 30);
  first.energy.devices = {device("package-0", 160, 30, 100, EnergyClass::kMeasured)};
  second.energy.devices = first.energy.devices;
  second.energy.devices[0].host = "other";
  EXPECT_EQ(together(second, first).energy.devices[0].joules, std::nullopt);
  second.energy.devices[0].host = "";
  second.energy.devices[0].sensor = "perf";
  EXPECT_EQ(together(second, first).energy.devices[0].joules, std::nullopt);
  second.energy.devices[0].sensor = "powercap";
  EXPECT_EQ(together(second, first).energy.devices[0].joules, 320);
}

TEST(SessionSums, NetEnergyOfOneSessionAloneIsNone) {
  Record first = first_session(), second = second_session();
  first.energy = energy_of(200, 10);
  second.energy = energy_of(900, 30);
  second.energy.net_joules = 700;
  Energy whole = together(second, first).energy;
  EXPECT_EQ(whole.net_joules, std::nullopt);
  EXPECT_THAT(whole.net_reason, HasSubstr("not all sessions measured their idle power"));
  second.energy.net_reason = "the idle power was not asked for";
  EXPECT_EQ(together(second, first).energy.net_reason, "the idle power was not asked for");
}

TEST(SessionSums, WhatOneSessionLostLeavesTheRunInvalid) {
  Record first = first_session(), second = second_session();
  first.energy.reason = "the machine slept";
  first.energy.lost = {"package-0: the machine slept for 5 s"};
  second.energy = energy_of(900, 30);
  const auto energy_rules = [](const Record& record) {
    std::vector<std::string> what;
    for (const ValidityReason& reason : judge(record).reasons) {
      if (reason.rule == "energy") what.push_back(reason.what);
    }
    return what;
  };
  Record whole = together(second, first);
  EXPECT_EQ(whole.energy.joules, std::nullopt);
  EXPECT_THAT(whole.energy.reason, HasSubstr("the sessions before did not record it"));
  EXPECT_THAT(energy_rules(whole), ElementsAre("package-0: the machine slept for 5 s"));
  first.energy = energy_of(200, 10);
  EXPECT_THAT(energy_rules(together(second, first)), IsEmpty());
  second.energy.lost = {"gpu 0: it is lost"};
  EXPECT_THAT(energy_rules(together(second, first)), ElementsAre("gpu 0: it is lost"));
}

TEST(SessionSums, ASumIsAbsentWhereEitherPartIs) {
  Record first = first_session(), second = second_session();
  first.times.total = 10;
  first.times.load = second.times.total = 30;
  const Record whole = together(second, first);
  EXPECT_EQ(whole.times.total, 40);
  EXPECT_EQ(whole.times.load, std::nullopt) << "not the earlier one's alone";
  EXPECT_EQ(whole.times.init, std::nullopt);
  EXPECT_EQ(whole.missing.at("times_s.init"), "the sessions before did not record it");
  EXPECT_EQ(whole.missing.at("times_s.first_step"), "the sessions before did not record it");
  first.sessions.insert(first.sessions.begin(), first.sessions[0]);
  first.sessions[1].status = Status::kKilled;
  EXPECT_EQ(together(second, first).missing.at("times_s.init"), "session 2 was killed before it wrote this");
  first.sessions[0].started.clear();
  EXPECT_THAT(together(second, first).missing.at("times_s.init"), HasSubstr("was not there"));
}

TEST(SessionSums, ASessionThatEndedBeforeItsFirstStepTrainedForNoTime) {
  const auto train_s = [](const auto& change) {
    Record first = first_session(), second = second_session();
    first.sessions[0].images = 0;
    first.sessions[0].status = Status::kInterrupted;
    second.times.train = 11, second.times.validate = 5, second.times.test = 2;
    change(first, second);
    const Record whole = together(second, first);
    EXPECT_EQ(whole.times.validate.has_value(), whole.times.train.has_value());
    EXPECT_EQ(whole.times.test.has_value(), whole.times.train.has_value());
    return whole.times.train;
  };
  EXPECT_EQ(train_s([](Record&, Record&) {}), 11);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.sessions[0].status = Status::kKilled; }), 11);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.times.train = first.times.validate = first.times.test = 3; }),
            14);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.sessions[0].status = Status::kDone; }), std::nullopt);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.sessions[0].images = 5; }), std::nullopt);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.sessions[0].started.clear(); }), std::nullopt);
  EXPECT_EQ(train_s([](Record& first, Record&) { first.sessions.push_back(second_session().sessions[0]); }),
            std::nullopt)
      << "the other one worked";
  EXPECT_EQ(train_s([](Record&, Record& second) { second.kind = "infer"; }), std::nullopt);
}

TEST(SessionSums, ASpeedIsOfTheSamplesThatThereAre) {
  Record first = first_session(), second = second_session();
  const auto samples = [](int count, double from) {
    std::vector<double> all;
    for (int n = 0; n < count; ++n) all.push_back(from + n);
    return all;
  };
  first.images_per_s = throughput_of(samples(9, 100), "steps");
  EXPECT_EQ(together(second, first).images_per_s.median, 104) << "the second one was too short for a speed";
  second.images_per_s = throughput_of(samples(9, 109), "steps");
  const Throughput both = together(second, first).images_per_s;
  EXPECT_EQ(both.median, 108.5);
  ASSERT_TRUE(both.interval) << "eighteen samples have one, and nine do not";
  EXPECT_EQ(both.interval->low, median_interval(samples(18, 100))->low);
  first.images_per_s = {};
  EXPECT_EQ(together(second, first).images_per_s.median, 113);
}

TEST(SessionSums, UncertaintiesAddUpAndEachAbsenceHasItsReason) {
  Record first = first_session(), second = second_session();
  first.energy = energy_of(200, 10);
  second.energy = energy_of(900, 30);
  first.energy.uncertainty_joules = 3, second.energy.uncertainty_joules = 4;
  second.energy.used_joules = second.energy.process_joules = 7;
  first.energy.devices = second.energy.devices = {device("package-0", 160, 30, 100, EnergyClass::kMeasured)};
  first.energy.devices[0].uncertainty_joules = 2, second.energy.devices[0].uncertainty_joules = 6;
  first.energy.checks = {{.first = "a", .second = "b"}};
  second.energy.checks = {{.first = "c", .second = "d"}};
  Energy whole = together(second, first).energy;
  EXPECT_EQ(whole.uncertainty_joules, 7);
  EXPECT_EQ(whole.devices[0].uncertainty_joules, 8);
  EXPECT_THAT(whole.checks, ElementsAre(Field(&MeterCheck::first, "a"), Field(&MeterCheck::first, "c")));
  EXPECT_EQ(whole.used_joules, std::nullopt);
  EXPECT_EQ(whole.used_edp_js, std::nullopt);
  EXPECT_EQ(whole.used_reason, "not all sessions knew it");
  EXPECT_EQ(whole.process_reason, "not all sessions knew it");
  EXPECT_EQ(whole.work_reason, "not all sessions knew it");
  first.energy.devices[0].uncertainty_joules.reset();
  first.energy.seconds.reset();
  second.energy.used_reason = "no sensor sees them";
  whole = together(second, first).energy;
  EXPECT_EQ(whole.devices[0].uncertainty_joules, std::nullopt);
  EXPECT_EQ(whole.devices[0].mean_watts, std::nullopt) << "over an unknown time";
  EXPECT_EQ(whole.used_reason, "no sensor sees them");
  second.energy.joules.reset();
  second.energy.reason = "it was lost";
  whole = together(second, first).energy;
  EXPECT_EQ(whole.reason, "it was lost") << "the first one's is not the run's";
  EXPECT_EQ(whole.checks.size(), 2U);
}

}  // namespace
}  // namespace evener::record
