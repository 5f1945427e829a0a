// evener train on several hosts: the command that the user gave starts itself on each of them, and they work together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/host_position.h"
#include "job/train/training.h"

namespace evener::job {

/// The hosts to start: of --hosts, or of the Slurm allocation we are in; empty for this one alone, and in a process
/// that was started for one host of a run. Throws UsageError.
std::vector<std::string> hosts_to_start(const TrainFlags& flags);

/// The lines of --dry-run: which replicas are on which host.
std::string hosts_text(const std::vector<std::string>& hosts, std::size_t replicas_per_host);

/// Starts this command on every host, and waits for its end.
void train_on_hosts(const TrainFlags& flags, const std::vector<std::string>& hosts, Observer& observer);

/// Which host of the run this process leads; host 0 of 1 unless it was started for one.
comm::HostPosition position_of(const TrainFlags& flags);

/// What hosts tell each other at the start.
parallel::HostsOptions hosts_options(const comm::HostPosition& position, const task::TrainJob& job);

/// The part of a host that is not the first: it trains, and writes nothing.
/// It measures its own energy, and tells the first host.
void follow(const TrainFlags& flags, const task::TrainOptions& options, const comm::HostPosition& position);

/// Whether a run that is to be gone on with has nothing to do any more. `record`: of its sessions so far.
bool has_ended(const task::TrainJob& job, const record::Record& record);

/// Does `work`; what goes wrong says on which host.
TrainingOutcome naming_host(const std::function<TrainingOutcome()>& work);

/// Writes into the record which host each replica was on.
void fill_hosts(record::Record& record, const std::vector<std::string>& names);

}  // namespace evener::job
