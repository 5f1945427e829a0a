#include "report/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "support/sample_records_helpers.h"
#include "sweep/compare/compare.h"
#include "sweep/made_sweep_helpers.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using record::Record;
using test::MadeRun;
using test::runs_in_blocks;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

Record run(const char* placement, double images_per_s, double test_accuracy = 0.97) {
  return test::sample_record({.placement = placement, .images_per_s = images_per_s, .test_accuracy = test_accuracy});
}
/// The runs are named a, b, c.
std::vector<report::Run> named(const std::vector<Record>& records) {
  std::vector<report::Run> runs;
  for (const Record& record : records) {
    runs.emplace_back().record = record;
    runs.back().name = std::string(1, static_cast<char>('a' + runs.size() - 1));
  }
  return runs;
}
std::vector<std::string> sentences(const std::vector<Record>& records) {
  return report::conclusion(named(records));
}
std::string concluded(const std::vector<Record>& records) {
  return report::terminal_conclusion(named(records));
}
/// Twenty samples around `rate` that differ by up to `noise`.
record::Throughput speed_of(double rate, double noise) {
  std::vector<double> rates;
  for (int n = 0; n < 20; ++n) rates.push_back(rate * (1 + noise * (n * 7 % 20 - 9.5) / 9.5));
  return record::throughput_of(rates, "steps after the first epoch");
}
Record run_at(const char* placement, double rate, double noise) {
  Record record = run(placement, rate);
  record.images_per_s = speed_of(rate, noise);
  return record;
}

Record run_with(const char* placement, std::optional<double> joules) {
  Record record = run_at(placement, 100, 0.01);
  record.energy = {};
  record.energy.joules = joules;
  record.energy.kind = joules ? record::EnergyClass::kMeasured : record::EnergyClass::kAbsent;
  return record;
}

TEST(Conclusion, NamesTheMostFrugalBesideTheFastest) {
  EXPECT_THAT(
      sentences({run_with("cpu/t1", 70), run_with("cpu/t2", 100)}),
      Contains("In one run of each the least energy (measured) went into cpu/t1, 70 J: 0.700x of cpu/t2 (100 J)."));
  EXPECT_THAT(
      sentences({run_with("cpu/t1", 98), run_with("cpu/t2", 100)}),
      Contains("Which way takes the least energy (measured) is undecided between cpu/t1 (98 J) and cpu/t2 (100 J)."));
  Record coarse = run_with("cpu/t1", 70);
  coarse.energy.uncertainty_joules = 40;
  EXPECT_THAT(sentences({coarse, run_with("cpu/t2", 100)}), Contains(HasSubstr("is undecided between cpu/t1 (70 J)")));
  Record busy = run_with("cpu/t1", 70);
  busy.validity.valid = false;
  busy.validity.reasons = {{"other load", "others used 40 %", "end them"}};
  for (const auto& runs : {std::vector{busy, run_with("cpu/t2", 100)},
                           std::vector{run_with("cpu/t1", std::nullopt), run_with("cpu/t2", 100)}}) {
    EXPECT_THAT(concluded(runs), Not(HasSubstr("least energy")));
  }
}

TEST(Conclusion, ComparesTwoRuns) {
  EXPECT_THAT(
      concluded({run("cpu/t1", 14.5, 0.97), run("cpu/t2", 26.9, 0.972)}),
      MatchesRegex("In one run of each, resnet34 trained fastest on cpu/t2, with 2[67]\\.. images/s: 1\\.8.x as fast "
                   "as on cpu/t1 \\(14\\..\\)\\.\nTest accuracy of resnet34 is equal \\(97\\.0 % to 97\\.2 %\\)\\."));
}

TEST(Conclusion, IsHarmlessWhereItIsShown) {
  const std::vector<report::Run> runs = named({run("\x1b[2J\n<b>", 14.5)});
  EXPECT_THAT(report::conclusion(runs), ElementsAre(HasSubstr("on \x1b[2J\n<b>")));
  EXPECT_THAT(report::terminal_conclusion(runs), HasSubstr("on ?[2J?<b>"));
  EXPECT_THAT(report::markdown_conclusion(runs), HasSubstr("on ?\\[2J \\<b\\>"));
}

TEST(Conclusion, OverlappingIntervalsAreUndecided) {
  EXPECT_THAT(concluded({run_at("cpu/t1", 20, 0.3), run_at("cpu/t2", 22, 0.3)}),
              HasSubstr("Where resnet34 trains fastest is undecided between cpu/t2 and cpu/t1 (22.0 and 20.0 "
                        "images/s): the noise is larger than the difference"));
}

TEST(Conclusion, SmallDifferencesOfSingleRunsAreNotClaimed) {
  const Record a = run_at("cpu/t1", 20, 0.001), b = run_at("cpu/t2", 20.6, 0.001);
  ASSERT_EQ(record::compare_rates(a.images_per_s.samples, b.images_per_s.samples).verdict, record::Verdict::kFaster);
  EXPECT_THAT(concluded({a, b}), HasSubstr("trained about equally fast on cpu/t2 and cpu/t1 (20.6 and 20.0 images/s)"));
}

TEST(Conclusion, SpeedsOfSingleRunsCountFromFivePercentOn) {
  const auto steady = [](const char* placement, double images_per_s) {
    return run_at(placement, images_per_s, 0.0001);
  };
  EXPECT_THAT(concluded({steady("cpu/t1", 1000), steady("cpu/t2", 1048)}), HasSubstr("trained about equally fast"));
  EXPECT_THAT(concluded({steady("cpu/t1", 1000), steady("cpu/t2", 1052)}), HasSubstr("1.05x as fast as on cpu/t1"));
}

TEST(Conclusion, TooFewSamplesStayUndecided) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 40);
  a.images_per_s = record::throughput_of({20, 20.1, 19.9}, "steps after the first epoch");
  b.images_per_s = record::throughput_of({40, 40.1, 39.9}, "steps after the first epoch");
  EXPECT_THAT(concluded({a, b}), HasSubstr("Where resnet34 trains fastest stays undecided, with too few samples: 40.0 "
                                           "and 20.0 images/s on cpu/t2 and cpu/t1"));
  EXPECT_THAT(
      concluded({a, b, b}),
      HasSubstr(
          "Where resnet34 trains fastest stays undecided, with too few samples: 40.0, 40.0 and 20.0 images/s on "));
}

TEST(Conclusion, MissingSpeedsAreNotInvented) {
  Record a = run("cpu/t1", 20), b = run("cpu/t2", 40);
  b.images_per_s = {};
  EXPECT_THAT(concluded({a, b}), HasSubstr("The 2 runs can't be compared in speed: it is missing"));
}

TEST(Conclusion, WithoutATestPartValidationCounts) {
  Record a = run("cpu/t1", 10), b = run("cpu/t2", 20);
  b.training.accuracy.test.reset();
  EXPECT_THAT(concluded({a, b}), HasSubstr("alidation accuracy of resnet34"));
}

TEST(Conclusion, InvalidRunsAreNamedInASentenceOfTheirOwn) {
  Record a = run("cpu/t1", 10), b = run("cpu/t2", 20);
  b.validity = {false, {{"other load", "w", "a"}, {"swap", "w", "a"}}};
  EXPECT_THAT(sentences({a, b}), ElementsAre(HasSubstr("stays undecided, because the times are not to be quoted: "),
                                             "Test accuracy of resnet34 is equal (97.0 %).",
                                             "INVALID as measurements: b (other load, swap)."));
  a.validity = b.validity;
  Record c = run("cpu/t4", 40);
  c.validity = {false, {{"noise", "w", "a"}}};
  EXPECT_THAT(sentences({a, b, c}),
              AllOf(Contains("INVALID as measurements: a and b (other load, swap)."),
                    Contains("c ran with much noise: its times, speeds and joules are not to be quoted.")));
  EXPECT_THAT(sentences({c}), Contains("Measured with much noise: its times, speeds and joules are not to be quoted."));
}

TEST(Conclusion, OfManyRunsTheFastestIsComparedWithTheFirstAndTheNext) {
  EXPECT_THAT(sentences({run_at("cpu/t1", 10, 0.01), run_at("cpu/t2", 20, 0.01), run_at("cpu/t4", 40, 0.01)}),
              ElementsAre("In one run of each, resnet34 trained fastest on cpu/t4, with 40.0 images/s: 4.00x as fast "
                          "as on cpu/t1 (10.0), and 2.00x as fast as on cpu/t2 (20.0).",
                          "Test accuracy of resnet34 is equal (97.0 %)."));
  EXPECT_THAT(sentences({run_at("cpu/t4", 40, 0.01), run_at("cpu/t1", 10, 0.01), run_at("cpu/t2", 20, 0.01)}),
              Contains(HasSubstr("4.00x as fast as on cpu/t1 (10.0), and 2.00x as fast as on cpu/t2 (20.0)")));
}

TEST(Conclusion, InATieNoWinnerIsNamed) {
  const std::vector<std::string> told =
      sentences({run_at("cpu/t1", 24.7, 0.01), run_at("cpu/t2", 42.1, 0.01), run_at("2xcpu/t1", 43, 0.01)});
  EXPECT_THAT(told, ElementsAre("resnet34 trained about equally fast on 2xcpu/t1 and cpu/t2 (43.0 and 42.1 images/s): "
                                "single runs can't tell them apart.",
                                "That is 1.70x to 1.74x as fast as on cpu/t1 (24.7 images/s).",
                                "Test accuracy of resnet34 is equal (97.0 %)."));
  EXPECT_THAT(sentences({run_at("a", 10, 0.01), run_at("b", 10.1, 0.01), run_at("c", 10.2, 0.01)}),
              Contains(HasSubstr("about equally fast on c, b and a (10.2, 10.1 and 10.0 images/s)")));
}

TEST(Conclusion, NoiseThatIsLargerThanTheDifferenceNamesNoWinner) {
  const std::vector<std::string> told =
      sentences({run_at("cpu/t1", 10, 0.01), run_at("cpu/t2", 40, 0.01), run_at("2xcpu/t1", 46, 0.6)});
  EXPECT_THAT(told, Contains("Where resnet34 trains fastest is undecided between 2xcpu/t1 and cpu/t2 (46.0 and 40.0 "
                             "images/s): the noise is larger than the difference."));
}

TEST(Conclusion, InvalidMeasurementsNameNoWinner) {
  std::vector<Record> runs = {run_at("cpu/t1", 10, 0.01), run_at("cpu/t2", 20, 0.01), run_at("cpu/t4", 40, 0.01)};
  runs[2].validity = {false, {{"other load", "w", "a"}}};
  EXPECT_THAT(sentences(runs),
              AllOf(Contains(HasSubstr("In one run of each, resnet34 trained fastest on cpu/t2, with 20.0 images/s")),
                    Contains("Not compared, because their times are not to be quoted: cpu/t4 (40.0 images/s).")));
  runs[1].validity = runs[2].validity;
  EXPECT_THAT(sentences(runs), Contains("Where resnet34 trains fastest stays undecided, because the times are not to "
                                        "be quoted: 40.0, 20.0 and 10.0 images/s on cpu/t4, cpu/t2 and cpu/t1."));
}

TEST(Conclusion, OfManyRunsOneWithTooFewSamplesIsLeftOut) {
  Record few = run("cpu/t4", 99);
  few.images_per_s = record::throughput_of({99, 98}, "steps after the first epoch");
  EXPECT_THAT(sentences({run_at("cpu/t1", 10, 0.01), run_at("cpu/t2", 20, 0.01), few}),
              AllOf(Contains(HasSubstr("In one run of each, resnet34 trained fastest on cpu/t2, with 20.0 images/s")),
                    Contains("Not compared, with too few samples: cpu/t4 (98.5 images/s).")));
}

TEST(Conclusion, AccuraciesOfManyRunsAreToldTogether) {
  const auto accuracies = [](double a, double b, double c) {
    return sentences({run("cpu/t1", 10, a), run("cpu/t2", 20, b), run("cpu/t4", 40, c)}).at(1);
  };
  EXPECT_EQ(accuracies(0.97, 0.972, 0.975), "Test accuracy of resnet34 is equal (97.0 % to 97.5 %).");
  EXPECT_EQ(accuracies(0.97, 0.6, 0.975), "Test accuracy of resnet34 differs: 60.0 % on cpu/t2 to 97.5 % on cpu/t4.");
  EXPECT_EQ(accuracies(0.97, 0.93, 0.975),
            "Test accuracy of resnet34 is 93.0 % to 97.5 %, which 90 images can't tell apart.");
}

// 90 images tell 88 from 97 % apart by a test at 5 %, but not the least from the most of five runs.
TEST(Conclusion, AccuraciesArePickedAmongAllRuns) {
  std::vector<Record> runs = {run("cpu/t1", 10, 0.97), run("cpu/t2", 20, 0.88)};
  EXPECT_THAT(sentences(runs), Contains("Test accuracy of resnet34 differs: 88.0 % on cpu/t2 to 97.0 % on cpu/t1."));
  for (const char* more : {"cpu/t4", "cpu/t6", "cpu/t8"}) runs.push_back(run(more, 40, 0.95));
  EXPECT_THAT(sentences(runs),
              Contains("Test accuracy of resnet34 is 88.0 % to 97.0 %, which 90 images can't tell apart."));
}

TEST(Conclusion, DifferentJobsAreNotCompared) {
  Record digits = test::sample_record({.model = "mlp:784-256-10", .data = "synth:digits", .images_per_s = 50000});
  const std::vector<std::string> told = sentences({run("cpu/t1", 10), digits});
  EXPECT_THAT(told,
              ElementsAre(Not(HasSubstr("as fast as")), HasSubstr("mlp:784-256-10 trained 8 epochs of synth:digits")));
}

TEST(Conclusion, WhatElseDiffersIsNamed) {
  Record a = run("cpu/t2", 10), b = run("cpu/t2", 20);
  b.precision = "bf16";
  EXPECT_THAT(concluded({a, b}), HasSubstr("trained fastest on cpu/t2 in bf16, with "));
}

TEST(Conclusion, RunsOnOnePlacementAreToldApartByTheirOptions) {
  Record a = run("cpu/t2", 10), b = run("cpu/t2", 20);
  EXPECT_THAT(concluded({a, b}), HasSubstr("trained fastest on cpu/t2 (b), with "));
  a.config = {{"lr", "0.1"}, {"nesterov", "false"}, {"seed", "1"}};
  b.config = {{"lr", "0.02"}, {"nesterov", "true"}, {"seed", "1"}};
  EXPECT_THAT(concluded({a, b}), HasSubstr("trained fastest on cpu/t2 with --lr 0.02 and --nesterov, with "));
  EXPECT_THAT(concluded({a, b}), HasSubstr("as fast as on cpu/t2 with --lr 0.1 and no --nesterov ("));
}

TEST(Conclusion, FiguresOfOtherTasksAreToldByTheirNamesAndDirections) {
  Record a, b;
  for (Record* record : {&a, &b}) {
    record->kind = "answer";
    record->model.name = "resnet34";
    record->placement.text = record == &a ? "cpu/t1" : "cpu/t2";
    const double scale = record == &a ? 1 : 0.5;
    record::add_metric(*record, {.name = "latency_s",
                                 .unit = "s",
                                 .title = "latency",
                                 .label = "latency",
                                 .better = record::Better::kLower,
                                 .role = record::MetricRole::kSpeed,
                                 .value = 0.2 * scale,
                                 .samples = std::vector<double>(12, 0.2 * scale)});
    record::add_metric(*record, {.name = "recall",
                                 .unit = "share",
                                 .title = "recall",
                                 .label = "recall",
                                 .role = record::MetricRole::kQuality,
                                 .value = 0.9,
                                 .of_images = 100});
  }
  EXPECT_EQ(concluded({a, b}),
            "In one run of each, resnet34 ran fastest on cpu/t2, with 0.100 s: 2.00x as fast as on cpu/t1 (0.200).\n"
            "Recall of resnet34 is equal (90.0 %).");
  EXPECT_THAT(concluded({a}), HasSubstr("and reached 90.0 % recall"));
}

TEST(Conclusion, OneRun) {
  EXPECT_THAT(concluded({run("cpu/t2", 26.9, 0.972)}),
              MatchesRegex("resnet34 trained 8 epochs of synth:masks on cpu/t2 in 4 min .* at 2[67]\\.. images/s and "
                           "reached 97\\.2 % test accuracy\\."));
  Record stopped = run("cpu/t2", 26.9);
  stopped.status = record::Status::kInterrupted;
  for (const auto& [status, words] : {std::pair(record::Status::kInterrupted, "was interrupted after 8 epochs"),
                                      {record::Status::kDiverged, " diverged after 8 "},
                                      {record::Status::kFailed, " failed after 8 "},
                                      {record::Status::kRunning, "has not ended yet, and did 8 "},
                                      {record::Status::kKilled, "ended without finishing after 8 "}}) {
    stopped.status = status;
    EXPECT_THAT(concluded({stopped}), HasSubstr(words));
  }
  EXPECT_EQ(concluded({}), "");
}

// Two sweeps, or cells of one, side by side.

/// Two ways at two sizes of the batch: 0 and 1 with 16, 2 and 3 with 32.
record::SweepRecord two_by_two() {
  record::SweepRecord record = test::simulated_record(4, 4);
  record.axes = {{{"on"}, {{"a"}, {"b"}}}, {{"batch"}, {{"16"}, {"32"}}}};
  for (std::size_t n = 0; n < 4; ++n) {
    record.cells[n].values = {{"on", n % 2 == 0 ? "a" : "b"}, {"batch", n < 2 ? "16" : "32"}};
  }
  return record;
}

std::vector<MadeRun> of_four(const std::vector<std::vector<double>>& speeds) {
  std::vector<MadeRun> runs;
  for (std::size_t cell = 0; cell < speeds.size(); ++cell) {
    for (MadeRun& run : runs_in_blocks(cell, speeds[cell])) runs.push_back(std::move(run));
  }
  return runs;
}

class Compare : public ::testing::Test {
 protected:
  std::string sweep(const std::string& name, const std::vector<MadeRun>& runs) {
    test::write_made_sweep(folder_ / name, two_by_two(), runs);
    return (folder_ / name).string();
  }

  test::TestFolder folder_;
};

TEST_F(Compare, CellsOfASweepByTheirBlocksCorrectedForTheirNumber) {
  const std::string made =
      sweep("made", of_four({{100, 110, 90, 100}, {120, 132, 107, 121}, {200, 190, 210, 205}, {203, 188, 214, 206}}));
  const ComparisonOfTwo of = compare_two(made + ":on=a", made + ":on=b");
  ASSERT_EQ(of.pairs.size(), 2U);
  EXPECT_EQ(of.pairs[0].cell, "batch=16");
  EXPECT_EQ(of.pairs[0].claim.verdict, record::Verdict::kFaster);
  EXPECT_NEAR(*of.pairs[0].claim.p, 2 * *of.pairs[0].comparison.p, 1e-12);
  EXPECT_FALSE(of.pairs[0].claim.to_decide.has_value());
  EXPECT_EQ(of.pairs[1].claim.verdict, record::Verdict::kUndecided);
  EXPECT_EQ(of.pairs[1].claim.reason, "the interval contains 1");
  EXPECT_EQ(of.pairs[1].claim.to_decide, record::runs_to_decide(of.pairs[1].comparison, 2));
  EXPECT_GT(of.pairs[1].claim.to_decide, record::runs_to_decide(of.pairs[1].comparison, 1));
  EXPECT_THAT(
      comparison_sentences(of),
      ElementsAre(AllOf(HasSubstr("is faster than"), HasSubstr("batch=16: "), HasSubstr("by the ratio in 4 blocks")),
                  HasSubstr("about " + std::to_string(*of.pairs[1].claim.to_decide) + " runs of each would show it")));
  const report::Table table = comparison_table(of);
  EXPECT_EQ(table.rows[0].back(), "-");
  EXPECT_EQ(table.rows[1].back(), std::to_string(*of.pairs[1].claim.to_decide));
}

// A machine that changed between two sweeps looks like a way that is faster: of these nothing is claimed.
TEST_F(Compare, OfTwoSweepsNothingIsClaimed) {
  const std::string before = sweep("before", of_four({{100, 101, 99, 100}, {100, 101, 99, 100}})),
                    after = sweep("after", of_four({{150, 151, 149, 150}, {160, 161, 159, 160}}));
  const ComparisonOfTwo of = compare_two(before + ":on=a,batch=16", after + ":on=a,batch=16");
  ASSERT_EQ(of.pairs.size(), 1U);
  EXPECT_EQ(of.pairs[0].claim.verdict, record::Verdict::kUndecided);
  EXPECT_NEAR(*of.pairs[0].comparison.ratio, 1.5, 1e-3);
  EXPECT_FALSE(of.pairs[0].claim.p || of.pairs[0].comparison.interval || of.pairs[0].claim.to_decide);
  EXPECT_THAT(comparison_sentences(of),
              ElementsAre(AllOf(HasSubstr("undecided whether"), HasSubstr("1.50x (150 against 100.0 images/s)"),
                                HasSubstr("none of their runs were made side by side"), Not(HasSubstr("95 %")),
                                Not(HasSubstr("would show")))));
  const auto json = nlohmann::json::parse(comparison_json(of))["pairs"][0];
  EXPECT_TRUE(json["interval_95"].is_null() && json["p_corrected"].is_null() && json["runs_to_decide"].is_null());
  EXPECT_EQ(json["verdict"], "undecided");
  EXPECT_EQ(json["blocks"], 0);
}

TEST_F(Compare, OfInvalidRunsNothingIsClaimedEither) {
  std::vector<MadeRun> runs = of_four({{100, 101, 99, 100}, {150, 151, 148, 150}});
  runs[6].end = record::RunEnd::kInvalid;
  const std::string made = sweep("made", runs);
  const ComparisonOfTwo of = compare_two(made + ":on=a,batch=16", made + ":on=b,batch=16");
  EXPECT_EQ(of.pairs[0].claim.verdict, record::Verdict::kUndecided);
  EXPECT_FALSE(of.pairs[0].claim.p || of.pairs[0].claim.to_decide);
  EXPECT_THAT(comparison_sentences(of)[0], AllOf(HasSubstr("the measurements are INVALID"),
                                                 Not(HasSubstr("would show")), Not(HasSubstr("repeats"))));
}

TEST_F(Compare, TwoMachinesAreToldByTheRuleOfHistories) {
  const auto notes = [&](double share_of_memory) {
    for (const auto& [name, share] : {std::pair{"a", 1.0}, {"b", share_of_memory}}) {
      std::filesystem::create_directories(folder_ / name);
      record::Record made = test::record_of({.speed = 100});
      made.machine.memory_bytes = static_cast<std::uint64_t>(16e9 * share);
      record::write_record(folder_ / name, made);
    }
    return compare_two((folder_ / "a").string(), (folder_ / "b").string()).notes;
  };
  EXPECT_THAT(notes(0.93), Not(testing::Contains(HasSubstr("two machines"))));
  EXPECT_THAT(notes(0.5), testing::Contains(AllOf(HasSubstr("they are of two machines: "), HasSubstr(", 15 GiB, and "),
                                                  HasSubstr(", 7 GiB"))));
}

TEST_F(Compare, ABlockWithASpeedOf0IsLeftOut) {
  const std::string made = sweep("made", of_four({{100, 101, 99, 100}, {120, 121, 0, 119}}));
  const ComparisonOfTwo of = compare_two(made + ":on=a,batch=16", made + ":on=b,batch=16");
  EXPECT_THAT(comparison_sentences(of),
              ElementsAre(AllOf(HasSubstr("is faster than"), HasSubstr(": 1.20x"), HasSubstr("in 3 blocks"))));
}

TEST_F(Compare, TwoRunsAreToldAsTwoRuns) {
  for (const auto& [name, speed] : {std::pair{"a", 100.0}, {"b", 200.0}}) {
    std::filesystem::create_directories(folder_ / name);
    record::write_record(folder_ / name, test::record_of({.speed = speed}));
  }
  const ComparisonOfTwo of = compare_two((folder_ / "a").string(), (folder_ / "b").string());
  EXPECT_TRUE(of.pairs.empty());
  EXPECT_THAT(comparison_sentences(of), Contains(HasSubstr("200")));
  EXPECT_THAT(of.notes, ElementsAre(AllOf(HasSubstr("one run of each"), HasSubstr("none is called faster"))));
}

TEST_F(Compare, ARunIsHeldAgainstACellAndKeepsItsValidity) {
  const std::string made = sweep("made", of_four({{100, 101}, {120, 121}, {200, 201}, {220, 221}}));
  const std::string run = (folder_ / "run:1").string();
  const auto compared = [&](bool is_valid, const std::string& cell) {
    std::filesystem::create_directories(run);
    record::Record record = test::record_of({.speed = 150});
    record.validity = is_valid ? record::Validity{true, {}} : record::Validity{false, {{"swap", "1 GB", "use less"}}};
    record::write_record(run, record);
    return compare_two(made + cell, run);
  };
  ComparisonOfTwo of = compared(true, ":on=b,batch=16");
  ASSERT_EQ(of.pairs.size(), 1U);
  EXPECT_EQ(of.pairs[0].cell, "");
  EXPECT_NEAR(*of.pairs[0].comparison.ratio, 150 / 120.5, 1e-3) << "the run against the cell";
  EXPECT_THAT(comparison_sentences(of),
              ElementsAre(AllOf(HasSubstr(run + " is faster or slower than " + made + ":on"),
                                HasSubstr("150 against 120 images/s); 2 and 1 runs are too few"))));
  of = compared(false, ":on=b,batch=16");
  EXPECT_THAT(comparison_sentences(of), ElementsAre(HasSubstr("the measurements are INVALID")));
  EXPECT_THROW(compared(true, ":on=b"), UsageError) << "of two cells neither is the run's";
  EXPECT_THROW(compare_two(run + ":on=b", made), UsageError) << "a run has no cells";
}

TEST_F(Compare, WordsThatNameNoCellsAreRefused) {
  const std::string made = sweep("made", of_four({{100}, {120}, {200}, {220}}));
  const auto why = [&](const std::string& words) -> std::string {
    try {
      compare_two(made + words, made + ":on=a");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  for (const char* words : {":on", ":=a", ":on=b,", ":on=b,16", ":"}) {
    EXPECT_THAT(why(words), HasSubstr("behind the colon stand values of axes")) << words;
  }
  EXPECT_THAT(why(":o=b"), AllOf(HasSubstr(made + ": "), HasSubstr("axis"), HasSubstr("Known: on, batch")));
  EXPECT_THAT(why(":batch=17"), AllOf(HasSubstr("value of 'batch'"), HasSubstr("Known: 16, 32")));
  EXPECT_EQ(why(":on=b"), "");
  EXPECT_THAT(why("-not"), HasSubstr("-not' is no folder of a run or of a sweep"));
}

TEST_F(Compare, ManyCellsAreCountedByTheirVerdicts) {
  record::SweepRecord record = test::simulated_record(8, 3);
  record.axes = {{{"on"}, {{"a"}, {"b"}}}, {{"batch"}, {}}, {{"lr"}, {{"0.1"}}}};
  std::vector<MadeRun> runs;
  for (std::size_t n = 0; n < 8; ++n) {
    const std::string batch = std::to_string(n / 2);
    if (n % 2 == 0) record.axes[1].steps.push_back({batch});
    record.cells[n].values = {{"on", n % 2 == 0 ? "a" : "b"}, {"batch", batch}, {"lr", "0.1"}};
    // Of the second way: one cell is faster, one slower, one is the same, and one has no runs.
    const double speed = n == 1 ? 150 : n == 3 ? 50 : 100;
    if (n == 7) continue;
    const double noise[] = {0, 1, -1, n == 5 ? -2.0 : 0.5};
    std::vector<double> speeds;
    for (std::size_t block = 0; block < 3; ++block) speeds.push_back(speed * (1 + 0.002 * noise[(block + n) % 4]));
    for (MadeRun& run : runs_in_blocks(n, speeds)) runs.push_back(std::move(run));
  }
  test::write_made_sweep(folder_ / "made", record, runs);
  const std::string made = (folder_ / "made").string();
  const ComparisonOfTwo of = compare_two(made + ":on=a", made + ":on=b");
  ASSERT_EQ(of.pairs.size(), 3U);
  EXPECT_EQ(of.pairs[2].cell, "batch=2") << "axes of one value stand in no name";
  EXPECT_THAT(of.notes, ElementsAre("batch=3: not compared, as one of the two has no run with figures"));
  EXPECT_THAT(comparison_sentences(of), testing::SizeIs(3));
  ComparisonOfTwo more = of;
  more.pairs.insert(more.pairs.end(), 4, of.pairs[0]);
  EXPECT_THAT(comparison_sentences(more),
              ElementsAre("Of 7 cells " + made + ":on=b is faster than " + made +
                          ":on=a in 5, slower in 1, and 1 are undecided (corrected for their number)."));
  const report::Table table = comparison_table(of);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_THAT(table.rows[0], ElementsAre("batch=0", HasSubstr("100.0 ["), HasSubstr("150 ["),
                                         MatchesRegex("1\\.50x \\(1\\.[45][0-9] to 1\\.5[0-9]\\)"), "faster", "-"));
  EXPECT_EQ(table.columns[1].title, made + ":on=a");
  EXPECT_EQ(table.columns[2].title, made + ":on=b");
  EXPECT_EQ(table.rows[1][4], "slower");
  EXPECT_EQ(table.notes, of.notes);
  const auto json = nlohmann::json::parse(comparison_json(of));
  EXPECT_EQ(json["a"], made + ":on=a");
  EXPECT_EQ(json["sentences"].size(), 3U);
  EXPECT_EQ(json["notes"].size(), 1U);
  const auto& pair = json["pairs"][1];
  EXPECT_EQ(pair["cell"], "batch=1");
  EXPECT_EQ(pair["figure"], "images_per_s");
  EXPECT_NEAR(pair["a"].get<double>(), 100, 1);
  EXPECT_NEAR(pair["b"].get<double>(), 50, 1);
  EXPECT_NEAR(pair["ratio"].get<double>(), 0.5, 0.01);
  EXPECT_LT(pair["interval_95"][0], pair["interval_95"][1]);
  EXPECT_DOUBLE_EQ(pair["p_corrected"].get<double>(), *of.pairs[1].claim.p);
  EXPECT_EQ(pair["blocks"], 3);
  EXPECT_EQ(pair["verdict"], "slower");
  EXPECT_EQ(pair["beside_other_programs"], false);
  EXPECT_TRUE(pair["reason"].is_null());
}

TEST_F(Compare, OtherWorkAndOtherMachinesAreNoted) {
  std::vector<MadeRun> runs = of_four({{100, 101, 99}, {150, 151, 148}});
  for (MadeRun& run : runs) {
    if (run.cell == 1) run.model = "vgg";
  }
  const std::string made = sweep("made", runs);
  const ComparisonOfTwo of = compare_two(made + ":on=a,batch=16", made + ":on=b,batch=16");
  EXPECT_THAT(of.notes, ElementsAre("they don't do the same work: resnet34 on synth:masks, and vgg on synth:masks"));
}

}  // namespace

}  // namespace evener::sweeps
