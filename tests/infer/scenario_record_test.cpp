#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/names.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "infer/scenarios/record.h"
#include "infer/simulated_lanes_helpers.h"
#include "record/record_kind.h"
#include "record/validity.h"

namespace evener::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ScenarioResult simulate(ScenarioOptions options, int lanes, test::SimulatedSystem::Service service) {
  options.samples = 20;
  test::SimulatedSystem system(std::move(service));
  test::SimulatedLanes simulated(system, lanes);
  return run_scenario(options, system, simulated);
}

record::Record record_of(const ScenarioResult& result) {
  record::Record record;
  record.kind = "infer";
  record.model.name = "resnet18";
  fill_record(result, record);
  return record;
}

record::Metric figure(const record::Record& record, const std::string& name) {
  const auto found = record.metrics.find(name);
  EXPECT_NE(found, record.metrics.end()) << name;
  return found == record.metrics.end() ? record::Metric() : found->second;
}

std::string main_figure(const record::Record& record) {
  const auto metrics = record::metrics_of(record);
  const record::Metric* speed = record::main_speed(metrics);
  return speed == nullptr ? "none" : speed->name;
}

TEST(ScenarioRecord, SingleStreamIsAboutItsPercentile) {
  const ScenarioResult result = simulate(quick_options(Scenario::kSingleStream), 1,
                                         [n = 0](int, const Query&) mutable { return 0.001 * (10 + n++ % 10); });
  const record::Record record = record_of(result);
  EXPECT_EQ(main_figure(record), "latency_p90_estimate_s");
  const record::Metric estimate = figure(record, "latency_p90_estimate_s");
  EXPECT_EQ(estimate.value, result.estimate->latency_s);
  EXPECT_EQ(estimate.better, record::Better::kLower);
  EXPECT_EQ(estimate.unit, "s");
  EXPECT_EQ(estimate.samples.size(), 10u);
  for (const double tenth : estimate.samples) EXPECT_NEAR(tenth, 0.0185, 0.0006);
  EXPECT_EQ(figure(record, "latency_p50_s").value, plain_percentile(result.log.sorted_latencies_s(), 0.5));
  EXPECT_NEAR(*figure(record, "latency_mean_s").value, 0.0145, 0.0002);
  EXPECT_NEAR(*figure(record, "queries_per_s").value, 1 / 0.0145, 1);
  EXPECT_EQ(figure(record, "samples_per_s").value, figure(record, "queries_per_s").value);
  EXPECT_FALSE(figure(record, "latency_p99.9_s").value);
  EXPECT_THAT(figure(record, "latency_p99.9_s").reason, HasSubstr("queries are too few"));
  EXPECT_EQ(record.scenario.name, "single-stream");
  EXPECT_EQ(record.scenario.queries, static_cast<std::int64_t>(result.log.queries.size()));
  EXPECT_EQ(record.scenario.discarded, result.estimate->discarded);
  EXPECT_NEAR(record.scenario.parts_s.at("compute"), 0.0145, 0.0002);
  EXPECT_EQ(record.scenario.parts_s.at("queue"), 0);
  EXPECT_FALSE(record.scenario.parts_s.contains("copy"));
  EXPECT_EQ(record.seeds.at("schedule"), 3u);
  EXPECT_TRUE(record.validity.reasons.empty());
  EXPECT_FALSE(record.validity.valid) << "the rest of it is judged with the machine";
}

TEST(ScenarioRecord, MultiStreamCountsSamplesToo) {
  ScenarioOptions options = quick_options(Scenario::kMultiStream);
  options.largest_batch = 8;
  const record::Record record = record_of(simulate(options, 1, [](int, const Query&) { return 0.01; }));
  EXPECT_EQ(main_figure(record), "latency_p99_estimate_s");
  EXPECT_NEAR(*figure(record, "samples_per_s").value, 800, 1e-6);
  EXPECT_NEAR(*figure(record, "queries_per_s").value, 100, 1e-6);
  EXPECT_EQ(record.scenario.samples_per_query, 8);
}

TEST(ScenarioRecord, OfflineIsAboutSamples) {
  ScenarioOptions options = quick_options(Scenario::kOffline);
  options.largest_batch = 5;
  const record::Record record = record_of(simulate(options, 2, [](int, const Query&) { return 0.125; }));
  EXPECT_EQ(main_figure(record), "samples_per_s");
  EXPECT_NEAR(*figure(record, "samples_per_s").value, 80, 1e-6);
  EXPECT_EQ(record.scenario.queries, 1);
  EXPECT_EQ(record.scenario.samples, 400);
  EXPECT_FALSE(record.scenario.percentile);
  EXPECT_FALSE(record.metrics.contains("latency_p50_s"));
}

TEST(ScenarioRecord, ServerTellsTheRatesThatWereTried) {
  ScenarioOptions options = quick_options(Scenario::kServer);
  options.target_rate = 500;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 0.01; });
  record::Record record = record_of(result);
  EXPECT_EQ(main_figure(record), "queries_per_s");
  EXPECT_NEAR(*figure(record, "arriving_queries_per_s").value, 500, 100);
  EXPECT_LT(*figure(record, "queries_per_s").value, 100) << "the highest that held";
  EXPECT_EQ(record.scenario.rates.size(), result.rates.size());
  EXPECT_GT(record.scenario.late, 0);
  EXPECT_EQ(record.scenario.latency_limit_s, 0.1);
  EXPECT_FALSE(record.validity.valid) << "nobody looked at the machine yet";
  // Its judgement comes on top, and has nothing to say of steps or epochs.
  record.cpu.others_percent = record::Spread{0, 0, 0};
  const record::Validity judged = record::judge(record);
  ASSERT_EQ(judged.reasons.size(), 1u);
  EXPECT_EQ(judged.reasons[0].rule, "latency limit");
}

// Two lanes and queries of other lengths, each seed and option another number: none stands in another's place.
TEST(ScenarioRecord, SaysWithWhichOptionsItWasMeasuredAndEachPartOfTheTime) {
  ScenarioOptions options = quick_options(Scenario::kServer);
  options.target_rate = 150;
  options.largest_batch = 3;
  options.latency_limit_s = 0.25;
  options.seeds = {11, 12, 13, 14};
  const ScenarioResult result =
      simulate(options, 2, [n = 0](int, const Query&) mutable { return 0.004 + 0.002 * (n++ % 5); });
  const record::Record record = record_of(result);
  EXPECT_EQ(record.scenario.lanes, 2);
  EXPECT_EQ(record.scenario.largest_batch, 3);
  EXPECT_EQ(record.scenario.latency_limit_s, 0.25);
  EXPECT_EQ(record.scenario.percentile, 0.99);
  EXPECT_EQ(record.scenario.seconds, result.log.seconds);
  EXPECT_EQ(record.scenario.samples, result.log.samples);
  EXPECT_EQ(record.scenario.late, result.log.late);
  EXPECT_FALSE(record.scenario.samples_per_query);
  EXPECT_EQ(record.seeds.at("sample_set"), 11U);
  EXPECT_EQ(record.seeds.at("sample_index"), 12U);
  EXPECT_EQ(record.seeds.at("schedule"), 13U);
  EXPECT_EQ(record.seeds.at("accuracy_log"), 14U);
  double least = 1e9, most = 0, sum = 0, queued = 0;
  for (const AnsweredQuery& query : result.log.queries) {
    least = std::min(least, query.latency_s), most = std::max(most, query.latency_s), sum += query.latency_s;
    queued += query.latency_s - double{query.parts_s[3]};
  }
  const auto count = static_cast<double>(result.log.queries.size());
  EXPECT_EQ(figure(record, "latency_min_s").value, least);
  EXPECT_EQ(figure(record, "latency_max_s").value, most);
  EXPECT_NEAR(*figure(record, "latency_mean_s").value, sum / count, 1e-9);
  EXPECT_GT(queued, 0) << "some waited for a lane";
  EXPECT_NEAR(record.scenario.parts_s.at("queue"), queued / count, 1e-6);
  EXPECT_EQ(figure(record, "queries_per_s").value, 150);
  EXPECT_NEAR(*figure(record, "samples_per_s").value, count / result.log.seconds, 1e-6);
}

/// A result of so many queries, each with its own latency: the first one 1 ms, the second 2 ms and so on, one a second.
ScenarioResult made_up(Scenario scenario, int queries) {
  ScenarioResult result;
  result.options = quick_options(scenario);
  for (int n = 0; n < queries; ++n) {
    AnsweredQuery& query = result.log.queries.emplace_back();
    query.scheduled_s = n;
    query.latency_s = 0.001 * (n + 1);
    query.samples = 3;
    result.log.samples += 3;
    result.log.seconds = query.scheduled_s + query.latency_s;
  }
  return result;
}

TEST(ScenarioRecord, PercentilesAreToldWhereAQueryIsBehindThem) {
  const record::Record hundred = record_of(made_up(Scenario::kMultiStream, 100));
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_p50_s").value, 0.051);
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_p90_s").value, 0.091);
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_p99_s").value, 0.1);
  EXPECT_FALSE(figure(hundred, "latency_p99.9_s").value);
  EXPECT_EQ(figure(hundred, "latency_p99.9_s").reason, "100 queries are too few for it");
  EXPECT_FALSE(figure(record_of(made_up(Scenario::kMultiStream, 99)), "latency_p99_s").value);
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_mean_s").value, 0.0505);
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_min_s").value, 0.001);
  EXPECT_DOUBLE_EQ(*figure(hundred, "latency_max_s").value, 0.1);
  for (const auto& [name, title] : {std::pair("latency_p50_s", "p50 s"), std::pair("latency_p90_s", ""),
                                    std::pair("latency_p99_s", "p99 s"), std::pair("latency_mean_s", "")}) {
    EXPECT_EQ(figure(hundred, name).title, title) << "of a column, which few have";
    EXPECT_EQ(figure(hundred, name).better, record::Better::kLower) << name;
  }
}

TEST(ScenarioRecord, FiguresSayWhatTheyAreOverAndHowTenthsOfTheRunDiffer) {
  const ScenarioResult result = made_up(Scenario::kMultiStream, 100);
  const record::Record record = record_of(result);
  const std::string over = "over 100 queries in " + duration_text(result.log.seconds);
  for (const char* name : {"latency_p99_estimate_s", "queries_per_s", "samples_per_s"}) {
    EXPECT_EQ(figure(record, name).over, over) << name;
    EXPECT_NE(figure(record, name).title, "") << name;
    EXPECT_EQ(figure(record, name).samples.size(), 10u) << name;
  }
  const record::Metric estimate = figure(record, "latency_p99_estimate_s");
  for (std::size_t tenth = 0; tenth < estimate.samples.size(); ++tenth) {
    EXPECT_NEAR(estimate.samples[tenth], 0.01 * static_cast<double>(tenth + 1), 0.0005) << "the slowest of ten";
  }
  EXPECT_EQ(estimate.reason, "100 queries are too few to vouch for it (at least 662)");
  EXPECT_NEAR(*figure(record, "queries_per_s").value, 100 / result.log.seconds, 1e-9);
  EXPECT_NEAR(*figure(record, "samples_per_s").value, 300 / result.log.seconds, 1e-9);
  const auto few = figure(record_of(made_up(Scenario::kSingleStream, 99)), "latency_p90_estimate_s");
  EXPECT_TRUE(few.samples.empty()) << "nine queries have no percentile";
  const record::Record offline = record_of(made_up(Scenario::kOffline, 20));
  EXPECT_THAT(figure(offline, "samples_per_s").over, StartsWith("over 60 samples in "));
  EXPECT_EQ(figure(record_of(made_up(Scenario::kSingleStream, 99)), "samples_per_s").title, "");
}

TEST(ScenarioRecord, WithoutAnAnswerFiguresSayWhy) {
  const record::Record record = record_of(made_up(Scenario::kServer, 0));
  EXPECT_EQ(figure(record, "queries_per_s").reason, "no rate that was tried kept the latency limit");
  EXPECT_EQ(figure(record, "arriving_queries_per_s").reason, "fewer than two queries arrived");
  EXPECT_EQ(figure(record, "samples_per_s").reason, "nothing was answered");
  EXPECT_EQ(figure(record, "latency_p50_s").reason, "0 queries are too few for it");
  EXPECT_FALSE(record.metrics.contains("latency_mean_s"));
}

TEST(ScenarioRecord, AddsToWhatTheRecordSays) {
  record::Record record;
  record.kind = "infer";
  record.images_per_s.median = 7;
  record.notes = {"first"};
  record.validity.reasons = {{"swap", "3 MB were swapped", ""}};
  ScenarioResult result = made_up(Scenario::kOffline, 20);
  result.notes = {"second"};
  fill_record(result, record);
  EXPECT_THAT(record.notes, ElementsAre("first", "second"));
  EXPECT_EQ(record.validity.reasons.size(), 1U) << "what was known before";
  EXPECT_EQ(main_figure(record), "images_per_s");
  EXPECT_NE(record.status, record::Status::kInterrupted);
  record::Record other;
  other.validity.reasons = record.validity.reasons;
  result.validity.reasons = {{"too short", "it took 1 s", ""}};
  fill_record(result, other);
  ASSERT_EQ(other.validity.reasons.size(), 2u);
  EXPECT_EQ(other.validity.reasons[1].rule, "too short");
}

TEST(RunLogs, PartsStandInTheirOrderAndTheWaitForALaneInTheFirst) {
  EXPECT_THAT(parts_of(0.5, {.queue_s = 1, .preprocess_s = 2, .copy_s = 3, .compute_s = 4, .postprocess_s = 5}),
              ElementsAre(1.5F, 2, 3, 4, 5));
  const auto unknown = parts_of(0.5, {});
  EXPECT_EQ(unknown[0], 0.5F);
  for (std::size_t part = 1; part < kParts; ++part) EXPECT_TRUE(std::isnan(unknown[part])) << part;
  ScenarioResult result = made_up(Scenario::kSingleStream, 2);
  result.log.queries[0].parts_s =
      parts_of(0, {.queue_s = 1, .preprocess_s = 2, .copy_s = 3, .compute_s = {}, .postprocess_s = 5});
  result.log.queries[1].parts_s =
      parts_of(2, {.queue_s = {}, .preprocess_s = 4, .copy_s = {}, .compute_s = {}, .postprocess_s = 7});
  // The mean is of those that know the part.
  const std::map<std::string, double> means = {{"queue", 1.5}, {"preprocess", 3}, {"copy", 3}, {"postprocess", 6}};
  EXPECT_EQ(record_of(result).scenario.parts_s, means);
}

TEST(RunLogs, RatesAreThoseOfTenthsOfTheTime) {
  RunLog log;
  log.seconds = 20;               // tenths of two seconds
  for (int n = 0; n < 12; ++n) {  // the answers come at 0.5, 2.5, ... 18.5, 20 and 20 s
    const double scheduled_s = std::min(2.0 * n, 19.5);
    log.queries.push_back({.scheduled_s = scheduled_s, .latency_s = 0.5, .parts_s = {}, .samples = n + 1, .lane = 0});
  }
  EXPECT_THAT(log.rates_of_tenths(false), ElementsAre(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.5));
  EXPECT_THAT(log.rates_of_tenths(true), ElementsAre(0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, (10 + 11 + 12) / 2.0));
  log.queries.resize(9);
  EXPECT_TRUE(log.rates_of_tenths(false).empty()) << "too few for a tenth";
}

TEST(ScenarioRecord, AnInterruptedRunIsCalledSoOnce) {
  int calls = 0;
  const ScenarioResult result = simulate(quick_options(Scenario::kSingleStream), 1, [&](int, const Query&) {
    if (++calls == 100) request_stop();
    return 0.001;
  });
  clear_stop_request();
  const record::Record record = record_of(result);
  EXPECT_EQ(record.status, record::Status::kInterrupted);
  const record::Validity judged = record::judge(record);
  EXPECT_EQ(std::ranges::count(judged.reasons, "unfinished", &record::ValidityReason::rule), 1);
  EXPECT_EQ(record::kind_of(record).amount(record), std::to_string(result.log.queries.size()) + " queries");
}

TEST(ScenarioRecord, TooFewQueriesGiveNoEstimate) {
  ScenarioOptions options = quick_options(Scenario::kSingleStream);
  const record::Record record = record_of(simulate(options, 1, [](int, const Query&) { return 3.0; }));
  EXPECT_FALSE(figure(record, "latency_p90_estimate_s").value);
  EXPECT_THAT(figure(record, "latency_p90_estimate_s").reason, HasSubstr("20 queries are too few"));
}

TEST(Latencies, AreWrittenWithTheirParts) {
  const test::TestFolder folder;
  ScenarioOptions options = quick_options(Scenario::kServer);
  options.target_rate = 100;
  const ScenarioResult result = simulate(options, 2, [](int, const Query&) { return 0.001; });
  write_latencies(folder / kLatencies, result);
  const std::string text = read_file(folder / kLatencies);
  EXPECT_THAT(text, StartsWith("query,lane,samples,scheduled_s,latency_s,queue_s,preprocess_s,copy_s,compute_s,"
                               "postprocess_s\n0,0,1,0,0.001,0,,,0.001,\n1,"));
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(result.log.queries.size()) + 1);
}

// So many that they are written in several pieces.
TEST(Latencies, HaveARowForEachOfManyQueries) {
  const test::TestFolder folder;
  ScenarioResult result = made_up(Scenario::kMultiStream, 5000);
  for (std::size_t n = 0; n < result.log.queries.size(); ++n) {
    result.log.queries[n].lane = static_cast<std::int32_t>(n % 3);
    result.log.queries[n].parts_s =
        parts_of(0.25, {.queue_s = {}, .preprocess_s = 0.5, .copy_s = {}, .compute_s = 0.125, .postprocess_s = 2});
  }
  write_latencies(folder / "rows.csv", result);
  std::ifstream file(folder / "rows.csv");
  std::string line;
  std::getline(file, line);
  std::size_t rows = 0;
  for (; std::getline(file, line); ++rows) ASSERT_THAT(line, StartsWith(std::to_string(rows) + ","));
  EXPECT_EQ(rows, 5000u);
  EXPECT_GT(std::filesystem::file_size(folder / "rows.csv"), 2u << 16);
  const std::string text = read_file(folder / "rows.csv");
  EXPECT_THAT(text, HasSubstr("\n7,1,3,7,0.008,0.25,0.5,,0.125,2\n"));
  EXPECT_THAT(text, HasSubstr("\n4999,1,3,4999,5,0.25,0.5,,0.125,2\n"));
}

}  // namespace
}  // namespace evener::inference
