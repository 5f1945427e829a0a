#include "measure/record_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/numbers.h"
#include "measure/process_sampler.h"
#include "measure/sensors/nvml.h"
#include "record/energy.h"
#include "record/record_kind.h"

namespace evener::measure {
namespace {

/// Keys whose values only the sampler knows.
constexpr const char* kSampled[] = {"cpu.seconds", "cpu.percent", "memory.peak_rss_bytes", "memory.pss_bytes"};

/// Whether one of the sensors' devices has this UUID. If none has, cards are matched by number: the card reports no
/// UUID, or the run computes on a part of it (MIG) that has a UUID of its own.
template <typename Devices>
bool is_among(const Devices& devices, const std::string& uuid) {
  return !uuid.empty() && std::ranges::any_of(devices, [&](const auto& device) { return device.uuid == uuid; });
}

/// Fills in the figures of the record's GPUs from the sensors' devices, matched by UUID or else by number ("gpu 0" is
/// the machine's first).
void take_gpus(record::Record& record, const SamplerSummary& summary) {
  record.missing.erase("gpus");
  if (record.gpus.empty()) record.missing["gpus"] = "no GPU was used";
  for (record::GpuUse& gpu : record.gpus) {
    const std::string name = fmt::format("gpu {}", card_of(gpu.index));
    const auto is_it = [&](const auto& device, bool by_uuid) {
      return by_uuid ? device.uuid == gpu.uuid : device.name == name;
    };
    for (const DeviceUse& device : summary.devices) {
      if (!is_it(device, is_among(summary.devices, gpu.uuid))) continue;
      if (device.utilisation_percent) gpu.utilisation_percent_mean = device.utilisation_percent->mean;
      gpu.throttled_share =
          device.samples > 0
              ? std::optional(static_cast<double>(device.throttled_samples) / static_cast<double>(device.samples))
              : std::nullopt;
      gpu.throttle_reasons = device.throttle_reasons;
      gpu.temperature_c = device.temperature_c;
      gpu.clock_mhz = device.clock_mhz;
    }
    for (const record::DeviceEnergy& device : record.energy.devices) {
      if (is_it(device, is_among(record.energy.devices, gpu.uuid))) gpu.joules = device.joules;
    }
    const char* const why = "no sensor of this GPU could be read; evener doctor says why";
    if (!gpu.joules) record.missing["gpus.joules"] = why;
    if (!gpu.utilisation_percent_mean) record.missing["gpus.utilisation_percent_mean"] = why;
  }
}

/// The names of the replicas' hosts in order, each once.
std::vector<std::string> hosts_of(const record::Record& record) {
  std::vector<std::string> hosts;
  for (const record::ReplicaRecord& replica : record.placement.replicas) {
    if (std::ranges::find(hosts, replica.host) == hosts.end()) hosts.push_back(replica.host);
  }
  return hosts;
}

void take_hosts(record::Record& record) {
  const std::vector<record::Energy> energies = std::exchange(record.host_energies, {});
  const std::vector<std::string> hosts = hosts_of(record);
  if (hosts.size() < energies.size()) {
    record.notes.push_back("hosts of the same name are taken for one machine, whose energy counts once");
  }
  record::add_hosts(record.energy, hosts, energies);
}

/// Whether the run computed on this card of a sensor.
bool computed_on(const record::Record& record, const record::DeviceEnergy& card) {
  for (const record::ReplicaRecord& replica : record.placement.replicas) {
    if (!card.host.empty() && !replica.host.empty() && card.host != replica.host) continue;
    for (const record::StageRecord& stage : replica.stages) {
      const std::size_t colon = stage.device.find(':');
      if (colon == std::string::npos) continue;
      const int number = card_of(std::atoi(stage.device.c_str() + colon + 1));
      const bool by_uuid = is_among(record.energy.devices, stage.uuid);
      if (by_uuid ? card.uuid == stage.uuid : card.name == fmt::format("gpu {}", number)) return true;
    }
  }
  return false;
}

/// Whether a stage is on a GPU. A GPU computes asynchronously, so the program's phases don't say what its energy went
/// into.
bool computes_ahead(const record::Record& record) {
  return std::ranges::any_of(record.placement.replicas, [](const record::ReplicaRecord& replica) {
    return std::ranges::any_of(
        replica.stages, [](const record::StageRecord& stage) { return stage.device.find(':') != std::string::npos; });
  });
}

/// Marks the devices that the run didn't use (cards that are not in its placement), and sums the energy of the others.
void mark_used(record::Record& record) {
  record::Energy& energy = record.energy;
  std::optional<double> joules;
  for (record::DeviceEnergy& device : energy.devices) {
    const bool numbered = device.covers == record::Covers::kGpu && device.name.starts_with("gpu ");
    if (device.name.starts_with("idle gpu")) device.used = false;
    if (numbered && device.kind != record::EnergyClass::kEstimated) device.used = computed_on(record, device);
    if (device.added && device.used) joules = joules.value_or(0) + device.joules.value_or(0);
  }
  if (energy.joules) energy.used_joules = joules;
  if (energy.joules && !joules) energy.used_reason = "no sensor sees the devices that the run computed on";
  record::set_products(energy);
  if (energy.joules && computes_ahead(record)) {
    energy.phases.clear();
    energy.phases_reason =
        "a GPU computes behind the program that drives it, whose phases don't say what the joules went into";
  }
}

/// A moment and the joules used until then, interpolated between samples.
struct Moment {
  double time_s = 0;
  std::optional<double> joules = {};
};

/// The epochs of the present session, whose times are by its clock.
std::span<record::EpochRecord> own_epochs(record::Record& record) {
  std::span<record::EpochRecord> all(record.training.epochs);
  if (record.sessions.empty()) return all;
  const auto own = static_cast<std::size_t>(std::max<std::int64_t>(0, record.sessions.back().epochs));
  return own < all.size() ? all.last(own) : all;
}

/// Finds the joules used until each moment. `samples_at_s`: when the session began.
void find_joules(std::vector<Moment>& moments, const std::filesystem::path& samples, double samples_at_s) {
  std::ifstream file(samples);
  CsvReader table(file);
  const auto joules_column = table.find_column(kJoulesColumn);
  if (moments.empty() || !joules_column) return;
  std::optional<Moment> before;
  while (table.next()) {
    const auto time_s = to_number<double>(table.cell(0)), joules = to_number<double>(table.cell(*joules_column));
    if (!time_s || !joules || *time_s < samples_at_s - 1) continue;
    for (Moment& moment : moments) {
      if (moment.joules || *time_s < moment.time_s) continue;
      if (!before || before->time_s >= *time_s) {
        if (*time_s - moment.time_s < 0.1) moment.joules = *joules;
        continue;
      }
      const double share = (moment.time_s - before->time_s) / (*time_s - before->time_s);
      if (share >= 0) moment.joules = *before->joules + share * (*joules - *before->joules);
    }
    before = Moment{*time_s, joules};
  }
}

/// While a meter's answer is late, energy is extrapolated, so the sum may fall when the answer comes.
std::optional<double> joules_between(const Moment& from, const Moment& to) {
  return from.joules && to.joules && *to.joules >= *from.joules ? std::optional(*to.joules - *from.joules)
                                                                : std::nullopt;
}

}  // namespace

void leave_samples_out(record::Record& record) {
  for (const char* path : kSampled) record.missing[path] = "the run has not ended";
  record.energy.reason = "the run has not ended";
}

void take_samples(record::Record& record, const SamplerSummary& summary) {
  for (const char* path : kSampled) record.missing.erase(path);
  record.memory = summary.memory;
  record.cpu = summary.cpu;
  if (!record.sessions.empty()) record.sessions.back().cpu_seconds = summary.cpu.seconds;
  record.energy = summary.energy;
  if (!record.host_energies.empty()) take_hosts(record);
  mark_used(record);
  if (!summary.memory.peak_rss_bytes) record.missing["memory.peak_rss_bytes"] = "/proc/self/status could not be read";
  if (!summary.memory.pss_bytes) record.missing["memory.pss_bytes"] = "/proc/self/smaps_rollup could not be read";
  if (!summary.cpu.percent) {
    record.missing["cpu.percent"] = "the run was shorter than two samples, or /proc could not be read";
  }
  if (!summary.cpu.throttle_events) {
    record.missing["cpu.throttle_events"] = "this kernel doesn't count thermal throttling (usual in virtual machines)";
  }
  take_gpus(record, summary);
  if (!summary.error.empty()) record.notes.push_back("samples.csv ends early: " + summary.error);
}

void fill_epoch_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s) {
  std::vector<Moment> moments;
  for (const record::EpochRecord& epoch : own_epochs(record)) {
    if (!epoch.from_s || !epoch.to_s || epoch.joules) continue;
    moments.push_back({samples_at_s + *epoch.from_s});
    moments.push_back({samples_at_s + *epoch.to_s});
  }
  find_joules(moments, samples, samples_at_s);
  std::size_t n = 0;
  for (record::EpochRecord& epoch : own_epochs(record)) {
    if (!epoch.from_s || !epoch.to_s || epoch.joules) continue;
    epoch.joules = joules_between(moments[n], moments[n + 1]);
    n += 2;
  }
}

void fill_work_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s, WorkTime work,
                      double least_s) {
  record::Energy& energy = record.energy;
  if (record.kind == record::kTrainingKind.name) {
    const std::span<const record::EpochRecord> epochs = own_epochs(record);
    if (!epochs.empty()) {
      const bool has_ended = record.status == record::Status::kDone || record.status == record::Status::kDiverged;
      work = {epochs.front().from_s, has_ended ? epochs.back().to_s : record.sessions.back().seconds};
    }
  }
  if (!energy.joules || !energy.work_reason.empty()) return;
  if (!work.from_s || !work.to_s) {
    energy.work_reason = "no work on images came to an end";
    return;
  }
  const double seconds = *work.to_s - *work.from_s;
  std::vector<Moment> ends = {{samples_at_s + *work.from_s}, {samples_at_s + *work.to_s}};
  find_joules(ends, samples, samples_at_s);
  if (seconds >= least_s) energy.work_joules = joules_between(ends[0], ends[1]);
  if (energy.work_joules) {
    energy.work_seconds = seconds;
  } else {
    energy.work_reason =
        seconds < least_s
            ? fmt::format("the work on images took {:.2f} s, too short for the meters (at least {:.3g} s)", seconds,
                          least_s)
            : "the samples don't tell what was used until the work began and ended";
  }
}

}  // namespace evener::measure
