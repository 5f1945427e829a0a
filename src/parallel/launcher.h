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
#include "parallel/host_link.h"
#include "parallel/replica.h"
#include "placement/plan.h"

namespace evener::parallel {

/// A rank's place in the run.
struct RankContext {
  int rank = 0;  // over all hosts
  int ranks = 1;
  comm::SharedGroup* group = nullptr;  // of this host's ranks; none: it is alone on its host
  bool own_process = false;            // no other rank is in its process
  int local_rank = 0;                  // in `group`
  int host = 0, hosts = 1;
  HostLink* link = nullptr;  // of ranks that speak with those of other hosts
  int stages = 1;            // of each replica: ranks r * stages to r * stages + stages - 1 are those of replica r

  /// Whether this rank speaks for its host.
  bool leads_host() const { return link != nullptr && local_rank == 0; }
  /// May be called once.
  Channels channels() const;
  /// Says that this rank failed, and why: nobody waits for it any longer, its own threads in channels neither.
  void tell_failure(const std::string& why) const;
  /// Whether it was the first to say so.
  bool failed_first() const;
};

/// What `work` returns. If it throws, this rank's failure is told before whatever `work` needs ends: channels that
/// still wait for others could not be closed otherwise.
template <class Work>
auto telling_failure(const RankContext& context, const Work& work) {
  try {
    return work();
  } catch (const std::exception& failure) {
    context.tell_failure(failure.what());
    throw;
  }
}

/// What a rank does. Its result is handed to whoever launched it, in another process perhaps, so it is a message
/// (base/message.h), or empty where the rank has nothing to tell.
using RankBody = std::function<std::string(const RankContext&)>;

/// A rank was lost: killed, frozen, out of memory. The run may go on from its last checkpoint.
class RankLost : public Error {
 public:
  RankLost(int rank, const std::string& message) : Error(message), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// What the end of a run says that lost a rank. Who started it on several hosts knows the loss by it.
inline constexpr const char* kResumeAdvice = ". The same command with --resume goes on from the last checkpoint";
inline constexpr const char* kNothingSaved = ". Nothing was saved yet: the same command with --overwrite begins again";

struct LaunchOptions {
  bool always_group = false;  // make a group also for one rank, so that collectives are really run
  /// A process of its own also for a plan of one, of which nothing stays here; unless forks are forbidden
  /// (base/forked.h).
  bool always_fork = false;
  std::size_t shared_bytes = 0;  // that the replicas' engines want to have in common (Engine::shared_bytes)
  /// The children's process numbers by rank, once they run; not called where the ranks are threads of this process.
  std::function<void(const std::vector<pid_t>&)> on_started = {};
  /// A child has ended, by itself or not: its process number and the largest size that it had in memory.
  std::function<void(pid_t, std::uint64_t peak_rss_bytes)> on_ended = {};
  HostsOptions hosts = {};  // of which this is one; the plan's replicas are those of all
  /// A rank's process that has used no processor for so long hangs. One that computes, reads or waits for other ranks
  /// uses some, however long its step.
  std::chrono::milliseconds hangs_after = std::chrono::minutes(2);
};

/// Runs `body` for every rank that `plan` has on this host, and returns their results. One process in the plan is this
/// process: nothing is forked (unless the options say so). Children inherit all memory as it stands, so what they share
/// is loaded before. A stop request (base/stop.h) reaches the children as one SIGTERM. Throws RankLost, or what the
/// first failing rank threw.
std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options);

}  // namespace evener::parallel
