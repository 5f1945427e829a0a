// The torch engine's part that needs CUDA's own interfaces: capturing a step.
#include <ATen/cuda/CUDAGraph.h>

#include "base/module_entry.h"
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
  c10::DeviceType device_type() const override { return c10::kCUDA; }
  std::unique_ptr<StepGraph> make_step_graph() override { return std::make_unique<CudaStepGraph>(); }
};

const char* version() {
  return "CUDA graphs";
}

}  // namespace
}  // namespace evener::engine::torch_engine

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::engine::torch_engine::CudaParts, evener::engine::torch_engine::Parts>(
        evener::engine::torch_engine::version);
}
