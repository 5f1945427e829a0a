#include "report/notes.h"

#include <fmt/format.h>

#include <map>

#include "report/figures.h"
#include "report/format.h"

namespace evener::report {
namespace {

using measure::Record;

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

/// One note per (value, reason), with the runs it holds for.
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

void note_run(const Run& run, std::vector<std::string>& notes) {
  for (const auto& reason : run.record.validity.reasons) {
    notes.push_back(
        fmt::format("{} is INVALID: {}: {}. What to do: {}", run.name, reason.rule, reason.what, reason.advice));
  }
  if (run.record.status != measure::Status::kDone) {
    notes.push_back(fmt::format("{} was {}", run.name, measure::status_name(run.record.status)));
  }
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
