#include "plan/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/clock.h"
#include "base/message.h"
#include "base/statistics.h"
#include "base/tensor.h"
#include "comm/communicator.h"
#include "measure/energy_meter.h"
#include "measure/others_load.h"
#include "measure/sensors/open_sensors.h"
#include "parallel/launcher.h"

namespace evener::plan {
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

measure::EnergyMeter machine_meter() {
  return measure::EnergyMeter(measure::open_sensors({}, "/", boot_now_s));
}

class MachineProbe : public Probe {
 public:
  explicit MachineProbe(const task::Trials& trials) : trials_(trials) {}

  double now_s() const override { return evener::now_s(); }
  std::string refusal(const placement::Plan& plan) override { return trials_.refusal(plan); }
  std::string energy_refusal() override { return machine_meter().refusal(); }
  std::optional<double> others_share() override { return others_.share(); }
  double loader_images_per_s() override { return trials_.loader_images_per_s(kLoader_s); }

  Trial trial(const placement::Plan& plan, double seconds) override {
    measure::EnergyMeter meter = machine_meter();
    meter.poll();
    const Stopwatch clock;
    const task::TrialResult result = trials_.run(plan, seconds);
    meter.poll();
    Trial trial;
    for (const auto& steps : result.sizes) {
      trial.blocks = step_blocks(steps.seconds);
      trial.timings.push_back({static_cast<double>(steps.images), median(trial.blocks).value_or(0)});
    }
    trial.evaluate_images_per_s = result.evaluate_images_per_s;
    if (const auto joules = meter.energy(clock.seconds()).joules) trial.watts = *joules / clock.seconds();
    return trial;
  }

  task::StageForecast forecast(const placement::Plan& plan) override { return trials_.forecast(plan); }

  ExchangeModel exchange(const placement::Plan& plan) override {
    const std::size_t large = std::clamp(trained_values(trials_.setup().network), 2 * kSmallValues, kMostValues);
    const comm::CommunicationDtype communication_dtype = trials_.options().communication_dtype;
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
  const task::Trials& trials_;
  const measure::OthersLoad others_;
};

}  // namespace

std::unique_ptr<Probe> make_probe(const task::Trials& trials) {
  return std::make_unique<MachineProbe>(trials);
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

}  // namespace evener::plan
