#include "report/sweep_alike.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "report/format.h"

namespace evener::report {
namespace {

/// What a run came to do: all options as they were resolved, and where it computed instead of where it was asked to.
std::string what_ran(const SweepCellRuns& cell) {
  std::string text = fmt::format("{};{};", cell.job, cell.cell.data);
  for (const auto& [name, value] : cell.cell.environment) text += fmt::format("{}={};", name, value);
  for (const auto& [name, value] : cell.record->config) {
    if (name != "on") text += fmt::format("{}={};", name, value);
  }
  for (const record::ReplicaRecord& replica : cell.record->placement.replicas) {
    text += "replica;";
    for (const record::StageRecord& stage : replica.stages) {
      text += fmt::format("{}/{}@{};", stage.device, stage.threads.value_or(0), stage.emulated_speed.value_or(1));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> alike_notes(const Sweep& sweep) {
  std::map<std::string, std::vector<std::size_t>> found;
  for (std::size_t n = 0; n < sweep.cells.size(); ++n) {
    const SweepCellRuns& cell = sweep.cells[n];
    if (cell.record && !cell.record->config.empty()) found[what_ran(cell)].push_back(n);
  }
  std::map<std::size_t, std::string> notes;  // by the first of such cells
  for (const auto& [what, cells] : found) {
    if (cells.size() < 2) continue;
    std::vector<std::string> others;
    for (std::size_t n = 1; n < cells.size(); ++n) others.push_back(sweep.cells[cells[n]].name);
    notes[cells.front()] = fmt::format("{} ran as {}: they computed the same, and what they differ by is chance",
                                       listed(others), sweep.cells[cells.front()].name);
  }
  std::vector<std::string> sentences;
  for (auto& [first, note] : notes) sentences.push_back(std::move(note));
  return sentences;
}

}  // namespace evener::report
