// Measures the machine's power while nothing runs.
#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "measure/energy_meter.h"

namespace evener::measure {

IdlePower measure_idle(EnergyMeter& meter, double seconds, double step_s, const std::function<void(double)>& sleep) {
  constexpr std::size_t kParts = 10;
  constexpr double kStudent9 = 2.262;  // 95 % of Student's t with nine degrees of freedom
  IdlePower idle;
  if (!meter.refusal().empty()) {
    idle.reason = meter.refusal();
    return idle;
  }
  constexpr double kEndsWait_s = 2;  // wait for a meter's answer at both ends
  constexpr double kLongest_s = 120;
  meter.poll(kEndsWait_s);
  const auto asked = static_cast<std::size_t>(std::max(1.0, seconds / step_s));
  struct End {
    double joules = 0, seconds = 0;
  };
  const auto end = [&] { return End{meter.joules_so_far().value_or(0), meter.seconds()}; };
  const auto too_short = [&] { return meter.seconds() < std::min(meter.shortest_window_s(), kLongest_s); };
  std::vector<End> ends = {end()};  // of each look
  for (std::size_t look = 0; (look < asked || too_short()) && !stop_requested(); ++look) {
    sleep(step_s);
    meter.poll(look + 1 >= asked && !too_short() ? kEndsWait_s : 0);
    ends.push_back(end());
  }
  const std::size_t looks = ends.size() - 1;
  idle.seconds = meter.seconds();
  const record::Energy energy = meter.energy(idle.seconds);
  for (const record::DeviceEnergy& device : energy.devices) {
    if (device.joules) idle.channels.push_back({device.sensor, device.name, *device.joules / idle.seconds});
  }
  if (!energy.joules) {
    idle.reason = energy.reason;
    return idle;
  }
  idle.watts = *energy.joules / idle.seconds;
  if (looks < kParts || looks < asked) return idle;
  // The interval is from ten parts of several readings each: neighbouring readings are correlated, neighbouring parts
  // hardly.
  double mean = 0, squares = 0;
  std::vector<double> watts;
  for (std::size_t part = 0; part < kParts; ++part) {
    const End &from = ends[part * looks / kParts], &to = ends[(part + 1) * looks / kParts];
    watts.push_back((to.joules - from.joules) / std::max(to.seconds - from.seconds, 1e-9));
    mean += watts.back() / kParts;
  }
  for (const double w : watts) squares += (w - mean) * (w - mean);
  const double half = kStudent9 * std::sqrt(squares / (kParts - 1) / kParts);
  idle.interval = record::Interval{*idle.watts - half, *idle.watts + half};
  return idle;
}

}  // namespace evener::measure
