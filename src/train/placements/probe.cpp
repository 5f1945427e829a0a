#include "train/placements/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/message.h"
#include "base/names.h"
#include "base/statistics.h"
#include "base/tensor.h"
#include "comm/communicator.h"
#include "measure/energy_meter.h"
#include "measure/machine.h"
#include "measure/sensors/open_sensors.h"
#include "parallel/launcher.h"
#include "placement/machine.h"

namespace evener::training {
namespace {

constexpr double kBlock_s = 0.05;
constexpr std::size_t kFewestBlocks = 3;
constexpr double kLoader_s = 0.15;
constexpr double kExchange_s = 0.15;
constexpr std::size_t kSmallValues = 512;
/// Larger vectors are sent in pieces, so their time per byte is the same as at this size.
constexpr std::size_t kMostValues = std::size_t{16} << 20;

std::size_t trained_values(const network::Network& network) {
  std::int64_t values = 0;
  for (const auto& parameter : network.parameters()) {
    if (parameter.trained) values += element_count(parameter.shape);
  }
  return static_cast<std::size_t>(values);
}

/// Median time of an all-reduce of `values`. All ranks run the same number of rounds.
double all_reduce_s(comm::Communicator& communicator, std::size_t values, comm::CommunicationDtype communication_dtype,
                    double seconds) {
  std::vector<float> data(values, 0.0F);
  const auto once = [&] {
    const Stopwatch clock;
    communicator.all_reduce(data, communication_dtype);
    return clock.seconds();
  };
  once();
  std::vector<double> first = {once()};
  communicator.all_reduce(std::span<double>(first));  // so that all ranks choose the same number of rounds
  const double round_s = first.front() / communicator.size();
  const int rounds = std::clamp(static_cast<int>(seconds / std::max(round_s, 1e-7)), 3, 200);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(once());
  return *median(times);
}

/// The sensors of the machine, opened for the devices of a plan.
struct PlanMeter {
  explicit PlanMeter(measure::Sensors sensors) : step_s(slowest_step_s(sensors)), meter(std::move(sensors)) {}

  static double slowest_step_s(const measure::Sensors& sensors) {
    double slowest_s = 0;
    for (const auto& sensor : sensors) {
      for (const measure::Channel& channel : sensor->channels()) slowest_s = std::max(slowest_s, channel.step_s);
    }
    return slowest_s;
  }

  double step_s;  // in which the slowest sensor has a new value
  measure::EnergyMeter meter;
};

constexpr double kInterval_s = 0.05;
/// Parts are at least so long: a processor's stated power follows its usage, which is counted in ticks of 10 ms.
constexpr double kShortestPart_s = 0.1;
constexpr std::size_t kMostParts = 20, kFewestParts = 3;

/// The energy until `at_s`, on a line between two readings.
EnergyReading reading_at(const std::vector<EnergyReading>& readings, double at_s) {
  const auto after = std::ranges::upper_bound(readings, at_s, {}, &EnergyReading::at_s);
  if (after == readings.begin()) return readings.front();
  if (after == readings.end()) return readings.back();
  const EnergyReading &from = *(after - 1), &to = *after;
  const double share = (at_s - from.at_s) / (to.at_s - from.at_s);
  return {at_s, std::lerp(from.joules, to.joules, share), std::lerp(from.used_joules, to.used_joules, share)};
}

/// Whether the plan leaves the device of this channel idle: a GPU that it doesn't compute on.
bool leaves_idle(const placement::Plan& plan, const measure::Channel& channel) {
  if (channel.name.starts_with("idle gpu")) return true;  // of stated powers, which know the plan
  if (channel.covers != record::Covers::kGpu || channel.kind == record::EnergyClass::kEstimated) return false;
  const auto& cards = placement::machine().cuda.devices;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind != DeviceKind::kCuda) continue;
      const auto index = static_cast<std::size_t>(stage.device.index);
      const bool by_uuid = !channel.uuid.empty() && index < cards.size() && !cards[index].uuid.empty();
      if (by_uuid ? cards[index].uuid == channel.uuid : channel.name == fmt::format("gpu {}", index)) return false;
    }
  }
  return true;
}

/// Reads the sensors of a meter in a thread, until it is told to stop or goes.
class PowerTrace {
 public:
  /// `plan`: tells which devices are used. `step_s`: the time in which the slowest sensor has a new value. `meter` must
  /// outlive the trace, and nobody else may use it meanwhile.
  PowerTrace(measure::EnergyMeter& meter, const placement::Plan& plan, double step_s)
      : meter_(meter), plan_(plan), step_s_(step_s) {
    if (meter.refusal().empty()) thread_ = std::jthread([this](const std::stop_token& stopping) { follow(stopping); });
  }
  PowerTrace(const PowerTrace&) = delete;
  PowerTrace& operator=(const PowerTrace&) = delete;

  /// Ends the reading and gives the power from `begin_s` to `end_s`, by now_s().
  TrialPower power(double begin_s, double end_s) {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    TrialPower power;
    if (!meter_.refusal().empty()) {
      power.reason = meter_.refusal();
    } else if (!lost_.empty()) {
      power.reason = lost_;
    } else {
      power = power_between(readings_, begin_s, end_s, step_s_);
      power.kind = kind_;
    }
    return power;
  }

 private:
  void follow(const std::stop_token& stopping) {
    while (!stopping.stop_requested()) {
      read();
      std::this_thread::sleep_for(std::chrono::duration<double>(kInterval_s));
    }
    read();
  }
  void read() {
    meter_.poll();
    EnergyReading reading{.at_s = now_s()};
    if (!meter_.joules_so_far()) {
      lost_ = "a sensor could not be followed";
      return;
    }
    record::EnergyClass kind = record::EnergyClass::kAbsent;
    for (const measure::ChannelMeter& meter : meter_.meters()) {
      if (!meter.added) continue;
      reading.joules += meter.joules();
      if (!leaves_idle(plan_, meter.channel())) reading.used_joules += meter.joules();
      kind = record::together(kind, meter.channel().kind);
    }
    kind_ = kind;
    readings_.push_back(reading);
  }

  measure::EnergyMeter& meter_;
  const placement::Plan& plan_;
  const double step_s_;
  std::vector<EnergyReading> readings_;
  record::EnergyClass kind_ = record::EnergyClass::kAbsent;
  std::string lost_;     // why readings can't be used
  std::jthread thread_;  // last: it uses the other members, and ends before they do
};

class MachineProbe : public Probe {
 public:
  MachineProbe(PreparedTraining& training, EnergyOfPlan energy)
      : training_(training), energy_(std::move(energy)), own_precision_(training.options().trainer.precision) {}

  double now_s() const override { return evener::now_s(); }
  void set(std::optional<Precision> asked) override {
    const Precision precision = asked.value_or(own_precision_);
    if (precision != training_.options().trainer.precision) training_.take_precision(precision);
  }
  std::string refusal(const placement::Plan& plan) override { return trials().refusal(plan); }
  std::string energy_refusal() override { return meter_of(training_.options().plan).meter.refusal(); }
  std::optional<double> others_share() override { return others_.share(); }
  double loader_images_per_s() override { return trials().loader_images_per_s(kLoader_s); }

  Trial trial(const placement::Plan& plan, double seconds) override {
    PlanMeter& meter = meter_of(plan);
    PowerTrace trace(meter.meter, plan, meter.step_s);
    const TrialResult result = trials().run(plan, seconds);
    Trial trial;
    trial.power = trace.power(result.sizes.back().begin_s, result.sizes.back().end_s);
    for (const auto& steps : result.sizes) {
      trial.blocks = step_blocks(steps.seconds);
      trial.timings.push_back({static_cast<double>(steps.images), median(trial.blocks).value_or(0)});
    }
    trial.evaluate_images_per_s = result.evaluate_images_per_s;
    return trial;
  }

  StageForecast forecast(const placement::Plan& plan) override { return trials().forecast(plan); }

  ExchangeModel exchange(const placement::Plan& plan) override {
    const std::size_t large = std::clamp(trained_values(trials().setup().network), 2 * kSmallValues, kMostValues);
    const comm::CommunicationDtype communication_dtype = training_.options().communication_dtype;
    using Times = std::tuple<double, double>;  // of a small and of a large all-reduce
    parallel::LaunchOptions launch;
    launch.always_fork = true;
    const auto body = [&](const parallel::RankContext& context) {
      const parallel::Channels channels = context.channels();
      const double small_s = all_reduce_s(*channels.gradients, kSmallValues, communication_dtype, kExchange_s / 3);
      const double large_s = all_reduce_s(*channels.gradients, large, communication_dtype, kExchange_s);
      return pack_message(Times(small_s, large_s));
    };
    const std::string message = parallel::run_ranks(plan, body, launch).front();
    const auto [small_s, large_s] = unpack_message<Times>(message, "what a probe of the exchange measured");
    return fit_exchange(kSmallValues * sizeof(float), small_s, static_cast<double>(large * sizeof(float)), large_s);
  }

 private:
  /// The trials in the precision that is set, which keep what they timed.
  const Trials& trials() { return trials_.try_emplace(training_.options().trainer.precision, training_).first->second; }

  PlanMeter& meter_of(const placement::Plan& plan) {
    const measure::EnergyOptions options = energy_(plan);
    const std::pair key(options.gpus_used, options.gpus_idle);
    auto& meter = meters_[key];
    if (!meter) meter = std::make_unique<PlanMeter>(measure::open_sensors(options, "/", boot_now_s));
    return *meter;
  }

  PreparedTraining& training_;
  const EnergyOfPlan energy_;
  const Precision own_precision_;
  std::map<Precision, Trials> trials_;
  std::map<std::pair<int, int>, std::unique_ptr<PlanMeter>> meters_;  // by the GPUs that are used and idle
  const measure::OthersLoad others_;
};

}  // namespace

std::unique_ptr<Probe> make_probe(PreparedTraining& training, EnergyOfPlan energy) {
  return std::make_unique<MachineProbe>(training, std::move(energy));
}

std::vector<double> step_blocks(const std::vector<double>& seconds) {
  std::vector<double> blocks;
  double sum_s = 0;
  int steps = 0;
  for (const double step_s : seconds) {
    sum_s += step_s;
    ++steps;
    if (sum_s < kBlock_s) continue;
    blocks.push_back(sum_s / steps);
    sum_s = 0;
    steps = 0;
  }
  return blocks.size() < kFewestBlocks ? seconds : blocks;
}

TrialPower power_between(const std::vector<EnergyReading>& readings, double begin_s, double end_s, double step_s) {
  TrialPower power;
  const double part_s = std::max(step_s, kShortestPart_s);
  const auto parts = std::min(kMostParts, static_cast<std::size_t>(std::max(0.0, (end_s - begin_s) / part_s)));
  if (parts < kFewestParts || readings.size() < 2) {
    power.reason =
        fmt::format("the steps took {}, in which a sensor that has a new value every {} can't tell the power",
                    duration_text(end_s - begin_s), duration_text(part_s));
    return power;
  }
  const double seconds = (end_s - begin_s) / static_cast<double>(parts);
  EnergyReading from = reading_at(readings, begin_s);
  const EnergyReading first = from;
  for (std::size_t part = 1; part <= parts; ++part) {
    const EnergyReading to = reading_at(readings, begin_s + seconds * static_cast<double>(part));
    power.watts.push_back((to.joules - from.joules) / seconds);
    from = to;
  }
  power.seconds = end_s - begin_s;
  const double joules = from.joules - first.joules;
  if (joules > 0) power.used_share = (from.used_joules - first.used_joules) / joules;
  return power;
}

}  // namespace evener::training
