#include "report/notes.h"

#include <fmt/format.h>

#include <map>

#include "base/names.h"
#include "record/validity.h"
#include "report/figures.h"
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
  if (const auto epoch = overfitting_epoch(run.record)) {
    notes.push_back(
        fmt::format("{} overfits after epoch {}: the validation loss rises from there on, while the "
                    "training loss falls. More images, --augment, --weight-decay or --patience help",
                    run.name, *epoch));
  }
  for (const std::string& note : run.record.notes) notes.push_back(fmt::format("{}: {}", run.name, note));
  for (const std::string& warning : run.warnings) notes.push_back(fmt::format("{}: {}", run.name, warning));
}

}  // namespace

std::vector<std::string> notes_of(std::span<const Run> runs) {
  std::vector<std::string> notes;
  for (const Run& run : runs) note_run(run, notes);
  note_missing(runs, notes);
  return notes;
}

}  // namespace evener::report
