#include "parallel/device_reports.h"

#include "base/message.h"
#include "comm/gather.h"

namespace evener::engine {

/// All members except the notes, which are not exchanged.
template <typename Visitor>
void describe(Visitor& visitor, Of<DeviceReport> auto& report) {
  visitor.value("peak_memory_bytes", report.peak_memory_bytes);
  visitor.value("step_phases_s", report.step_phases_s);
  visitor.value("skipped_steps", report.skipped_steps);
}

}  // namespace evener::engine

namespace evener::parallel {

std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own) {
  std::vector<engine::DeviceReport> reports;
  for (const std::string& message : comm::gather_messages(communicator, pack_message(own))) {
    const std::string what = "the report of the device of rank " + std::to_string(reports.size());
    reports.push_back(unpack_message<engine::DeviceReport>(message, what));
  }
  auto& here = reports.at(static_cast<std::size_t>(communicator.rank()));
  here.notes = own.notes;
  here.executed = own.executed;
  return reports;
}

}  // namespace evener::parallel
