#include "run/ranks.h"

#include <utility>

#include "base/error.h"
#include "run/placement_record.h"
#include "task/training/checkpoint.h"

namespace evener::run {

std::vector<std::string> run_on_all_ranks(MeteredRun& run, const RankedJob& job, const RankOptions& options,
                                          const parallel::RankBody& body) {
  parallel::LaunchOptions launch = options.launch;
  launch.on_started = [&run](const std::vector<pid_t>& pids) { run.watch({pids.begin(), pids.end()}); };
  launch.on_ended = [&run](pid_t pid, std::uint64_t peak_bytes) { run.ended(pid, peak_bytes); };
  for (int left = options.restarts;; --left) {
    try {
      launch.shared_bytes = job.shared_bytes();
      return parallel::run_ranks(job.plan(), body, launch);
    } catch (const parallel::RankLost& lost) {
      const bool saved = task::has_checkpoint(run.folder());
      const std::string loss = std::string(lost.what()) + (saved ? parallel::kResumeAdvice : parallel::kNothingSaved);
      if (launch.hosts.hosts > 1) throw Error(loss);
      std::string note =
          std::string(lost.what()) + "; starting again from " + (saved ? "the last checkpoint" : "the beginning");
      if (left <= 0) {
        if (!options.elastic)
          throw Error(loss + (options.restarts > 0 ? "" : "; --restarts 1 starts it again by itself"));
        job.leave_out(lost.rank());
        run.record().placement = placement_record(job.plan());
        note += " without it";
      }
      run.note(note);
      run.start_again();
      job.rewind();
    }
  }
}

}  // namespace evener::run
