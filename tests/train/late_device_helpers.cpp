#include "train/late_device_helpers.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "base/clock.h"

namespace evener::test {
namespace {

class LateTrainer : public engine::Trainer, public engine::StepsAhead {
 public:
  explicit LateTrainer(LateDevice& device) : device_(device) {}

  engine::StepReport step_ahead(const data::Batch& batch, double, double) override {
    free_s_ = std::max(free_s_, now_s()) + device_.step_s;
    under_way_.push_back({free_s_, batch.count});
    return report_until(device_.behind);
  }
  engine::StepReport settle_steps() override { return report_until(0); }

  void clear_gradients() override {}
  engine::Sums add_gradients(const data::Batch& batch, double) override { return sums_of(batch.count); }
  void apply(double) override {}
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override {
    if (predicted != nullptr) predicted->insert(predicted->end(), static_cast<std::size_t>(batch.count), 0);
    return sums_of(batch.count);
  }
  TensorMap state() const override { return state_; }
  void load_state(const TensorMap& state) override { state_ = state; }
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}
  engine::Capabilities capabilities() override {
    engine::Capabilities capabilities;
    capabilities.ahead = this;
    return capabilities;
  }

 private:
  struct Step {
    double done_s = 0;
    std::int64_t images = 0;
  };

  static engine::Sums sums_of(std::int64_t images) {
    return engine::classification_sums(static_cast<double>(images), 0, images);
  }

  engine::StepReport report_until(std::size_t left) {
    engine::StepReport report;
    for (; under_way_.size() > left; under_way_.pop_front()) {
      const Stopwatch waiting;
      for (double wait_s; (wait_s = under_way_.front().done_s - now_s()) > 0;) {
        std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
      }
      device_.waited_s = device_.waited_s + waiting.seconds();
      if (device_.first_done_s == 0) device_.first_done_s = under_way_.front().done_s;
      report.sums += sums_of(under_way_.front().images);
      ++report.steps;
    }
    return report;
  }

  LateDevice& device_;
  double free_s_ = 0;  // when the device is through with all that it was given
  std::deque<Step> under_way_;
  TensorMap state_;
};

class LateEngine : public engine::Engine {
 public:
  explicit LateEngine(LateDevice& device) : device_(device) {}
  const char* name() const override { return "late"; }
  std::string trainer_refusal(const network::Network&, const engine::TrainerOptions&) const override { return ""; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<LateTrainer>(device_);
  }

 private:
  LateDevice& device_;
};

}  // namespace

std::unique_ptr<engine::Engine> make_late_engine(LateDevice& device) {
  return std::make_unique<LateEngine>(device);
}

}  // namespace evener::test
