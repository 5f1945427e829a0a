// `evener train` on several hosts: the user's command starts itself on each host, and these processes train
// together.
#include "parallel/hosts.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/host_name.h"
#include "base/version.h"
#include "job/train/training.h"
#include "measure/process_sampler.h"
#include "parallel/launcher.h"
#include "placement/plan.h"
#include "record/energy.h"
#include "record/sessions.h"
#include "run/out_folder.h"
#include "task/training/checkpoint.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

std::string without_advice(std::string text) {
  for (const std::string advice : {parallel::kResumeAdvice, parallel::kNothingSaved}) {
    if (const std::size_t at = text.find(advice); at != std::string::npos) text.erase(at, advice.size());
  }
  return text;
}

}  // namespace

std::vector<std::string> hosts_to_start(const TrainFlags& flags) {
  if (*flags.placement.hosts_started > 0) return {};
  auto hosts = flags.placement.hosts->empty() ? parallel::slurm_hosts() : parallel::parse_hosts(*flags.placement.hosts);
  if (!hosts.empty() && *flags.placement.elastic) {
    throw UsageError(
        "--elastic goes on with fewer replicas on one host only; on several, --restarts 1 starts all of them again");
  }
  if (!hosts.empty() && *flags.placement.restarts > 0 && flags.output.out->empty()) {
    throw UsageError("--restarts on several hosts needs to know where the checkpoints are; give --out FOLDER");
  }
  return hosts;
}

std::string hosts_text(const std::vector<std::string>& hosts, std::size_t replicas_per_host) {
  std::string text = "hosts      " + std::to_string(hosts.size()) +
                     ", each with the placement above: " + std::to_string(hosts.size() * replicas_per_host) +
                     " replicas, which share each batch\n";
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    const std::size_t first = host * replicas_per_host, last = first + replicas_per_host - 1;
    text += "host " + std::to_string(host) + "  " + hosts[host] + ", replica" +
            (first == last ? " " + std::to_string(first) : "s " + std::to_string(first) + "-" + std::to_string(last)) +
            "\n";
  }
  return text;
}

void train_on_hosts(const TrainFlags& flags, const std::vector<std::string>& hosts, Observer& observer) {
  parallel::HostLaunch launch;
  launch.hosts = hosts;
  launch.slurm = flags.placement.hosts->empty();
  launch.program = fs::read_symlink("/proc/self/exe").string();
  launch.words = run::command_line();
  launch.words.erase(launch.words.begin());
  launch.words.insert(launch.words.end(), {run::kHostsStarted, std::to_string(hosts.size())});
  const fs::path out = *flags.output.out;
  const bool made_here = !out.empty() && !fs::exists(out);
  const auto saved_before = task::checkpoint_time(out);  // of a run that --overwrite replaces
  // The first host's process may have been ended before it could take its folder away.
  const auto tidy = [&] {
    if (!made_here || task::has_checkpoint(out) || fs::exists(out / "record.json")) return;
    // A run that came to nothing has written no more than this.
    std::error_code ignored;
    for (const char* name : {run::kSamples, run::kNewSamples}) fs::remove(out / name, ignored);
    fs::remove(out, ignored);  // only if empty
  };
  const std::size_t given_words = launch.words.size();
  for (int left = *flags.placement.restarts;; --left) {
    try {
      return parallel::run_on_hosts(launch);
    } catch (const parallel::HostLost& lost) {
      tidy();
      if (left <= 0) throw;
      const auto saved = task::checkpoint_time(out);
      const bool begun = flags.output.resumes() || (saved && saved != saved_before);
      observer.note(fmt::format("evener: {}; starting again from {}", without_advice(lost.what()),
                                begun ? "the last checkpoint" : "the beginning"));
      launch.words.resize(given_words);
      if (flags.output.resumes()) continue;
      // The folder holds what the lost hosts left there: a checkpoint, or a record that nothing goes on from.
      const std::vector<std::string> more =
          begun ? std::vector<std::string>{"--overwrite=false", "--resume"} : std::vector<std::string>{"--overwrite"};
      launch.words.insert(launch.words.end(), more.begin(), more.end());
    } catch (...) {
      tidy();
      throw;
    }
  }
}

comm::HostPosition position_of(const TrainFlags& flags) {
  if (*flags.placement.hosts_started == 0) return {};
  const comm::HostPosition position = comm::host_position();
  if (position.hosts == *flags.placement.hosts_started) return position;
  throw Error("this run was to have " + std::to_string(*flags.placement.hosts_started) + " hosts, but " +
              std::to_string(position.hosts) + " were started");
}

parallel::HostsOptions hosts_options(const comm::HostPosition& position, const task::TrainJob& job) {
  parallel::HostsOptions options{position.host, position.hosts, {}};
  if (position.hosts == 1) return options;
  options.facts = job.facts();
  options.facts.insert(options.facts.begin(),
                       {"version of evener", program_version(), "install the same version on all hosts"});
  return options;
}

void follow(const TrainFlags& flags, const task::TrainOptions& options, const comm::HostPosition& position) {
  task::TrainObserver silent;
  task::TrainOptions own = options;
  if (!own.resume) own.out.clear();  // the first host writes
  task::TrainJob job(task::PreparedTraining(own, silent));
  if (own.resume && has_ended(job, record::earlier_sessions(own.out))) return;  // the first host says so
  parallel::LaunchOptions launch;
  launch.hosts = hosts_options(position, job);
  measure::EnergyOptions energy = flags.energy.options(own.plan);
  energy.meters.clear();  // the first host runs their commands
  parallel::run_ranks(
      own.plan,
      [&](const parallel::RankContext& context) {
        if (!context.leads_host()) {
          job.run(context);
          return std::string();
        }
        // Its sensors see the whole host, however many of its ranks there are.
        measure::ProcessSampler sampler({.interval_ms = *flags.measuring.sample_interval_ms, .energy = energy});
        job.run(context);
        record::Energy used = sampler.stop().energy;
        used.process_joules.reset();  // of this rank alone
        context.link->gather(record::energy_message(used));
        return std::string();
      },
      launch);
}

bool has_ended(const task::TrainJob& job, const record::Record& record) {
  return job.is_complete() && record.status == record::Status::kDone;
}

TrainingOutcome naming_host(const std::function<TrainingOutcome()>& work) {
  const auto named = [](const std::exception& error) { return "on host " + host_name() + ": " + error.what(); };
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(named(error));
  } catch (const std::exception& error) {
    throw Error(named(error));
  }
}

void fill_hosts(record::Record& record, const std::vector<std::string>& names) {
  auto& replicas = record.placement.replicas;
  const std::size_t per_host = replicas.size() / names.size();
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    replicas[r].host = names.at(r / per_host);
    if (r < per_host) continue;
    for (auto& stage : replicas[r].stages) stage.cpus.clear();  // another machine's are not known here
  }
}

}  // namespace evener::job
