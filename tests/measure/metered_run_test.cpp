#include "measure/run/metered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/phase.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kLongEnoughForCpuTime{60};  // the kernel counts ticks

struct Shown : RunObserver {
  void on_note(const std::string& text) override { notes.push_back(text); }
  void on_failure() override { ++failures; }

  std::vector<std::string> notes;
  int failures = 0;
};

class MeteredRunTest : public ::testing::Test {
 protected:
  RunOptions options() { return {.kind = "count", .version = "1.2", .command = {"evener", "count"}, .out = out_}; }

  /// A made-up task: it counts images, with a phase, and gives a figure of its own.
  static record::Record count(MeteredRun& run) {
    run.begin();
    {
      mark_critical_thread();
      const PhaseMark mark(Phase::kForward);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    record::Record record = run.record();
    run.take_times(record);
    record::add_metric(record, {.name = "counted", .unit = "", .title = "counted", .label = "count", .value = 3});
    return record;
  }

  test::TestFolder folder_;
  std::filesystem::path out_ = folder_ / "out";
  Shown shown_;
};

// A made-up load: what the sampler saw of this machine's own others, held against the rule.
TEST_F(MeteredRunTest, JudgesWithAFolderAndWithout) {
  for (const bool has_folder : {true, false}) {
    RunOptions wanted = options();
    if (!has_folder) wanted.out.clear();
    MeteredRun run(wanted, shown_);
    const record::Record record = run.measure([&] {
      std::this_thread::sleep_for(kLongEnoughForCpuTime);
      return count(run);
    });
    ASSERT_TRUE(record.cpu.others_percent) << has_folder;
    ASSERT_TRUE(record.validity.valid) << "somebody looked";
    const double others = record.cpu.others_percent->mean / std::max(1, record.machine.online_cpus);
    EXPECT_EQ(record::is_beside_others(record.validity),
              others > record::ValidityLimits().others_percent ||
                  record.cpu.steal_percent_mean.value_or(0) / std::max(1, record.machine.online_cpus) >
                      record::ValidityLimits().steal_percent)
        << others;
    EXPECT_TRUE(record.memory.peak_rss_bytes);
    EXPECT_EQ(std::filesystem::exists(out_ / "record.json"), has_folder);
    std::filesystem::remove_all(out_);
  }
}

TEST_F(MeteredRunTest, GivesATaskARecordWithTheCommonPart) {
  MeteredRun run(options(), shown_);
  run.measure([&] { return count(run); });
  const record::Record record = record::read_record(out_);
  EXPECT_EQ(record.kind, "count");
  EXPECT_THAT(record.command, ElementsAre("evener", "count"));
  EXPECT_EQ(record.versions.at("evener"), "1.2");
  EXPECT_GT(record.machine.logical_cpus, 0);
  EXPECT_FALSE(record.started.empty());
  EXPECT_GT(record.times.total.value(), 0);
  EXPECT_GT(record.phases_s.at("forward"), 0);
  EXPECT_GT(record.memory.peak_rss_bytes.value(), 0u);
  EXPECT_TRUE(record.validity.valid.has_value());
  EXPECT_EQ(record.metrics.at("counted").value, 3);
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.csv"));
}

TEST_F(MeteredRunTest, ATaskThatSaysWhyIsNotJudged) {
  MeteredRun run(options(), shown_);
  run.measure([&] {
    record::Record record = count(run);
    record.missing["validity.valid"] = "there was nothing to judge";
    return record;
  });
  EXPECT_EQ(record::read_record(out_).validity.valid, std::nullopt);
}

TEST_F(MeteredRunTest, TheLockRefusesASecondRun) {
  std::filesystem::create_directories(out_);
  RunOptions second = options();
  second.overwrite = true;
  {
    MeteredRun run(options(), shown_);
    run.measure([&] {
      try {
        const MeteredRun other(second, shown_);
        ADD_FAILURE() << "two runs write to one folder";
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("another run is writing to " + out_.string()));
      }
      EXPECT_TRUE(std::filesystem::exists(out_)) << "the refused run must not take the other's folder away";
      EXPECT_TRUE(std::filesystem::exists(out_ / "samples.csv.new"));
      return run.record();
    });
  }
  EXPECT_NO_THROW(MeteredRun(second, shown_)) << "the lock goes with its run";
}

TEST_F(MeteredRunTest, WhatIsTriedOutIsNotSampled) {
  for (const SampledFrom from : {SampledFrom::kStart, SampledFrom::kBegin}) {
    MeteredRun run(options(), shown_);
    run.measure(
        [&] {
          EXPECT_EQ(std::filesystem::exists(out_ / "samples.csv.new"), from == SampledFrom::kStart);
          run.begin();
          EXPECT_TRUE(std::filesystem::exists(out_ / "samples.csv"));
          run.withdraw();
          return run.record();
        },
        from);
  }
}

TEST_F(MeteredRunTest, AnErrorBeforeTheWorkTakesTheFolderAway) {
  {
    MeteredRun run(options(), shown_);
    EXPECT_THROW(run.measure([]() -> record::Record { throw Error("no data"); }), Error);
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_EQ(shown_.failures, 1);
}

TEST_F(MeteredRunTest, AnErrorInTheWorkLeavesNoRecord) {
  {
    MeteredRun run(options(), shown_);
    EXPECT_THROW(run.measure([&]() -> record::Record {
      run.begin();
      throw Error("the disk is full");
    }),
                 Error);
  }
  EXPECT_FALSE(std::filesystem::exists(out_ / "record.json"));
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.csv"));
}

TEST_F(MeteredRunTest, InterruptedWorkLeavesARecord) {
  {
    MeteredRun run(options(), shown_);
    EXPECT_THROW(run.measure([&]() -> record::Record {
      run.begin();
      run.note("half of it");
      throw Interrupted("Ctrl-C");
    }),
                 Interrupted);
  }
  const record::Record record = record::read_record(out_);
  EXPECT_EQ(record.status, record::Status::kInterrupted);
  EXPECT_EQ(record.validity.valid, false);
  EXPECT_THAT(record.notes, ElementsAre("half of it"));
  EXPECT_THAT(shown_.notes, ElementsAre("half of it"));
}

TEST_F(MeteredRunTest, WhatNobodyTimedIsNullAndNotZero) {
  const auto interrupted = [&](const std::string& kind, std::int64_t images) {
    RunOptions chosen = options();
    chosen.kind = kind;
    chosen.overwrite = true;
    {
      MeteredRun run(chosen, shown_);
      EXPECT_THROW(run.measure([&]() -> record::Record {
        run.begin();
        run.record().times.train = images > 0 ? 2.5 : 0;
        run.record().sessions.back().images = images;
        throw Interrupted("Ctrl-C");
      }),
                   Interrupted);
    }
    return record::read_record(out_);
  };
  EXPECT_EQ(interrupted("train", 0).times.train, std::nullopt);
  EXPECT_THAT(interrupted("train", 0).missing.at("times_s.train"), HasSubstr("before its first step"));
  EXPECT_EQ(interrupted("train", 32).times.train, 2.5) << "what was timed stays, also where no record was saved";
  const record::Record other = interrupted("count", 0);
  EXPECT_EQ(other.times.validate, std::nullopt);
  EXPECT_EQ(other.times.test, std::nullopt);
}

TEST_F(MeteredRunTest, ASessionWithoutAStepLeavesTheSumsOfTheOthers) {
  RunOptions chosen = options();
  chosen.kind = "train";
  chosen.can_resume = true;
  const auto trained = [&](double train_s) {
    MeteredRun run(chosen, shown_);
    run.measure([&] {
      run.begin();
      run.start_again();  // ranks were lost before their first step
      run.record().times.train = train_s;
      run.record().times.validate = 0.5;
      run.record().sessions.back().images = 64;
      record::Record record = run.record();
      run.take_times(record);
      return record;
    });
    return record::read_record(out_);
  };
  const record::Record first = trained(3);
  EXPECT_EQ(first.sessions.size(), 2u);
  EXPECT_EQ(first.times.train, 3);
  EXPECT_FALSE(first.missing.contains("times_s.train"));
  test::write_text(out_ / "last.safetensors", "");  // so that it can go on
  chosen.resume = true;
  {
    MeteredRun run(chosen, shown_);
    EXPECT_THROW(run.measure([&]() -> record::Record {
      run.begin();
      throw Interrupted("Ctrl-C");
    }),
                 Interrupted);
  }
  EXPECT_EQ(record::read_record(out_).times.train, 3) << "what is known of the other sessions";
  const record::Record last = trained(4);
  EXPECT_EQ(last.sessions.size(), 5u);
  EXPECT_EQ(last.times.train, 7);
  EXPECT_EQ(last.times.validate, 1);
}

TEST_F(MeteredRunTest, WhatIsInterruptedBeforeItBeginsLeavesNothing) {
  {
    MeteredRun run(options(), shown_);
    EXPECT_THROW(run.measure([]() -> record::Record { throw Interrupted("Ctrl-C"); }), Interrupted);
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(MeteredRunTest, ARunInTheFolderIsReplacedWhenTheWorkBegins) {
  {
    MeteredRun run(options(), shown_);
    run.measure([&] { return count(run); });
  }
  EXPECT_THROW(MeteredRun(options(), shown_), UsageError);
  RunOptions again = options();
  again.overwrite = true;
  MeteredRun run(again, shown_);
  EXPECT_TRUE(std::filesystem::exists(out_ / "record.json"));
  run.begin();
  EXPECT_FALSE(std::filesystem::exists(out_ / "record.json"));
}

TEST_F(MeteredRunTest, WhatLaterCommandsWouldTakeForTheNewRunsGoesWithTheOldOne) {
  const std::vector<const char*> of_run = {"record.json",
                                           "report.html",
                                           "epochs.csv",
                                           "best.safetensors",
                                           "quantized.safetensors",
                                           "quantized.onnx",
                                           "layers.csv",
                                           "metrics.csv",
                                           "confusion.csv",
                                           "predictions.csv",
                                           "detections.csv",
                                           "answers.json",
                                           "latencies.csv",
                                           "detection.json",
                                           "calibration.json",
                                           "best.calibration.safetensors",
                                           "last.safetensors",
                                           "quantized.calibration.safetensors",
                                           "last.resume-3",
                                           "best.new-12"};
  const std::vector<const char*> of_others = {"faces.journal", "notes.txt", "my-record.json", "best.safetensors.bak"};
  for (const char* name : of_run) test::write_text(out_ / name, "old");
  for (const char* name : of_others) test::write_text(out_ / name, "old");  // 'evener faces --resume' needs its own
  RunOptions over = options();
  over.overwrite = true;
  MeteredRun run(over, shown_);
  for (const char* name : of_run) EXPECT_TRUE(std::filesystem::exists(out_ / name)) << name << ", before the work";
  run.begin();
  for (const char* name : of_run) EXPECT_FALSE(std::filesystem::exists(out_ / name)) << name;
  for (const char* name : of_others) EXPECT_TRUE(std::filesystem::exists(out_ / name)) << name;
}

TEST_F(MeteredRunTest, WhatARunStartsFromIsNotRemoved) {
  for (const char* name : {"record.json", "best.safetensors", "given.pth"}) test::write_text(out_ / name, "old");
  std::filesystem::create_symlink(out_ / "best.safetensors", folder_ / "link.safetensors");
  const auto refusal = [&](const std::filesystem::path& read, bool overwrite) -> std::string {
    RunOptions over = options();
    over.overwrite = overwrite;
    over.reads = {"", read};
    return test::thrown_by<UsageError>([&] { const MeteredRun run(over, shown_); }, "");
  };
  EXPECT_THAT(refusal(out_ / "best.safetensors", true), HasSubstr("would remove; give another --out"));
  EXPECT_THAT(refusal(out_ / "best.safetensors", false), HasSubstr("would remove; give another --out"));
  EXPECT_THAT(refusal(folder_ / "link.safetensors", true), HasSubstr("would remove"));
  EXPECT_EQ(refusal(out_ / "given.pth", true), "");  // stays
  test::write_text(folder_ / "elsewhere/best.safetensors", "old");
  EXPECT_EQ(refusal(folder_ / "elsewhere/best.safetensors", true), "") << "a file of that name in another folder";
  EXPECT_TRUE(std::filesystem::exists(out_ / "best.safetensors"));
}

TEST_F(MeteredRunTest, WithoutAFolderItWritesNothing) {
  RunOptions nowhere = options();
  nowhere.out.clear();
  MeteredRun run(nowhere, shown_);
  const record::Record record = run.measure([&] { return count(run); });
  EXPECT_GT(record.phases_s.at("forward"), 0);
  EXPECT_TRUE(run.folder().empty());
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(MeteredRunTest, ARunUnderWayLeavesWhatIsKnown) {
  MeteredRun run(options(), shown_);
  run.begin();
  run.save_so_far(run.record());
  const record::Record record = record::read_record(out_);
  EXPECT_EQ(record.status, record::Status::kRunning);
  EXPECT_THAT(record.validity.reasons.front().what, HasSubstr("has not ended"));
  EXPECT_EQ(record.missing.at("cpu.seconds"), "the run has not ended");
  run.measure([&] { return run.record(); });
  EXPECT_EQ(record::read_record(out_).status, record::Status::kDone);
  EXPECT_FALSE(record::read_record(out_).missing.contains("cpu.seconds"));
}

TEST_F(MeteredRunTest, AFailureAfterThatIsRecorded) {
  {
    MeteredRun run(options(), shown_);
    EXPECT_THROW(run.measure([&]() -> record::Record {
      run.begin();
      run.save_so_far(run.record());
      throw Error("the disk is full");
    }),
                 Error);
  }
  const record::Record record = record::read_record(out_);
  EXPECT_EQ(record.status, record::Status::kFailed);
  EXPECT_THAT(record.notes, ElementsAre("the disk is full"));
  EXPECT_GT(record.memory.peak_rss_bytes.value(), 0u);
}

TEST_F(MeteredRunTest, RanksThatStartAgainAreAnotherSession) {
  MeteredRun run(options(), shown_);
  run.measure([&] {
    run.begin();
    run.record().times.train = 2;
    run.save_so_far(run.record());
    std::this_thread::sleep_for(kLongEnoughForCpuTime);
    run.start_again();
    run.record().times.train = 3;
    std::this_thread::sleep_for(kLongEnoughForCpuTime);
    record::Record record = run.record();
    run.take_times(record);
    return record;
  });
  const record::Record record = record::read_record(out_);
  ASSERT_EQ(record.sessions.size(), 2u);
  EXPECT_EQ(record.sessions[0].status, record::Status::kKilled);
  EXPECT_EQ(record.sessions[1].status, record::Status::kDone);
  EXPECT_EQ(record.times.train, 5);
  EXPECT_DOUBLE_EQ(*record.times.total, *record.sessions[0].seconds + *record.sessions[1].seconds);
  ASSERT_TRUE(record.cpu.seconds.has_value());
  EXPECT_DOUBLE_EQ(*record.cpu.seconds, *record.sessions[0].cpu_seconds + *record.sessions[1].cpu_seconds);
  EXPECT_EQ(record.validity.reasons.front().rule, "lost session");
}

TEST_F(MeteredRunTest, WhatIsWithdrawnWritesNothing) {
  {
    MeteredRun run(options(), shown_);
    run.measure([&] {
      run.begin();
      run.withdraw();
      return run.record();
    });
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(MeteredRunTest, AnOutputThatCannotBeWrittenIsFoundAtTheStart) {
  RunOptions lost = options();
  lost.json = folder_ / "none/record.json";
  EXPECT_THROW(MeteredRun(lost, shown_), Error);
  EXPECT_FALSE(std::filesystem::exists(out_));
  lost.json = "-";
  EXPECT_NO_THROW(MeteredRun(lost, shown_));
}

TEST_F(MeteredRunTest, ASessionHasItsPlaceItsEngineAndItsImages) {
  MeteredRun run(options(), shown_);
  run.measure([&] {
    run.begin();
    run.worked(run.look(), 24);
    record::Record record = run.record();
    record.engine = "native";
    placement::Plan plan;
    plan.text = "3xcpu/t1";
    plan.replicas.assign(3, {0, {placement::PlanStage{}}, 1.0 / 3});
    record.placement = placement_record(plan);
    run.take_times(record);
    return record;
  });
  const record::Record record = record::read_record(out_);
  ASSERT_EQ(record.sessions.size(), 1u);
  const record::SessionRecord& session = record.sessions.front();
  EXPECT_EQ(session.images, 24);
  EXPECT_EQ(session.engine, "native");
  EXPECT_EQ(session.placement, "3xcpu/t1");
  EXPECT_EQ(session.replicas, 3);
  EXPECT_EQ(session.status, record::Status::kDone);
  EXPECT_EQ(session.seconds, record.times.total);
  EXPECT_EQ(session.cpu, record.machine.cpu);
  EXPECT_EQ(session.started, record.started);
  EXPECT_THAT(session.command, ElementsAre("evener", "count"));
}

TEST_F(MeteredRunTest, ATraceOfThePhasesIsWrittenWhereAsked) {
  RunOptions traced = options();
  traced.trace = folder_ / "trace.json";
  MeteredRun run(traced, shown_);
  run.measure([&] { return count(run); });
  EXPECT_THAT(read_file(folder_ / "trace.json"), HasSubstr("\"forward\""));
}

// Rank 0 tells the phases of its own process, in which nobody was started.
TEST_F(MeteredRunTest, StartingRanksIsAPhaseOfTheProcessThatStartsThem) {
  MeteredRun run(options(), shown_);
  run.measure([&] {
    run.begin();
    record::Record record = run.record();
    record.phases_s = {{"forward", 1.5}};
    mark_critical_thread();
    const PhaseMark mark(Phase::kSpawn);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return record;
  });
  const auto phases_s = record::read_record(out_).phases_s;
  EXPECT_EQ(phases_s.at("forward"), 1.5);
  EXPECT_GT(phases_s.at("spawn"), 0.004);
}

TEST_F(MeteredRunTest, SavingMeanwhileTakesASmallShareOfTheTimeUnlessItMustNotBeLost) {
  MeteredRun run(options(), shown_);
  run.save_now(run.record());
  EXPECT_FALSE(std::filesystem::exists(out_ / "record.json")) << "before the work begins";
  run.begin();
  record::Record record = run.record();
  const auto saved_after = [&](const char* engine, bool in_any_case) {
    record.engine = engine;
    in_any_case ? run.save_now(record) : run.save_so_far(record);
    return record::read_record(out_).engine;
  };
  EXPECT_EQ(saved_after("first", false), "first");
  EXPECT_EQ(saved_after("second", false), "first") << "so soon after the other";
  EXPECT_EQ(saved_after("third", true), "third");
}

TEST_F(MeteredRunTest, ThatItCannotBeSavedIsSaidOnceAndTheRunGoesOn) {
  MeteredRun run(options(), shown_);
  run.measure([&] {
    run.begin();
    std::filesystem::create_directory(out_ / "record.json");  // can't be replaced by a file
    run.save_now(run.record());
    run.save_now(run.record());
    std::filesystem::remove(out_ / "record.json");
    return run.record();
  });
  const auto told = HasSubstr("the record can't be followed while the run goes on: ");
  EXPECT_THAT(shown_.notes, ::testing::Contains(told).Times(1));
  EXPECT_THAT(record::read_record(out_).notes, ElementsAre(told));
}

TEST_F(MeteredRunTest, TheTimeSinceItWasSavedCountsInWhatIsInterrupted) {
  RunOptions chosen = options();
  chosen.can_resume = true;
  for (const bool resumes : {false, true}) {
    chosen.resume = resumes;
    MeteredRun run(chosen, shown_);
    EXPECT_THROW(run.measure([&]() -> record::Record {
      run.begin();
      run.record().times.train = 0.25;
      run.save_now(run.record());
      std::this_thread::sleep_for(kLongEnoughForCpuTime);
      throw Interrupted("Ctrl-C");
    }),
                 Interrupted);
    test::write_text(out_ / "last.safetensors", "");  // so that it can go on
  }
  const record::Record record = record::read_record(out_);
  ASSERT_EQ(record.sessions.size(), 2u);
  EXPECT_EQ(record.status, record::Status::kInterrupted);
  for (const record::SessionRecord& session : record.sessions) {
    EXPECT_EQ(session.status, record::Status::kInterrupted);
    EXPECT_GE(session.seconds.value_or(0), 0.06);
  }
  EXPECT_DOUBLE_EQ(record.times.total.value_or(0), *record.sessions[0].seconds + *record.sessions[1].seconds);
  EXPECT_EQ(record.times.train, 0.5);
}

/// Counts how often it begins again.
struct CountingJob {
  const placement::Plan& plan() const { return on; }
  void leave_out(int rank) { on = placement::without_replica(std::move(on), rank); }
  std::size_t shared_bytes() const { return 0; }
  void rewind() { ++rewinds; }

  placement::Plan on;
  int rewinds = 0;
};

/// Two replicas as processes of one thread each.
placement::Plan two_processes() {
  placement::Plan plan;
  plan.text = "2xcpu/t1";
  for (int rank = 0; rank < 2; ++rank) {
    placement::PlanReplica replica;
    replica.rank = rank;
    replica.stages.emplace_back();
    replica.share = 0.5;
    plan.replicas.push_back(replica);
    plan.processes.push_back({{rank}});
  }
  return plan;
}

class RunOnAllRanks : public ::testing::Test {
 protected:
  /// Rank 1 is killed in the first `lost` of its lives.
  parallel::RankBody body(int lost) {
    return [this, lost](const parallel::RankContext& seat) {
      if (seat.rank == 1 && job_.rewinds < lost) kill(getpid(), SIGKILL);
      return std::to_string(seat.rank) + " of " + std::to_string(seat.ranks);
    };
  }

  test::TestFolder folder_;
  Shown shown_;
  MeteredRun run_{{.kind = "count", .version = "1", .out = folder_ / "out"}, shown_};
  CountingJob job_{two_processes()};
};

TEST_F(RunOnAllRanks, GivesTheResultsOfAll) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {}, body(0)), ElementsAre("0 of 2", "1 of 2"));
  EXPECT_EQ(job_.rewinds, 0);
}

TEST_F(RunOnAllRanks, StartsAgainAsOftenAsItMay) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {.restarts = 2}, body(2)), ElementsAre("0 of 2", "1 of 2"));
  EXPECT_EQ(job_.rewinds, 2);
  EXPECT_THAT(run_.record().notes, ElementsAre(HasSubstr("starting again from the beginning"),
                                               HasSubstr("starting again from the beginning")));
  EXPECT_EQ(shown_.notes, run_.record().notes);
}

TEST_F(RunOnAllRanks, SaysWhatToDoWhenItMayNot) {
  try {
    run_on_all_ranks(run_, job_, {}, body(1));
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--restarts 1 starts it again by itself"));
  }
}

TEST_F(RunOnAllRanks, AnElasticJobGoesOnWithoutTheLostRank) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {.elastic = true}, body(1)), ElementsAre("0 of 1"));
  EXPECT_EQ(job_.on.replicas.size(), 1u);
  EXPECT_EQ(run_.record().placement.replicas.size(), 1u);
  EXPECT_THAT(run_.record().notes, ElementsAre(HasSubstr("without it")));
}

TEST_F(RunOnAllRanks, SaysWhetherThereIsACheckpointToGoOnFrom) {
  const auto loss = [&](int restarts, int lost) {
    return test::thrown_by([&] { run_on_all_ranks(run_, job_, {.restarts = restarts}, body(lost)); });
  };
  const std::string twice = loss(1, 2);
  EXPECT_THAT(twice, HasSubstr(parallel::kNothingSaved));
  EXPECT_THAT(twice, ::testing::Not(HasSubstr("--restarts 1"))) << "it was given";
  EXPECT_EQ(job_.rewinds, 1);
  test::write_text(run_.folder() / "last.safetensors", "");
  EXPECT_THAT(loss(0, 3), HasSubstr(parallel::kResumeAdvice));
  run_on_all_ranks(run_, job_, {.restarts = 1}, body(2));
  EXPECT_THAT(run_.record().notes.back(), HasSubstr("; starting again from the last checkpoint"));
}

TEST_F(RunOnAllRanks, AnElasticJobIsStartedAgainAsOftenAsItMayFirst) {
  EXPECT_THAT(run_on_all_ranks(run_, job_, {.restarts = 1, .elastic = true}, body(2)), ElementsAre("0 of 1"));
  EXPECT_EQ(job_.rewinds, 2);
  ASSERT_EQ(run_.record().notes.size(), 2u);
  EXPECT_THAT(run_.record().notes[0], ::testing::EndsWith("from the beginning"));
  EXPECT_THAT(run_.record().notes[1], ::testing::EndsWith("from the beginning without it"));
  EXPECT_EQ(run_.record().placement.replicas.size(), 1u);
}

TEST_F(RunOnAllRanks, TheMemoryOfEachProcessIsInTheRecord) {
  const record::Record record = run_.measure([&] {
    run_.begin();
    run_on_all_ranks(run_, job_, {}, body(0));
    return run_.record();
  });
  ASSERT_EQ(record.memory.ranks.size(), 2u);
  for (const auto& rank : record.memory.ranks) EXPECT_GT(rank.peak_rss_bytes.value_or(0), 1'000'000u);
}

placement::Plan mixed_plan() {
  placement::Plan plan;
  plan.text = "cpu/t6@0.5..cuda:1 + cpu/t2..cpu/t9";
  placement::PlanStage slow, gpu, two, nine;
  slow.threads = 6;
  slow.cpus = {4, 5, 6};
  slow.factor = 0.5;
  gpu.device = {DeviceKind::kCuda, 1};
  two.threads = 2;
  nine.threads = 9;
  plan.replicas.push_back({0, {slow, gpu}, 0.25});
  plan.replicas.push_back({1, {two, nine}, {}});
  return plan;
}

TEST(PlacementRecord, HasEachStageWithWhatIsKnownOfIt) {
  const record::PlacementRecord record = placement_record(mixed_plan());
  EXPECT_EQ(record.text, "cpu/t6@0.5..cuda:1 + cpu/t2..cpu/t9");
  ASSERT_EQ(record.replicas.size(), 2U);
  EXPECT_EQ(record.replicas[0].share, 0.25);
  EXPECT_FALSE(record.replicas[1].share);
  const record::StageRecord &slow = record.replicas[0].stages.at(0), &gpu = record.replicas[0].stages.at(1);
  EXPECT_EQ(slow.device, "cpu");
  EXPECT_EQ(slow.threads, 6);
  EXPECT_THAT(slow.cpus, ElementsAre(4, 5, 6));
  EXPECT_EQ(slow.emulated_speed, 0.5);
  EXPECT_EQ(gpu.device, "cuda:1");
  EXPECT_FALSE(gpu.threads) << "of a GPU the thread that drives it is none";
  EXPECT_FALSE(gpu.emulated_speed);
  EXPECT_FALSE(record.replicas[1].stages.at(0).emulated_speed) << "at full speed";
}

TEST(PlacementRecord, HasNoMoreThreadsThanAnEngineTakes) {
  record::PlacementRecord record = placement_record(mixed_plan());
  limit_threads(record, 5);
  EXPECT_EQ(record.replicas[0].stages[0].threads, 5);
  EXPECT_FALSE(record.replicas[0].stages[1].threads);
  EXPECT_EQ(record.replicas[1].stages[0].threads, 2);
  EXPECT_EQ(record.replicas[1].stages[1].threads, 5);
}

TEST(PrecisionFallbacks, AreThoseOfThePlansDevicesEachOnce) {
  record::Record record;
  record.fallbacks = {"something else"};
  add_precision_fallbacks(record, mixed_plan(), Precision::kFp16);
  add_precision_fallbacks(record, mixed_plan(), Precision::kFp16);
  EXPECT_THAT(record.fallbacks, ElementsAre("something else", HasSubstr("fp16 was computed as bf16")));
  placement::Plan gpu = mixed_plan();
  gpu.replicas = {{0, {mixed_plan().replicas[0].stages[1]}, {}}};
  add_precision_fallbacks(record, gpu, Precision::kTf32);
  EXPECT_EQ(record.fallbacks.size(), 2u) << "a GPU computes it";
}

}  // namespace
}  // namespace evener::measure
