// Starts the ranks of a plan on this host, as processes or as threads, and watches them: a rank that is killed, frozen
// or fails ends the others at once, and the message names it. Children and shared memory never outlive the run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/shared_group.h"
#include "parallel/hosts.h"
#include "parallel/replica.h"
#include "placement/plan.h"

namespace evener::parallel {

/// A rank's place in the run.
struct RankContext {
  int rank = 0;  // over all hosts
  int ranks = 1;
  comm::SharedGroup* group = nullptr;  // of this host's ranks; null: the rank is alone on its host
  bool own_process = false;            // no other rank is in its process
  int local_rank = 0;                  // in `group`
  int host = 0, hosts = 1;
  HostLink* link = nullptr;  // for ranks that talk to other hosts; else null
  int stages = 1;            // of each replica; replica r consists of ranks r * stages to r * stages + stages - 1

  /// Whether this rank communicates with other hosts on behalf of its host.
  bool leads_host() const { return link != nullptr && local_rank == 0; }
  /// Makes the rank's channels. May be called once.
  Channels channels() const;
  /// Tells the group that this rank failed and why. All calls on channels that still wait, also this rank's own
  /// threads, throw instead of waiting for ever.
  void tell_failure(const std::string& why) const;
  /// Whether this rank was the first of the group to call tell_failure().
  bool failed_first() const;
};

/// Calls `work` and returns its result. If `work` throws, tells the failure before the caller's objects are destroyed:
/// channels that still wait for other ranks could not be closed otherwise.
template <class Work>
auto telling_failure(const RankContext& context, const Work& work) {
  try {
    return work();
  } catch (const std::exception& failure) {
    context.tell_failure(failure.what());
    throw;
  }
}

/// The work of a rank. Its result goes to the launching process, which may be another one, and therefore is a message
/// (base/message.h), or empty if the rank has nothing to tell.
using RankBody = std::function<std::string(const RankContext&)>;

/// A rank was lost: killed, frozen, out of memory. The run may go on from its last checkpoint.
class RankLost : public Error {
 public:
  RankLost(int rank, const std::string& message) : Error(message), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// Ends of the error message of a run that lost a rank. HostReport recognises the loss by them in the messages of other
/// hosts.
inline constexpr const char* kResumeAdvice = ". The same command with --resume goes on from the last checkpoint";
inline constexpr const char* kNothingSaved = ". Nothing was saved yet: the same command with --overwrite begins again";

struct LaunchOptions {
  bool always_group = false;  // make a group even for one rank, so that collectives really run
  /// Fork even for a plan of one rank, so that all memory of the work is freed with the child. Has no effect where
  /// forks are forbidden (base/forked.h).
  bool always_fork = false;
  std::size_t shared_bytes = 0;  // size of the memory that replicas share (Engine::shared_bytes)
  /// Called with the children's process ids, in the order of the plan's processes, once they run. Not called if ranks
  /// are threads of this process.
  std::function<void(const std::vector<pid_t>&)> on_started = {};
  /// Called when a child has ended in whatever way, with its process id and peak resident size.
  std::function<void(pid_t, std::uint64_t peak_rss_bytes)> on_ended = {};
  HostsOptions hosts = {};  // this host among the run's hosts; the plan has the replicas of all hosts
  /// A rank's process that has used no CPU time for this long counts as hung. A process that computes, reads or waits
  /// for other ranks always uses some, however long its step takes.
  std::chrono::milliseconds hangs_after = std::chrono::minutes(2);
};

/// Runs `body` for every rank that `plan` has on this host, and returns their results by local rank. If the plan has
/// one process, that is this process: nothing is forked unless the options ask for it. Forked children inherit this
/// process's memory, so load what they share before calling. A stop request (base/stop.h) reaches the children as a
/// single SIGTERM. Throws RankLost, or what the first failing rank threw.
std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options);

}  // namespace evener::parallel
