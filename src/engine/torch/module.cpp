// The module's door: the factory function that base/module.h looks for, and the Engine behind it.
#include "base/module.h"

#include <torch/csrc/api/include/torch/version.h>

#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {
namespace {

class TorchEngine : public Engine {
 public:
  const char* name() const override { return "torch"; }

  std::string refusal(const network::Network& network, const TrainerOptions& options) const override {
    if (options.device.kind != DeviceKind::kCpu) {
      return "the torch engine of this build computes on the CPU only, not on " + device_text(options.device);
    }
    return replica_refusal(network, options);
  }

  std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) override {
    return std::make_unique<TorchTrainer>(network, options);
  }
};

const char* version() {
  return "LibTorch " TORCH_VERSION;
}
const char* unusable_reason() {
  return "";
}
void* create() {
  return new TorchEngine;
}

}  // namespace
}  // namespace evener::engine::torch_engine

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module = {evener::kModuleAbi, evener::engine::torch_engine::version,
                                           evener::engine::torch_engine::unusable_reason,
                                           evener::engine::torch_engine::create};
}
