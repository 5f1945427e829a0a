// The part of the torch engine that calls CUDA directly, to capture steps in graphs.
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "base/module_entry.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {
namespace {

class CudaStepGraph : public StepGraph {
 public:
  void capture(const std::function<void()>& step) override {
    const c10::MempoolId_t pool = at::cuda::graph_pool_handle();
    try {
      // Thread-local mode: loaders and other replicas of this process may allocate meanwhile, which other modes forbid.
      // The backward pass runs on autograd's thread, but its work on the captured stream is recorded all the same.
      graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
      step();
      graph_.capture_end();
    } catch (...) {
      end_failed_capture(pool);
      throw;
    }
  }

  void replay() override { graph_.replay(); }

 private:
  /// Ends the capture of a stream after a failure, without which the stream would stay unusable. Errors are ignored
  /// here, since the exception that says why the capture failed is being thrown already.
  void end_failed_capture(c10::MempoolId_t pool) {
    if (succeeds([&] { graph_.capture_end(); })) return;
    // If capture_end() fails, LibTorch 2.11 doesn't tell its allocators that the capture has ended, and they would
    // never give memory back to the device again.
    const c10::DeviceIndex device = c10::cuda::current_device();
    at::HostAllocator* const host = at::getHostAllocator(at::kCUDA);
    succeeds([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool); });
    succeeds([&] { host->end_allocate_to_pool(pool); });
    succeeds([&] { c10::cuda::CUDACachingAllocator::releasePool(device, pool); });
    succeeds([&] { host->release_pool(pool); });
  }

  template <class Body>
  static bool succeeds(const Body& body) {
    try {
      body();
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  at::cuda::CUDAGraph graph_;
};

class Parts : public CudaParts {
 public:
  c10::DeviceType device_type() const override { return c10::kCUDA; }
  bool finds_devices() const override { return at::hasCUDA(); }
  std::unique_ptr<StepGraph> make_step_graph() override { return std::make_unique<CudaStepGraph>(); }
};

const char* version() {
  return "CUDA graphs";
}

}  // namespace

EVENER_MODULE(CudaParts, Parts, version);

}  // namespace evener::engine::torch_engine
