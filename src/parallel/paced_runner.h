// A runner of an emulated slower device ("@0.5" in a placement).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "parallel/pace.h"

namespace evener::parallel {

/// Each call takes 1 / `factor` times as long, by sleeping. For one call under way at a time.
class PacedRunner : public engine::Runner {
 public:
  PacedRunner(std::unique_ptr<engine::Runner> runner, double factor) : runner_(std::move(runner)), pace_(factor) {}

  void start(const engine::ImageSpan& images) override {
    pace_.begin();
    runner_->start(images);
  }
  void start_of_size(const engine::ImageSpan& images, std::int64_t count, std::int64_t height,
                     std::int64_t width) override {
    pace_.begin();
    runner_->start_of_size(images, count, height, width);
  }
  void start_stage(const std::vector<HostTensor>& received) override {
    pace_.begin();
    runner_->start_stage(received);
  }
  TensorMap wait() override {
    TensorMap outputs = runner_->wait();
    pace_.catch_up();
    return outputs;
  }
  std::map<std::string, int> executed() const override { return runner_->executed(); }
  std::string note() const override { return runner_->note(); }

 private:
  std::unique_ptr<engine::Runner> runner_;
  Pace pace_;
};

}  // namespace evener::parallel
