// The module's door: the factory function that base/module.h looks for, and the Engine behind it.
#include "base/module.h"

#include <torch/csrc/api/include/torch/version.h>

#include "engine/torch/device.h"
#include "engine/torch/formats.h"
#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {
namespace {

class TorchEngine : public Engine {
 public:
  const char* name() const override { return "torch"; }

  std::string refusal(const network::Network& network, const TrainerOptions& options) const override {
    const std::string refusal = device_refusal(options.device);
    return refusal.empty() ? replica_refusal(network, options) : refusal;
  }

  std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options,
                           int replicas) const override {
    return torch_engine::shared_bytes(network, options, replicas);
  }

  std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) override {
    if (const std::string refusal = device_refusal(options.device); !refusal.empty()) throw Error(refusal);
    try {
      return std::make_unique<TorchTrainer>(network, options);
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      const std::string reason =
          "no trainer can be made on " + device_text(options.device) + ": " + text.substr(0, text.find('\n'));
      if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) throw OutOfMemory(reason);
      throw Error(reason);
    }
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
