#include "parallel/device_reports.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace evener::parallel {
namespace {

/// The phases that trainers time on their devices.
constexpr std::array kStepPhases = {"h2d", "forward", "backward", "update", "d2h"};
/// Peak of memory, skipped steps, phases. A figure that is absent is negative.
constexpr std::size_t kFigures = 2 + kStepPhases.size();

void write(const engine::DeviceReport& report, std::span<double> figures) {
  figures[0] = report.peak_memory_bytes ? static_cast<double>(*report.peak_memory_bytes) : -1;
  figures[1] = static_cast<double>(report.skipped_steps);
  for (std::size_t i = 0; i < kStepPhases.size(); ++i) {
    const auto found = report.step_phases_s.find(kStepPhases[i]);
    figures[2 + i] = found != report.step_phases_s.end() ? found->second : -1;
  }
}

engine::DeviceReport read(std::span<const double> figures) {
  engine::DeviceReport report;
  if (figures[0] >= 0) report.peak_memory_bytes = static_cast<std::uint64_t>(figures[0]);
  report.skipped_steps = std::llround(figures[1]);
  for (std::size_t i = 0; i < kStepPhases.size(); ++i) {
    if (figures[2 + i] >= 0) report.step_phases_s[kStepPhases[i]] = figures[2 + i];
  }
  return report;
}

}  // namespace

std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own) {
  const auto ranks = static_cast<std::size_t>(communicator.size()),
             rank = static_cast<std::size_t>(communicator.rank());
  std::vector<double> values(kFigures * ranks, 0.0);  // each rank's at a place of its own: the sum has them all
  write(own, std::span(values).subspan(kFigures * rank, kFigures));
  communicator.all_reduce(values);
  std::vector<engine::DeviceReport> reports;
  for (std::size_t r = 0; r < ranks; ++r) reports.push_back(read(std::span(values).subspan(kFigures * r, kFigures)));
  reports[rank].notes = own.notes;
  return reports;
}

}  // namespace evener::parallel
