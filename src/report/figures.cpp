#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "base/names.h"
#include "base/plural.h"
#include "record/validity.h"
#include "report/format.h"

namespace evener::report {
namespace {

using record::Record;

/// Why values are missing: path -> reason, energy included.
std::map<std::string, std::string> missing_reasons(const Record& record) {
  std::map<std::string, std::string> reasons = record.missing;
  if (!record.images_per_s.median && !record.images_per_s.reason.empty()) {
    reasons["images_per_s"] = record.images_per_s.reason;
  }
  for (const auto& [name, metric] : record.metrics) {
    if (!metric.value && !metric.reason.empty()) reasons[name] = metric.reason;
  }
  if (!record.energy.joules) reasons["energy"] = record.energy.reason.empty() ? "not measured" : record.energy.reason;
  if (record.energy.joules && !record.energy.lacks.empty()) reasons["a part of energy"] = lacks_text(record.energy);
  return reasons;
}

/// One note per pair of value and reason, with the runs concerned.
void note_missing(std::span<const Run> runs, std::vector<std::string>& notes) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> found;
  for (const Run& run : runs) {
    for (const auto& [path, reason] : missing_reasons(run.record)) found[{path, reason}].push_back(run.name);
  }
  for (const auto& [what, names] : found) {
    std::string of;
    if (runs.size() > 1 && names.size() == runs.size()) of = " (all runs)";
    if (runs.size() > 1 && names.size() < runs.size()) of = fmt::format(" ({})", listed(names));
    notes.push_back(fmt::format("Absent: {}{}: {}", what.first, of, what.second));
  }
}

/// The end of a sentence about a run: "was interrupted".
std::string end_text(record::Status status) {
  switch (status) {
    case record::Status::kRunning:
      return "has not ended: these are its figures so far";
    case record::Status::kKilled:
      return "ended without finishing (killed, or its machine stopped): these are its last figures. --resume goes on "
             "where there is a checkpoint";
    case record::Status::kDiverged:
    case record::Status::kFailed:
      return record::status_name(status);
    default:
      return std::string("was ") + record::status_name(status);
  }
}

std::string session_text(const record::SessionRecord& session) {
  std::string text = fmt::format("{}, {} epochs", record::status_name(session.status), session.epochs);
  if (session.seconds) text += " in " + duration_text(*session.seconds);
  return text;
}

/// A note about the sessions of a resumed run.
void note_sessions(const Run& run, std::vector<std::string>& notes) {
  const auto& sessions = run.record.sessions;
  if (sessions.size() < 2) return;
  std::string text;
  for (const auto& session : sessions) text += (text.empty() ? "" : "; ") + session_text(session);
  notes.push_back(fmt::format("{}: times are sums over {} sessions ({})", run.name, sessions.size(), text));
}

/// "package-0 tells 0.62 of what meter does (0.61 to 0.63, 58 windows of 1 s)".
std::string check_text(const record::MeterCheck& check) {
  std::string text = check.ratio
                         ? fmt::format("{} tells {:.3g} of what {} does", check.first, *check.ratio, check.second)
                         : fmt::format("{} can't be held against {}", check.first, check.second);
  if (check.interval) {
    text += fmt::format(" ({:.3g} to {:.3g}, {} windows of {:.3g} s)", check.interval->low, check.interval->high,
                        check.windows, check.window_s);
  }
  if (check.nested && check.offset_watts) text += fmt::format("; the rest draws some {:.0f} W", *check.offset_watts);
  const bool agree = check.agreement == record::Agreement::kAgree;
  if (!agree) text += fmt::format("; {}", record::agreement_name(check.agreement));
  return check.reason.empty() ? text : text + (agree ? "; " : ": ") + check.reason;
}

/// What two sources of energy say of each other, as far as it isn't a reason why the run is INVALID.
void note_checks(const Run& run, std::vector<std::string>& notes) {
  for (const record::MeterCheck& check : run.record.energy.checks) {
    if (check.agreement == record::Agreement::kDisagree) continue;
    notes.push_back(fmt::format("{}: {}", run.name, check_text(check)));
  }
}

void note_run(const Run& run, std::vector<std::string>& notes) {
  for (const auto& reason : run.record.validity.reasons) {
    const bool in_passing = *record::validity_rule(reason.rule).in_passing != '\0';
    notes.push_back(fmt::format(
        "{}: {}: {}. What to do: {}",
        in_passing ? fmt::format("the times of {} are not to be quoted", run.name) : run.name + " is INVALID",
        reason.rule, reason.what, reason.advice));
  }
  if (run.record.status != record::Status::kDone) {
    notes.push_back(run.name + " " + end_text(run.record.status));
  }
  note_sessions(run, notes);
  note_checks(run, notes);
  for (const std::string& note : run.record.notes) notes.push_back(fmt::format("{}: {}", run.name, note));
  for (const std::string& warning : run.warnings) notes.push_back(fmt::format("{}: {}", run.name, warning));
}

/// "--lr 0.1", "no --nesterov"; "" for lists and objects.
std::string option_text(const std::string& name, const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json);
  if (value.is_boolean()) return (value.get<bool>() ? "--" : "no --") + name;
  if (value.is_null()) return "no --" + name;
  if (value.is_structured()) return "";
  return "--" + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
}

/// The first two options (by name) whose values differ: " with --lr 0.1 and --momentum 0.9".
std::string other_options(const Record& record, const Record& other) {
  // Options that are described in other words, and --resume, which doesn't change the work.
  static const std::set<std::string> left_out = {"batch", "engine", "normalize", "on", "precision", "resume"};
  constexpr int kMostShown = 2;
  std::string text;
  int shown = 0;
  for (const auto& [name, value] : record.config) {
    if (left_out.contains(name) || shown == kMostShown) continue;
    if (const auto of_other = other.config.find(name); of_other == other.config.end() || of_other->second == value) {
      continue;
    }
    const std::string option = option_text(name, value);
    if (option.empty()) continue;
    text += (shown++ == 0 ? " with " : " and ") + option;
  }
  return text;
}

}  // namespace

std::string cell_text(const record::Metric& metric, const char* missing) {
  if (!metric.value) return metric.unit == "J" ? "absent" : missing;
  if (metric.unit == "share") return percent_text(*metric.value);
  if (metric.unit == "bytes") return bytes_text(static_cast<std::uint64_t>(std::max(0.0, *metric.value)));
  if (metric.unit == "J") return si_text(*metric.value, "J");
  return number_text(*metric.value);
}

std::string figure_text(const record::Metric& metric, const char* missing) {
  const bool has_unit = !metric.value || metric.unit == "share" || metric.unit == "bytes" || metric.unit == "J";
  if (has_unit || metric.unit.empty()) return cell_text(metric, missing);
  if (metric.unit == "s") return duration_text(*metric.value);
  return number_text(*metric.value) + " " + metric.unit;
}

bool has_value(const std::vector<record::Metric>& metrics, const std::string& name) {
  const record::Metric* metric = record::find_metric(metrics, name);
  return metric != nullptr && metric->value.has_value();
}

std::optional<std::int64_t> overfitting_epoch(const record::Record& record) {
  const auto is_told = [](const std::string& warning) { return warning.starts_with(kOverfitting); };
  if (std::ranges::none_of(record.warnings, is_told)) return std::nullopt;
  constexpr double kRise = 1.1;
  const record::EpochRecord *lowest = nullptr, *last = nullptr;
  for (const auto& epoch : record.training.epochs) {
    if (!epoch.val_loss || !epoch.train_loss) continue;
    if (lowest == nullptr || *epoch.val_loss < *lowest->val_loss) lowest = &epoch;
    last = &epoch;
  }
  if (lowest == last || *last->val_loss <= kRise * *lowest->val_loss) return std::nullopt;
  return *last->train_loss < *lowest->train_loss ? std::optional(lowest->epoch) : std::nullopt;
}

std::vector<std::vector<std::size_t>> jobs_of(std::span<const Run> runs) {
  std::vector<std::vector<std::size_t>> jobs;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const std::vector<std::size_t>& known) {
      return same_job(runs[known.front()].record, runs[n].record);
    });
    if (job == jobs.end()) {
      jobs.push_back({n});
    } else {
      job->push_back(n);
    }
  }
  return jobs;
}

const record::Record& base_of(std::span<const Run> runs, const Run& run) {
  const auto base =
      std::find_if(runs.begin(), runs.end(), [&](const Run& known) { return same_job(known.record, run.record); });
  return base == runs.end() ? run.record : base->record;
}

bool is_alone(std::span<const Run> runs, const Run& run) {
  return std::ranges::count_if(runs, [&](const Run& known) { return same_job(known.record, run.record); }) <= 1;
}

std::optional<double> speed_against(const record::Record& record, const record::Record& base) {
  const std::vector<record::Metric> metrics = record::metrics_of(record), base_metrics = record::metrics_of(base);
  const record::Metric *speed = record::main_speed(metrics), *base_speed = record::main_speed(base_metrics);
  if (speed == nullptr || base_speed == nullptr || speed->name != base_speed->name) return std::nullopt;
  return record::speed_ratio(*base_speed, *speed);
}

std::optional<double> edp_against(const record::Record& record, const record::Record& base, bool used_only) {
  const auto edp = [&](const record::Record& of) { return used_only ? of.energy.used_edp_js : of.energy.edp_js; };
  if (!edp(record) || !edp(base) || *edp(base) <= 0) return std::nullopt;
  return *edp(record) / *edp(base);
}

std::optional<double> other_s(const record::Record& record) {
  if (!record.times.total || record.phases_s.empty()) return std::nullopt;
  double covered = 0;
  for (const auto& [phase, seconds] : record.phases_s) covered += seconds;
  return std::max(0.0, *record.times.total - covered);
}

std::string validity_text(const record::Record& record) {
  if (!record.validity.valid) return "-";
  if (*record.validity.valid) return "VALID";
  if (!is_told_in_passing(record)) return "INVALID";
  std::vector<std::string> words;
  for (const auto& reason : record.validity.reasons) {
    const char* const word = record::validity_rule(reason.rule).in_passing;
    if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
  }
  return listed(words);
}

bool is_told_in_passing(const record::Record& record) {
  const auto& reasons = record.validity.reasons;
  return !reasons.empty() && std::ranges::all_of(reasons, [](const record::ValidityReason& reason) {
    return *record::validity_rule(reason.rule).in_passing != '\0';
  });
}

std::string load_text(const std::optional<double>& percent) {
  return record::kBesideOthers + (percent ? fmt::format(" ({:.0f} % of the CPUs)", *percent) : "");
}

std::string machine_text(const record::MachineRecord& machine) {
  std::string text =
      fmt::format("{}, {}", machine.cpu.empty() ? "an unknown processor" : machine.cpu, counted(machine.cores, "core"));
  if (machine.logical_cpus != machine.cores) text += fmt::format(" ({} logical)", machine.logical_cpus);
  if (machine.quota_cpus) text += fmt::format(", a quota of {:g}", *machine.quota_cpus);
  return text + fmt::format(", {} GiB", (machine.memory_bytes + (1ULL << 29)) >> 30);
}

bool same_job(const record::Record& a, const record::Record& b) {
  const auto scenario = [](const record::Record& record) {
    const record::ScenarioRecord& asked = record.scenario;
    return std::tie(asked.name, asked.percentile, asked.latency_limit_s, asked.samples_per_query);
  };
  return a.kind == b.kind && a.model.name == b.model.name && a.data.location == b.data.location &&
         a.data.shape == b.data.shape && scenario(a) == scenario(b);
}

std::string job_text(const record::Record& record) {
  const std::string job = record.model.name + " on " + record.data.location;
  return record.scenario.empty() ? job : job + ", " + record.scenario.name;
}

std::vector<std::string> notes_of(std::span<const Run> runs) {
  std::vector<std::string> notes;
  for (const Run& run : runs) note_run(run, notes);
  note_missing(runs, notes);
  return notes;
}

std::string way_text(const Record& record, const Record& other) {
  std::string text = record.placement.text;
  if (record.precision != other.precision) text += " in " + record.precision;
  if (record.batch != other.batch && record.batch) text += fmt::format(" with batch {}", *record.batch);
  if (record.engine != other.engine) text += " by " + record.engine;
  return text == other.placement.text ? text + other_options(record, other) : text;
}

std::vector<std::string> ways_of(const std::vector<const Run*>& group) {
  std::vector<std::string> ways;
  for (const Run* run : group) {
    std::string longest = run->record.placement.text;
    for (const Run* other : group) {
      // Comparisons with runs on the same placement also give the options that differ.
      std::string way = way_text(run->record, other->record);
      if (way.size() > longest.size()) longest = std::move(way);
    }
    ways.push_back(std::move(longest));
  }
  const bool unique = std::set<std::string>(ways.begin(), ways.end()).size() == ways.size();
  for (std::size_t i = 0; i < group.size() && !unique; ++i) ways[i] += " (" + group[i]->name + ")";
  return ways;
}

std::vector<std::string> labels_of(std::span<const Run> runs) {
  std::vector<std::string> labels(runs.size());
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    std::vector<const Run*> group;
    for (const std::size_t n : job) group.push_back(&runs[n]);
    const std::vector<std::string> ways = ways_of(group);
    for (std::size_t i = 0; i < job.size(); ++i) labels[job[i]] = ways[i];
  }
  return labels;
}

}  // namespace evener::report
