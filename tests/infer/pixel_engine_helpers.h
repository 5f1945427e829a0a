// An engine that computes nothing, for tests of what is asked of networks and done with their answers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace evener::test {

/// Its logits are the four values of a sample, to the output that comes first.
class PixelEngine : public engine::Engine {
 public:
  const char* name() const override { return "torch"; }
  std::string runner_refusal(const network::Network&, const engine::RunnerOptions&) const override { return ""; }
  std::vector<std::unique_ptr<engine::Runner>> make_runners(const network::Network& network, const TensorMap&,
                                                            const engine::RunnerOptions&, int count) override {
    class PixelRunner : public engine::Runner {
     public:
      explicit PixelRunner(std::string output) : output_(std::move(output)) {}
      void start(const engine::ImageSpan& images) override {
        const auto pixels = std::get<std::span<const float>>(images);
        pixels_.assign(pixels.begin(), pixels.end());
      }
      TensorMap wait() override {
        return {{output_, HostTensor::of_floats({static_cast<std::int64_t>(pixels_.size()) / 4, 4}, pixels_)}};
      }

     private:
      std::string output_;
      std::vector<float> pixels_;
    };
    std::vector<std::unique_ptr<engine::Runner>> runners;
    for (int n = 0; n < count; ++n) {
      runners.push_back(std::make_unique<PixelRunner>(network.outputs().front().name));
    }
    return runners;
  }
};

}  // namespace evener::test
