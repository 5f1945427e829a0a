#include "job/serve/serve_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/names.h"
#include "record/energy.h"

namespace evener::job {
namespace {

constexpr double kLookEvery_s = 0.5;

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

ServeEnergy::ServeEnergy(const measure::EnergyOptions& options, Observer& observer)
    : meter_(measure::open_sensors(options, "/", boot_now_s)) {
  if (!meter_.refusal().empty()) return;
  if (options.idle_s > 0) {
    observer.note("measuring the idle power for " + duration_text(options.idle_s));
    measure::EnergyMeter before(measure::open_sensors(options, "/", boot_now_s));
    idle_ = measure::measure_idle(before, options.idle_s, std::min(kLookEvery_s, options.idle_s), sleep_s);
  }
  meter_.poll();
  thread_ = std::thread([this] { poll(); });
}

ServeEnergy::~ServeEnergy() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ServeEnergy::poll() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, std::chrono::duration<double>(kLookEvery_s), [&] { return is_over_; })) meter_.poll();
}

std::optional<double> ServeEnergy::joules() const {
  const std::scoped_lock lock(mutex_);
  return meter_.refusal().empty() ? meter_.joules_so_far() : std::nullopt;
}

std::string ServeEnergy::text(std::uint64_t samples) {
  const std::scoped_lock lock(mutex_);
  if (!meter_.refusal().empty()) return "";
  meter_.poll();
  const record::Energy energy = meter_.energy(meter_.seconds(), idle_);
  if (!energy.joules) return "energy isn't known: " + energy.reason;
  std::string text =
      fmt::format("energy: {} ({})", record::joules_text(*energy.joules), energy_class_name(energy.kind));
  if (samples > 0) {
    text += fmt::format(", {} a sample", record::joules_text(*energy.joules / static_cast<double>(samples)));
  }
  if (energy.net_joules) text += fmt::format("; {} without the idle power", record::joules_text(*energy.net_joules));
  return text;
}

}  // namespace evener::job
