// Training on several hosts: their names, how a command is started on them, how their leading ranks are connected, and
// how it all ended.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/host_group.h"

namespace evener::parallel {

/// Something that all hosts of a run have to agree on: {"number of images", "500", "give all hosts the same --data"}.
struct Fact {
  std::string what, value;
  std::string advice;
};

struct HostsOptions {
  int host = 0;  // this process's host
  int hosts = 1;
  std::vector<Fact> facts;
};

/// One message about the facts in which hosts differ; "" if they agree. names[h] and facts[h] belong to host h.
std::string difference_of(const std::vector<std::string>& names, const std::vector<std::vector<Fact>>& facts);

/// Connects the leading rank of each host with those of the other hosts, checks that all hosts do the same work, and
/// watches for lost hosts.
class HostLink {
 public:
  /// Connects. Throws Error on every host when they differ in a fact.
  HostLink(const HostsOptions& options, int channels);
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// From now on the loss of a host makes every exchange between hosts throw, and calls `on_lost` with the reason.
  void watch(std::function<void(const std::string& what)> on_lost) { group_->watch(names_, std::move(on_lost)); }
  /// This rank's end of channel `index` between the hosts. Each index may be asked for once.
  std::unique_ptr<comm::Communicator> channel(int index) {
    return std::move(channels_.at(static_cast<std::size_t>(index)));
  }
  /// A collective: each host gives its own message and gets those of all hosts, by host.
  std::vector<std::string> gather(const std::string& own);
  /// The hosts' names, by host.
  const std::vector<std::string>& names() const { return names_; }
  /// Waits for the other hosts at the end of the run, so that a host that ends first isn't taken for lost.
  void close() { group_->close(); }

 private:
  std::unique_ptr<comm::HostGroup> group_;
  std::vector<std::unique_ptr<comm::Communicator>> channels_;
  std::unique_ptr<comm::Communicator> messages_;  // a channel of its own
  std::vector<std::string> names_;
};

/// Reads "a,b", or a host file if `text` names one: a host name begins each line, anything after it (such as "slots=8")
/// is ignored, and '#' begins a comment. Throws UsageError for no hosts, a name twice, and characters that no host name
/// has.
std::vector<std::string> parse_hosts(const std::string& text);

/// Expands Slurm's short form, "n[001-003,7],login", to host names. Throws UsageError.
std::vector<std::string> expand_slurm_nodes(const std::string& text);

/// The hosts of the Slurm allocation that this process is in; empty outside of an allocation, or in one of a single
/// host.
std::vector<std::string> slurm_hosts();

/// Sums up in one sentence how a run on several hosts ended, from the messages of its starter (mpirun or srun).
class HostReport {
 public:
  explicit HostReport(int hosts) : hosts_(hosts) {}

  /// Takes a line of the starter's stderr, which also carries the stderr of all hosts' processes. True: the line should
  /// be shown to the user now. False: it is kept for text().
  bool take(const std::string& line);

  /// Whether anything has failed so far.
  bool failed() const { return failed_; }
  /// A host doesn't answer, and the starter would wait for it for ever.
  bool no_answer() const { return error_.find("no sign of life") != std::string::npos; }
  /// A host or one of its ranks was lost: the run may go on from its last checkpoint.
  bool lost() const;
  /// What went wrong: a host's own message if there is one, otherwise what the starter said. Never empty.
  std::string text() const;

 private:
  void end_block();

  int hosts_;
  bool failed_ = false, in_block_ = false, finding_is_loss_ = false;
  std::string error_;                 // the first message of a host's process
  std::string finding_;               // the failure that the starter's messages told of
  std::vector<std::string> block_;    // lines of mpirun's message between two rows of dashes
  std::vector<std::string> unknown_;  // lines that were not recognised
};

/// A host, or a rank on one, was lost. The run may go on from its last checkpoint.
class HostLost : public Error {
 public:
  using Error::Error;
};

struct HostLaunch {
  std::vector<std::string> hosts;
  bool slurm = false;              // `hosts` are those of the Slurm allocation that this process is in
  std::string program;             // path of the program, the same on all hosts
  std::vector<std::string> words;  // its arguments, without the program's name
};

/// The command line that starts the processes: mpirun's, which reaches the nodes of an allocation through Slurm, or
/// srun's in an allocation without mpirun. Throws Error when there is neither.
std::vector<std::string> starter_words(const HostLaunch& launch);

/// Starts the processes and waits for them. Host 0's stdout becomes ours, and all hosts' messages go to our stderr. A
/// stop request is passed on. Throws HostLost, or the message of the first process that failed, as Error, UsageError or
/// Interrupted according to its exit code. Leaves nothing running on this host; processes on hosts that can't be
/// reached end by themselves.
void run_on_hosts(const HostLaunch& launch);

}  // namespace evener::parallel
