// A runner of an emulated slower device ("@0.5" in a placement).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "parallel/throttle.h"

namespace evener::parallel {

/// Makes each call take 1 / `factor` times as long, by sleeping. Only one call may be under way at a time.
class ThrottledRunner : public engine::Runner {
 public:
  ThrottledRunner(std::unique_ptr<engine::Runner> runner, double factor)
      : runner_(std::move(runner)), throttle_(factor) {}

  void start(const engine::ImageSpan& images) override {
    throttle_.begin();
    runner_->start(images);
  }
  void start_of_size(const engine::ImageSpan& images, std::int64_t count, std::int64_t height,
                     std::int64_t width) override {
    throttle_.begin();
    runner_->start_of_size(images, count, height, width);
  }
  void start_stage(const std::vector<HostTensor>& received) override {
    throttle_.begin();
    runner_->start_stage(received);
  }
  TensorMap wait() override {
    TensorMap outputs = runner_->wait();
    throttle_.catch_up();
    return outputs;
  }
  std::map<std::string, int> executed() const override { return runner_->executed(); }
  std::string note() const override { return runner_->note(); }

 private:
  std::unique_ptr<engine::Runner> runner_;
  Throttle throttle_;
};

}  // namespace evener::parallel
