// Ranks as forked processes, and what becomes of a rank. Inside parallel/ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/described.h"
#include "parallel/launcher.h"

namespace evener::parallel {

struct RankOutcome {
  /// kLost: out of memory or hanging, so that the run may go on from its last checkpoint.
  enum class Kind : std::int32_t { kDone, kError, kUsageError, kInterrupted, kLost };
  int rank = 0;  // on its host
  Kind kind = Kind::kDone;
  bool first = true;  // a failure that no other rank's failure caused
  std::string text;   // the result, or what went wrong
};

template <typename Visitor>
void describe(Visitor& visitor, Of<RankOutcome> auto& outcome) {
  visitor.value("rank", outcome.rank);
  visitor.value("kind", outcome.kind);
  visitor.value("first", outcome.first);
  visitor.value("text", outcome.text);
}

/// Runs `body` and catches what it throws; a failure aborts the group, so that nobody waits for this rank.
RankOutcome outcome_of(const RankContext& context, const RankBody& body);

/// The results by rank; throws what the first failing rank threw.
std::vector<std::string> results_of(const std::vector<RankOutcome>& outcomes);

/// Forks one process for each list of contexts, and watches them until all have ended. Throws RankLost.
std::vector<RankOutcome> run_processes(const placement::Plan& plan,
                                       const std::vector<std::vector<RankContext>>& contexts, const RankBody& body,
                                       const LaunchOptions& options);

/// Runs the contexts of one process: the first on the calling thread, the others on threads of their own.
std::vector<RankOutcome> run_ranks(const std::vector<RankContext>& contexts, const RankBody& body);

}  // namespace evener::parallel
