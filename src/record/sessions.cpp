#include "record/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/statistics.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

/// The reason why a value of earlier sessions is unknown.
std::string why_unknown(const Record& earlier) {
  for (std::size_t n = 0; n < earlier.sessions.size(); ++n) {
    const SessionRecord& session = earlier.sessions[n];
    if (session.started.empty()) return "the record of the sessions before the resume was not there";
    if (session.status == Status::kKilled) return fmt::format("session {} was killed before it wrote this", n + 1);
  }
  return "the sessions before did not record it";
}

/// Adds `before` to `sum`. If `before` is unknown, so is the sum, and the record gets the reason under `path`.
template <typename T>
void add(Record& record, const char* path, std::optional<T>& sum, const std::optional<T>& before,
         const Record& earlier) {
  if (before) {
    if (sum) *sum += *before;
    return;
  }
  sum.reset();
  record.missing[path] = why_unknown(earlier);
}

void add_all(std::map<std::string, double>& sums, const std::map<std::string, double>& before) {
  for (const auto& [name, seconds] : before) sums[name] += seconds;
}

/// The lines of `before`, followed by the others that are new.
void put_in_front(std::vector<std::string>& lines, const std::vector<std::string>& before) {
  std::vector<std::string> all = before;
  for (std::string& line : lines) {
    if (std::ranges::find(all, line) == all.end()) all.push_back(std::move(line));
  }
  lines = std::move(all);
}

void add_times(Record& record, const Record& earlier) {
  Times before = earlier.times;
  // A session that ended before its first step has no known training time; it counts in no sum.
  const bool no_step = !earlier.sessions.empty() && std::ranges::all_of(earlier.sessions, [](const auto& session) {
    return !session.started.empty() && session.images == 0 &&
           (session.status == Status::kInterrupted || session.status == Status::kKilled);
  });
  if (no_step && record.kind == kTrainingKind.name) {
    for (auto* part : {&before.train, &before.validate, &before.test}) *part = part->value_or(0);
  }
  Times& times = record.times;
  add(record, "times_s.total", times.total, before.total, earlier);
  add(record, "times_s.init", times.init, before.init, earlier);
  add(record, "times_s.load", times.load, before.load, earlier);
  add(record, "times_s.train", times.train, before.train, earlier);
  add(record, "times_s.validate", times.validate, before.validate, earlier);
  add(record, "times_s.test", times.test, before.test, earlier);
  add(record, "times_s.checkpoint", times.checkpoint, before.checkpoint, earlier);
  times.first_step = before.first_step;  // of the whole run
  if (!times.first_step) record.missing["times_s.first_step"] = why_unknown(earlier);
  if (!times.to_accuracy) times.to_accuracy = before.to_accuracy;
  add_all(record.phases_s, earlier.phases_s);
  add_all(record.hidden_s, earlier.hidden_s);
}

/// Takes over the earlier sessions' epochs that precede this session's first. The checkpoint has them too, but without
/// phases.
void add_epochs(TrainingRecord& training, const TrainingRecord& before) {
  std::vector<EpochRecord> all;
  const auto same = [&](const EpochRecord& known) {
    return std::ranges::find_if(before.epochs, [&](const EpochRecord& epoch) {
      return epoch.epoch == known.epoch && epoch.seconds == known.seconds;
    });
  };
  for (EpochRecord& epoch : training.epochs) {
    if (!epoch.phases_s.empty()) continue;
    if (const auto found = same(epoch); found != before.epochs.end()) {
      epoch.phases_s = found->phases_s;
      epoch.from_s = found->from_s;
      epoch.to_s = found->to_s;
      epoch.joules = found->joules;
    }
  }
  for (const EpochRecord& epoch : before.epochs) {
    if (training.epochs.empty() || epoch.epoch < training.epochs.front().epoch) all.push_back(epoch);
  }
  all.insert(all.end(), training.epochs.begin(), training.epochs.end());
  training.epochs = std::move(all);
}

/// "2xcpu/t1 with 1 replica", if the other one was lost.
std::string place_of(const SessionRecord& session) {
  return fmt::format("{} with {} replica{}", session.placement, session.replicas, session.replicas == 1 ? "" : "s");
}

/// The difference between two sessions that makes their speeds incomparable; "" = none.
std::string difference(const SessionRecord& a, const SessionRecord& b) {
  const auto differ = [](const char* what, const std::string& one, const std::string& other) {
    return one == other ? "" : fmt::format("{} ({}, {})", what, one, other);
  };
  std::string text = differ("placements", place_of(a), place_of(b));
  if (text.empty()) text = differ("engines", a.engine, b.engine);
  return text.empty() ? differ("processors", a.cpu, b.cpu) : text;
}

std::int64_t images_of(const std::vector<SessionRecord>& sessions) {
  std::int64_t images = 0;
  for (const SessionRecord& session : sessions) images += session.images;
  return images;
}

/// Joins the speeds' samples of sessions that measured in the same way; each session has left its own warm-up out.
/// Otherwise takes the speed of the session that trained on more images.
void add_speed(Throughput& speed, const Throughput& before, bool before_did_more) {
  if (before.samples.empty()) return;
  if (speed.samples.empty() || (speed.over != before.over && before_did_more)) {
    speed = before;
    return;
  }
  if (speed.over != before.over) return;
  speed.samples.insert(speed.samples.begin(), before.samples.begin(), before.samples.end());
  speed.median = median(speed.samples);
  speed.interval = median_interval(speed.samples);
}

/// Adds up each replica's work, if the replicas are the same.
void add_replicas(Record& record, const Record& earlier) {
  auto& replicas = record.placement.replicas;
  const auto& before = earlier.placement.replicas;
  const bool same = record.placement.text == earlier.placement.text && replicas.size() == before.size();
  std::int64_t all = 0;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    const ReplicaRecord unknown;
    add(record, "placement.replicas.samples", replicas[r].samples, (same ? before[r] : unknown).samples, earlier);
    add(record, "placement.replicas.busy_s", replicas[r].busy_s, (same ? before[r] : unknown).busy_s, earlier);
    all += replicas[r].samples.value_or(0);
  }
  if (!same) {
    record.missing["placement.replicas.samples"] = record.missing["placement.replicas.busy_s"] =
        fmt::format("the sessions before computed on {}", place_of(earlier.sessions.back()));
  }
  for (auto& replica : replicas) {
    if (replica.samples && all > 0) {
      replica.share = static_cast<double>(*replica.samples) / static_cast<double>(all);
    }
  }
}

/// Merges two spreads; the means are weighted with `seconds` and `before_s`, their durations.
std::optional<Spread> together(const std::optional<Spread>& spread, double seconds, const std::optional<Spread>& before,
                               double before_s) {
  if (!spread || !before) return spread ? spread : before;
  const double all_s = std::max(seconds + before_s, 1e-9);
  return Spread{std::min(spread->min, before->min), (spread->mean * seconds + before->mean * before_s) / all_s,
                std::max(spread->max, before->max)};
}

std::optional<double> mean_together(const std::optional<double>& mean, double seconds,
                                    const std::optional<double>& before, double before_s) {
  if (!mean || !before) return mean ? mean : before;
  return (*mean * seconds + *before * before_s) / std::max(seconds + before_s, 1e-9);
}

/// The larger value; absent, with the reason, if the earlier one is unknown.
void take_larger(Record& record, const char* path, std::optional<std::uint64_t>& most,
                 const std::optional<std::uint64_t>& before, const Record& earlier) {
  if (most && before) most = std::max(*most, *before);
  if (before) return;
  most.reset();
  record.missing[path] = why_unknown(earlier);
}

std::optional<double> both_or_none(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

void add_devices(Energy& energy, const Energy& before) {
  for (DeviceEnergy& device : energy.devices) {
    const auto known = std::ranges::find_if(before.devices, [&](const DeviceEnergy& other) {
      return other.name == device.name && other.sensor == device.sensor && other.host == device.host;
    });
    const bool both = device.joules && known != before.devices.end() && known->joules;
    if (!both) {
      if (device.reason.empty()) device.reason = "a session before did not know it";
      device.joules.reset();
      device.uncertainty_joules.reset();
      device.mean_watts.reset();
      device.net_joules.reset();
      device.kind = EnergyClass::kAbsent;
      continue;
    }
    *device.joules += *known->joules;
    device.uncertainty_joules = both_or_none(device.uncertainty_joules, known->uncertainty_joules);
    device.mean_watts =
        energy.seconds && *energy.seconds > 0 ? std::optional(*device.joules / *energy.seconds) : std::nullopt;
    device.peak_watts = std::max(device.peak_watts, known->peak_watts);
    device.kind = together(device.kind, known->kind);
    device.net_joules = both_or_none(device.net_joules, known->net_joules);
  }
}

/// Adds up phases, also those of one session only, so that they still sum up to the total.
void add_phases(Energy& energy, const Energy& before) {
  if (energy.phases.empty()) return;
  if (before.phases.empty()) {
    energy.phases.clear();
    energy.phases_reason = "the sessions before did not record it";
    return;
  }
  for (const PhaseEnergy& other : before.phases) {
    const auto found = std::ranges::find(energy.phases, other.phase, &PhaseEnergy::phase);
    if (found == energy.phases.end()) {
      energy.phases.push_back(other);
      continue;
    }
    found->joules += other.joules;
    found->seconds += other.seconds;
  }
}

void add_energy(Record& record, const Record& earlier) {
  Energy& energy = record.energy;
  const Energy& before = earlier.energy;
  put_in_front(energy.lost, before.lost);
  put_in_front(energy.lacks, before.lacks);
  energy.checks.insert(energy.checks.begin(), before.checks.begin(), before.checks.end());
  if (!energy.joules) return;
  if (!before.joules) {
    energy = {.checks = std::move(energy.checks), .lost = std::move(energy.lost), .lacks = std::move(energy.lacks)};
    energy.reason = why_unknown(earlier);
    return;
  }
  const auto sum = [](std::optional<double>& a, const std::optional<double>& b) { a = both_or_none(a, b); };
  *energy.joules += *before.joules;
  sum(energy.seconds, before.seconds);
  sum(energy.uncertainty_joules, before.uncertainty_joules);
  sum(energy.used_joules, before.used_joules);
  sum(energy.work_joules, before.work_joules);
  sum(energy.work_seconds, before.work_seconds);
  sum(energy.net_joules, before.net_joules);
  sum(energy.process_joules, before.process_joules);
  if (!energy.net_joules && energy.net_reason.empty()) energy.net_reason = "not all sessions measured their idle power";
  const char* const not_all = "not all sessions knew it";
  if (!energy.used_joules && energy.used_reason.empty()) energy.used_reason = not_all;
  if (!energy.work_joules && energy.work_reason.empty()) energy.work_reason = not_all;
  if (!energy.process_joules && energy.process_reason.empty()) energy.process_reason = not_all;
  energy.net_interval.reset();  // each session has its own idle power
  energy.kind = together(energy.kind, before.kind);
  for (const auto& [kind, joules] : before.by_class) energy.by_class[kind] += joules;
  set_products(energy);
  for (auto& domain : energy.domains) {
    for (const auto& other : before.domains) {
      if (other.name == domain.name) domain.joules += other.joules;
    }
  }
  add_devices(energy, before);
  add_phases(energy, before);
}

}  // namespace

void add_earlier_work(Record& record, const Record& earlier) {
  if (!earlier.started.empty()) {
    record.started = earlier.started;
    record.command = earlier.command;
  }
  add_times(record, earlier);
  add_epochs(record.training, earlier.training);
  if (record.confusion.empty()) record.confusion = earlier.confusion;
  add_speed(record.images_per_s, earlier.images_per_s, images_of(earlier.sessions) > images_of(record.sessions));
  add_replicas(record, earlier);
  put_in_front(record.notes, earlier.notes);
  put_in_front(record.fallbacks, earlier.fallbacks);
  for (const SessionRecord& session : earlier.sessions) {
    const std::string text = session.started.empty() ? "" : difference(session, record.sessions.back());
    if (text.empty()) continue;
    record.images_per_s = {};
    record.images_per_s.reason = fmt::format("the sessions of this run had different {}", text);
  }
  record.sessions.insert(record.sessions.begin(), earlier.sessions.begin(), earlier.sessions.end());
}

void add_earlier_samples(Record& record, const Record& earlier) {
  double before_s = 0;
  for (const SessionRecord& session : earlier.sessions) before_s += session.seconds.value_or(0);
  const double seconds = record.sessions.back().seconds.value_or(0);
  CpuUse& cpu = record.cpu;
  add(record, "cpu.seconds", cpu.seconds, earlier.cpu.seconds, earlier);
  cpu.percent = together(cpu.percent, seconds, earlier.cpu.percent, before_s);
  cpu.others_percent = together(cpu.others_percent, seconds, earlier.cpu.others_percent, before_s);
  cpu.steal_percent_mean = mean_together(cpu.steal_percent_mean, seconds, earlier.cpu.steal_percent_mean, before_s);
  for (std::size_t core = 0; core < std::min(cpu.core_percent_mean.size(), earlier.cpu.core_percent_mean.size());
       ++core) {
    double& mean = cpu.core_percent_mean[core];
    mean = *mean_together(mean, seconds, earlier.cpu.core_percent_mean[core], before_s);
  }
  if (cpu.throttle_events && earlier.cpu.throttle_events) *cpu.throttle_events += *earlier.cpu.throttle_events;
  if (cpu.exchanged && earlier.cpu.exchanged) *cpu.exchanged += *earlier.cpu.exchanged;
  if (cpu.lent && earlier.cpu.lent) *cpu.lent += *earlier.cpu.lent;
  cpu.samples += earlier.cpu.samples;
  if (cpu.percent) record.missing.erase("cpu.percent");
  Memory& memory = record.memory;
  const Memory& before = earlier.memory;
  take_larger(record, "memory.peak_rss_bytes", memory.peak_rss_bytes, before.peak_rss_bytes, earlier);
  memory.rss_bytes = together(memory.rss_bytes, seconds, before.rss_bytes, before_s);
  memory.pss_bytes = together(memory.pss_bytes, seconds, before.pss_bytes, before_s);
  if (memory.swap_bytes_max && before.swap_bytes_max) {
    memory.swap_bytes_max = std::max(*memory.swap_bytes_max, *before.swap_bytes_max);
  }
  if (memory.ranks.size() == before.ranks.size()) {  // else they are different ranks
    for (std::size_t r = 0; r < memory.ranks.size(); ++r) {
      auto& peak = memory.ranks[r].peak_rss_bytes;
      if (peak && before.ranks[r].peak_rss_bytes) peak = std::max(*peak, *before.ranks[r].peak_rss_bytes);
    }
  }
  for (std::size_t g = 0; g < std::min(record.gpus.size(), earlier.gpus.size()); ++g) {
    auto& peak = record.gpus[g].peak_memory_bytes;
    if (peak && earlier.gpus[g].peak_memory_bytes) peak = std::max(*peak, *earlier.gpus[g].peak_memory_bytes);
  }
  add_energy(record, earlier);
}

Record earlier_sessions(const std::filesystem::path& dir) {
  Record record;
  try {
    record = read_record(dir);
  } catch (const Error&) {
    record = {};  // nothing is known of the earlier sessions
  }
  if (record.status == Status::kRunning || record.started.empty()) record.status = Status::kKilled;
  if (record.sessions.empty()) record.sessions.emplace_back();
  record.sessions.back().status = record.status;
  return record;
}

}  // namespace evener::record
