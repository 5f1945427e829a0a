#include "bench/scenario_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "bench/simulated_lanes_helpers.h"
#include "record/record_kind.h"
#include "record/validity.h"

namespace evener::bench {
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
  EXPECT_EQ(record.validity.valid, true);
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
  const record::Record record = record_of(result);
  EXPECT_EQ(main_figure(record), "queries_per_s");
  EXPECT_NEAR(*figure(record, "arriving_queries_per_s").value, 500, 100);
  EXPECT_LT(*figure(record, "queries_per_s").value, 100) << "the highest that held";
  EXPECT_EQ(record.scenario.rates.size(), result.rates.size());
  EXPECT_GT(record.scenario.late, 0);
  EXPECT_EQ(record.scenario.latency_limit_s, 0.1);
  EXPECT_EQ(record.validity.valid, false);
  // The judgement of the machine comes on top, and has nothing to say of steps or epochs.
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

}  // namespace
}  // namespace evener::bench
