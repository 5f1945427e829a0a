// The module's entry, which base/module.h looks for, and the Engine that it creates.
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>

#include "base/device.h"
#include "base/module_entry.h"
#include "engine/torch/device.h"
#include "engine/torch/graph.h"
#include "engine/torch/host_memory.h"
#include "engine/torch/parts.h"
#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {
namespace {

/// Calls `make` and returns its result; LibTorch's exceptions become ours.
template <class Make>
auto made(const char* what, Device device, const Make& make) {
  try {
    return make();
  } catch (const c10::Error& error) {
    const std::string reason =
        std::string("no ") + what + " can be made on " + device_text(device) + ": " + first_line(error);
    if (is_out_of_memory(error)) throw OutOfMemory(reason);
    throw Error(reason);
  }
}

class TorchEngine : public Engine {
 public:
  /// Where there may be a GPU, opens LibTorch's CUDA libraries before anything computes: LibTorch doesn't find CUDA in
  /// a process in which it has computed on the CPU before these libraries were opened. Failing to open them is no error
  /// here; it is reported when a GPU is asked for.
  TorchEngine() {
    use_host_memory();
    if (shows_nvidia_driver()) device_refusal({DeviceKind::kCuda, 0});
  }

  const char* name() const override { return "torch"; }

  std::string trainer_refusal(const network::Network& network, const TrainerOptions& options) const override {
    const std::string refusal = device_refusal(options.device);
    if (!refusal.empty()) return refusal;
    const std::string unfit = options.stage.is_last() ? network::why_unfit(options.criterion, network) : "";
    return unfit.empty() ? replica_refusal(network, options) : unfit;
  }

  std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options,
                           int replicas) const override {
    return torch_engine::shared_bytes(network, options, replicas);
  }

  std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) override {
    if (const std::string refusal = device_refusal(options.device); !refusal.empty()) throw Error(refusal);
    return made("trainer", options.device, [&] {
      require_cuda(options.device);
      return std::make_unique<TorchTrainer>(network, options);
    });
  }

  std::string runner_refusal(const network::Network& /*network*/, const RunnerOptions& options) const override {
    return torch_engine::runner_refusal(options);
  }

  std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                    const RunnerOptions& options, int count) override {
    if (const std::string refusal = torch_engine::runner_refusal(options); !refusal.empty()) throw Error(refusal);
    RunnerOptions each = options;
    each.threads = std::max(1, options.threads / std::max(1, count));
    return made("runner", options.device, [&] {
      require_cuda(options.device);
      return torch_engine::make_runners(network, state, each, count);
    });
  }

  std::string matrix_refusal(const MatrixOptions& options) const override {
    return torch_engine::matrix_refusal(options);
  }

  std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options) override {
    if (const std::string refusal = torch_engine::matrix_refusal(options); !refusal.empty()) throw Error(refusal);
    return made("product of matrices", options.device, [&] {
      require_cuda(options.device);
      return torch_engine::make_matrix_product(options);
    });
  }
};

const char* version() {
  return "LibTorch " TORCH_VERSION;
}

}  // namespace

EVENER_MODULE(Engine, TorchEngine, version);

}  // namespace evener::engine::torch_engine
