// The torch engine's part that needs CUDA's own interfaces: capturing a step.
#include "base/module.h"

#include <ATen/cuda/CUDAGraph.h>

#include "engine/torch/step_graph.h"

namespace evener::engine::torch_engine {
namespace {

class CudaStepGraph : public StepGraph {
 public:
  void capture(const std::function<void()>& step) override {
    // Thread-local: loaders and other replicas of this process may allocate meanwhile. Backward runs on a thread of
    // autograd's; what it gives to the captured stream is recorded all the same.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      step();
    } catch (...) {
      end_failed_capture();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  /// The stream has to leave the capture, or nothing works on it any more; why it failed is on its way already.
  void end_failed_capture() {
    try {
      graph_.capture_end();
    } catch (const c10::Error&) {
    }
  }

  at::cuda::CUDAGraph graph_;
};

class Parts : public CudaParts {
 public:
  std::unique_ptr<StepGraph> make_step_graph() override { return std::make_unique<CudaStepGraph>(); }
};

const char* version() {
  return "CUDA graphs";
}
/// Asks no driver: this may be a process that forks its replicas later, and CUDA does not survive that.
const char* unusable_reason() {
  return "";
}
void* create() {
  return new Parts;
}

}  // namespace
}  // namespace evener::engine::torch_engine

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module = {evener::kModuleAbi, evener::engine::torch_engine::version,
                                           evener::engine::torch_engine::unusable_reason,
                                           evener::engine::torch_engine::create};
}
