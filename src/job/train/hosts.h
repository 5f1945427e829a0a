// `evener train` on several hosts: the user's command starts itself on each host, and these processes train together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/host_group.h"
#include "job/train/training.h"

namespace evener::job {

/// The hosts on which to start the command: those of --hosts or of the Slurm allocation; empty for a training on this
/// host alone, and in a process that was itself started for a host. Throws UsageError.
std::vector<std::string> hosts_to_start(const TrainFlags& flags);

/// The lines of --dry-run: which replicas are on which host.
std::string hosts_text(const std::vector<std::string>& hosts, std::size_t replicas_per_host);

/// Starts this command on every host, and waits for its end.
void train_on_hosts(const TrainFlags& flags, const std::vector<std::string>& hosts, Observer& observer);

/// The host of the run that this process leads; host 0 of 1 unless it was started for a host.
comm::HostPosition position_of(const TrainFlags& flags);

/// What hosts exchange at the start, to check that they agree.
parallel::HostsOptions hosts_options(const comm::HostPosition& position, const task::TrainJob& job);

/// Trains on a host other than the first: writes nothing, measures its own energy, and sends it to the first host.
void follow(const TrainFlags& flags, const task::TrainOptions& options, const comm::HostPosition& position);

/// Whether a run that is to be resumed has already ended. `record`: of its sessions so far.
bool has_ended(const task::TrainJob& job, const record::Record& record);

/// Does `work`; errors get the name of this host.
TrainingOutcome naming_host(const std::function<TrainingOutcome()>& work);

/// Writes into the record which host each replica was on.
void fill_hosts(record::Record& record, const std::vector<std::string>& names);

}  // namespace evener::job
