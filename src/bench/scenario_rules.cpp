// Judges a result VALID or INVALID by the rules of its scenario, with advice for each broken rule.
#include <fmt/format.h>

#include "base/names.h"
#include "base/stop.h"
#include "bench/session.h"

namespace evener::bench {
namespace {

using Reasons = std::vector<record::ValidityReason>;

std::string percent(double share) {
  return fmt::format("{:g} %", 100 * share);
}

void judge_count(const ScenarioResult& result, Reasons& reasons) {
  const ScenarioOptions& options = result.options;
  const bool offline = options.scenario == Scenario::kOffline;
  const std::int64_t seen = offline ? result.log.samples : static_cast<std::int64_t>(result.log.queries.size());
  const std::int64_t fewest = fewest_queries(options);
  // A run that ended early because its rate was too high breaks a rule of its own, below.
  if (seen >= fewest || result.log.hopeless) return;
  std::string what = fmt::format("{} {} (at least {}", seen, offline ? "samples" : "queries", fewest);
  what += offline ? ")" : fmt::format(", to vouch for {} of all latencies)", percent(options.percentile));
  std::string advice = "let it run longer: --full has no longest duration";
  if (!offline && options.percentile > 0.9) {
    advice += fmt::format("; --percentile 0.9 takes {} queries", smallest_total(0.9));
  }
  reasons.push_back({"too few queries", what, advice});
}

void judge_duration(const ScenarioResult& result, Reasons& reasons) {
  const double least_s = result.options.min_duration_s;
  const RunLog& log = result.log;
  if (log.complete || log.full || log.hopeless || log.seconds >= least_s) return;
  reasons.push_back({"too short",
                     fmt::format("it took {} (at least {})", duration_text(log.seconds), duration_text(least_s)),
                     "let it run on, or ask for less with --min-duration"});
}

void judge_limit(const ScenarioResult& result, Reasons& reasons) {
  const ScenarioOptions& options = result.options;
  const auto queries = static_cast<std::int64_t>(result.log.queries.size());
  const std::optional<std::int64_t> allowed = allowed_late(queries, options.percentile);
  if (result.log.late <= allowed.value_or(0) && !result.log.hopeless) return;
  std::string what = fmt::format("{} of {} queries took longer than {}", result.log.late, queries,
                                 duration_text(options.latency_limit_s));
  if (result.arrival_rate) what += fmt::format(" at {:.4g} queries/s", *result.arrival_rate);
  what += result.highest_rate ? fmt::format("; the highest rate that held was {:.4g} queries/s", *result.highest_rate)
                              : "; no rate that was tried held";
  reasons.push_back({"latency limit", what,
                     result.highest_rate
                         ? fmt::format("ask for --target-rate {:.3g}, or raise --latency-limit", *result.highest_rate)
                         : "raise --latency-limit, or use a faster network, device or precision"});
}

}  // namespace

record::Validity judge_scenario(const ScenarioResult& result) {
  record::Validity validity;
  if (result.log.stopped) {
    validity.reasons.push_back({"unfinished", "it was interrupted", "run it again"});
  }
  judge_count(result, validity.reasons);
  judge_duration(result, validity.reasons);
  if (result.options.scenario == Scenario::kServer) judge_limit(result, validity.reasons);
  validity.valid = validity.reasons.empty();
  return validity;
}

}  // namespace evener::bench
