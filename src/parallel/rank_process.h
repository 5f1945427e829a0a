// Ranks as forked processes, and the outcomes of ranks. Inside parallel/ only.
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
  bool first = true;  // false: the rank failed because another rank had failed
  std::string text;   // the result, or the error message
};

template <typename Visitor>
void describe(Visitor& visitor, Of<RankOutcome> auto& outcome) {
  visitor.value("rank", outcome.rank);
  visitor.value("kind", outcome.kind);
  visitor.value("first", outcome.first);
  visitor.value("text", outcome.text);
}

/// Runs `body` and turns an exception into an outcome. A failure also aborts the group, so that no other rank waits for
/// this one.
RankOutcome outcome_of(const RankContext& context, const RankBody& body);

/// The results by local rank. If any rank failed, throws the first failure instead.
std::vector<std::string> results_of(const std::vector<RankOutcome>& outcomes);

/// Forks one process for each list of contexts, and watches them until all have ended. Throws RankLost.
std::vector<RankOutcome> run_processes(const placement::Plan& plan,
                                       const std::vector<std::vector<RankContext>>& contexts, const RankBody& body,
                                       const LaunchOptions& options);

/// Runs the contexts of one process: the first on the calling thread, the others on threads of their own.
std::vector<RankOutcome> run_ranks(const std::vector<RankContext>& contexts, const RankBody& body);

}  // namespace evener::parallel
