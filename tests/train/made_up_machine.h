// A made-up machine for planners: its clock advances by what trials take.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "placement/machine.h"
#include "train/placements/candidates.h"
#include "train/placements/probe.h"

namespace evener::test {

/// `cores` cores of one thread.
inline placement::Machine machine_of(int cores) {
  placement::Machine machine;
  machine.cores = cores;
  machine.cpu.model = "made up";
  for (int core = 0; core < cores; ++core) machine.cpu.cores.push_back({core});
  machine.cuda.reason = "nobody looked";
  return machine;
}

class MadeUpProbe : public training::Probe {
 public:
  std::map<std::string, training::StepModel> steps;  // of plans, by their text; what isn't here fails
  std::map<std::string, std::string> refusals;
  std::optional<Precision> refused_precision;
  std::map<std::string, training::StageForecast> forecasts;  // of plans with stages, by their text
  training::ExchangeModel between;
  double loader = 1e9;
  std::optional<double> others;
  std::map<std::string, double> watts;  // of plans, by their text, or of all others by ""
  /// What a block's time or a power is multiplied by; empty: times differ regularly by up to `noise`, powers not.
  std::function<double()> disturbance;
  double start_s = 0.2;
  double batch = 32;
  double noise = 0.01;
  std::vector<std::string> tried;

  double now_s() const override { return now_; }
  void set(std::optional<Precision> precision) override {
    if (precision && precision == refused_precision) throw UsageError("no fp16 here");
    precision_ = precision ? precision_name(*precision) : "";
  }
  std::string refusal(const placement::Plan& plan) override { return refusals[plan.text]; }
  training::Trial trial(const placement::Plan& plan, double seconds) override {
    const std::string name = precision_.empty() ? plan.text : plan.text + " " + precision_;
    tried.push_back(name);
    const auto step = steps.find(name);
    if (step == steps.end()) throw Error("no memory for " + name);
    training::Trial trial;
    // As the real one: a whole batch only where five steps of it fit.
    for (const double images : {batch / 4, batch}) {
      const double step_s = step->second.seconds(images);
      if (images == batch && start_s + 5 * step_s > seconds) break;
      trial.timings.push_back({images, step_s});
    }
    trial.evaluate_images_per_s = 1000;
    const auto own = watts.find(name), of_all = watts.find("");
    const auto found = own == watts.end() ? of_all : own;
    if (found == watts.end()) {
      trial.power.reason = "no sensor sees it";
    } else {
      trial.power.kind = record::EnergyClass::kMeasured;
      trial.power.seconds = 3;
      for (int i = 0; i < 20; ++i) trial.power.watts.push_back(found->second * (disturbance ? disturbance() : 1));
    }
    // Blocks of steps that differ by up to `noise`, with the step as their median.
    for (int i = 0; i < 30; ++i) {
      const double factor = disturbance ? disturbance() : 1 + noise * (i * 7 % 5 - 2) / 2;
      trial.blocks.push_back(trial.timings.back().seconds * factor);
    }
    trial.timings.back().seconds = *median(trial.blocks);
    now_ += std::max(seconds, start_s);
    return trial;
  }
  training::StageForecast forecast(const placement::Plan& plan) override {
    const auto found = forecasts.find(plan.text);
    if (found == forecasts.end()) throw Error("no layer of " + plan.text + " was timed");
    now_ += start_s;
    return found->second;
  }
  training::ExchangeModel exchange(const placement::Plan&) override {
    now_ += start_s;
    return between;
  }
  double loader_images_per_s() override { return loader; }
  std::optional<double> others_share() override { return others; }
  std::string energy_refusal() override { return "made up"; }

 private:
  std::string precision_;
  double now_ = 100;
};

}  // namespace evener::test
