// NVIDIA GPUs as accelerators, through the driver and NVRTC alone, both opened at run time: no toolkit is needed. And
// the module's entry, which base/module.h looks for.
#include <cuda.h>

#include <array>
#include <memory>
#include <string>

#include "base/module_entry.h"
#include "base/names.h"
#include "engine/engine.h"
#include "engine/native_mlp/cuda/libraries.h"
#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {
namespace {

/// The driver's calls for one GPU, with error checks, and its primary context.
class Gpu {
 public:
  Gpu(const CudaCalls& calls, int index) : calls_(calls), name_("cuda:" + std::to_string(index)) {}

  /// Makes no context current, so that this thread doesn't keep a context that may be destroyed.
  ~Gpu() {
    if (context_ == nullptr) return;
    calls_.set_context(nullptr);
    calls_.release_context(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void retain_context(CUdevice device) {
    check(calls_.retain_context(&context_, device), "cuDevicePrimaryCtxRetain");
    device_ = device;
  }
  /// Calls need a current context, and the calling thread may be another one than that which opened the device.
  void make_current() const { check(calls_.set_context(context_), "cuCtxSetCurrent"); }
  /// The same for destructors, which must not throw.
  void try_to_make_current() const { calls_.set_context(context_); }

  const CudaCalls& operator*() const { return calls_; }
  const CudaCalls* operator->() const { return &calls_; }

  void check(CUresult code, const char* call) const {
    if (code == CUDA_SUCCESS) return;
    const char* text = nullptr;
    const bool known = calls_.error_name(code, &text) == CUDA_SUCCESS && text != nullptr;
    const std::string reason =
        name_ + ": " + call + " failed: " + (known ? text : "error " + std::to_string(static_cast<int>(code)));
    if (code == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(reason);
    throw Error(reason);
  }

 private:
  const CudaCalls& calls_;
  std::string name_;
  CUcontext context_ = nullptr;
  CUdevice device_ = 0;  // of the context
};

class CudaMoment : public Moment {
 public:
  CudaMoment(const Gpu& gpu, CUstream stream) : gpu_(gpu) {
    gpu_.check(gpu_->event_create(&event_, CU_EVENT_DEFAULT), "cuEventCreate");
    gpu_.check(gpu_->event_record(event_, stream), "cuEventRecord");
  }
  ~CudaMoment() override {
    gpu_.try_to_make_current();
    gpu_->event_destroy(event_);
  }

  void wait() override {
    gpu_.make_current();
    gpu_.check(gpu_->event_synchronize(event_), "cuEventSynchronize");
  }
  double seconds_since(const Moment& earlier) const override {
    constexpr double kMillisecond = 1e-3;
    float time_ms = 0;
    gpu_.make_current();
    gpu_.check(gpu_->event_time(&time_ms, dynamic_cast<const CudaMoment&>(earlier).event_, event_),
               "cuEventElapsedTime");
    return kMillisecond * static_cast<double>(time_ms);
  }

 private:
  const Gpu& gpu_;
  CUevent event_ = nullptr;
};

class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(const Gpu& gpu, std::size_t bytes) : gpu_(gpu) {
    gpu_.check(gpu_->allocate(&address_, bytes), ("cuMemAlloc of " + bytes_text(bytes)).c_str());
  }
  ~CudaMemory() override {
    gpu_.try_to_make_current();
    gpu_->free(address_);
  }

  CUdeviceptr address() const { return address_; }

 private:
  const Gpu& gpu_;
  CUdeviceptr address_ = 0;
};

class PinnedMemory : public HostMemory {
 public:
  PinnedMemory(const Gpu& gpu, std::size_t bytes) : gpu_(gpu) {
    gpu_.check(gpu_->allocate_host(&data_, bytes), ("cuMemAllocHost of " + bytes_text(bytes)).c_str());
  }
  ~PinnedMemory() override {
    gpu_.try_to_make_current();
    gpu_->free_host(data_);
  }

  std::byte* data() override { return static_cast<std::byte*>(data_); }

 private:
  const Gpu& gpu_;
  void* data_ = nullptr;
};

struct CudaKernel : Kernel {
  CUfunction function = nullptr;
};

/// A CUDA graph.
class CudaRecording : public Recording {
 public:
  /// Takes ownership of the graph.
  CudaRecording(const Gpu& gpu, CUstream stream, CUgraph graph) : gpu_(gpu), stream_(stream) {
    const CUresult code = gpu_->graph_instantiate(&graph_, graph, 0);
    gpu_->graph_destroy(graph);
    gpu_.check(code, "cuGraphInstantiateWithFlags");
  }
  ~CudaRecording() override { gpu_->graph_exec_destroy(graph_); }

  void replay() override {
    gpu_.make_current();
    gpu_.check(gpu_->graph_launch(graph_, stream_), "cuGraphLaunch");
  }

 private:
  const Gpu& gpu_;
  CUstream stream_;
  CUgraphExec graph_ = nullptr;
};

CUdeviceptr address_of(const DeviceMemory& memory) {
  return dynamic_cast<const CudaMemory&>(memory).address();
}

class CudaAccelerator : public Accelerator {
 public:
  CudaAccelerator(const CudaCalls& calls, const NvrtcCalls& nvrtc, int index) : gpu_(calls, index), nvrtc_(nvrtc) {
    gpu_.check(gpu_->device_get(&device_, index), "cuDeviceGet");
    std::array<char, 256> name{};
    gpu_.check(gpu_->device_name(name.data(), static_cast<int>(name.size()) - 1, device_), "cuDeviceGetName");
    std::size_t bytes = 0;
    gpu_.check(gpu_->device_memory(&bytes, device_), "cuDeviceTotalMem");
    facts_.name = name.data();
    facts_.memory_bytes = bytes;
    facts_.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    gpu_.retain_context(device_);
    gpu_.make_current();
    gpu_.check(gpu_->stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }

  ~CudaAccelerator() override {
    gpu_.try_to_make_current();
    if (module_ != nullptr) gpu_->module_unload(module_);
    if (stream_ != nullptr) gpu_->stream_destroy(stream_);
  }

  const DeviceFacts& facts() const override { return facts_; }

  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
    gpu_.make_current();
    return std::make_unique<CudaMemory>(gpu_, bytes);
  }

  std::unique_ptr<HostMemory> allocate_host(std::size_t bytes) override {
    gpu_.make_current();
    return std::make_unique<PinnedMemory>(gpu_, bytes);
  }

  void build(const std::string& source, const std::vector<std::pair<std::string, int>>& macros) override {
    gpu_.make_current();
    const int capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    const CudaCode& code = compile_cuda(nvrtc_, source, macros, capability);
    gpu_.check(gpu_->module_load(&module_, code.image.c_str()), "cuModuleLoadData");
  }

  std::unique_ptr<Kernel> kernel(const char* name) override {
    gpu_.make_current();
    auto kernel = std::make_unique<CudaKernel>();
    gpu_.check(gpu_->module_function(&kernel->function, module_, name), "cuModuleGetFunction");
    return kernel;
  }

  void launch(Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) override {
    std::array<CUdeviceptr, kMostArguments> addresses{};
    std::array<void*, kMostArguments> values{};
    if (arguments.size() > values.size()) throw Error("a kernel has more than 32 parameters");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (const auto* memory = std::get_if<const DeviceMemory*>(&arguments[i])) {
        addresses[i] = address_of(**memory);
        values[i] = &addresses[i];
      } else {
        std::visit([&](const auto& value) { values[i] = const_cast<void*>(static_cast<const void*>(&value)); },
                   arguments[i]);
      }
    }
    gpu_.make_current();
    const auto count = [](std::size_t value) { return static_cast<unsigned>(value); };
    gpu_.check(gpu_->launch(dynamic_cast<CudaKernel&>(kernel).function, count(grid.groups[0]), count(grid.groups[1]), 1,
                            count(grid.items[0]), count(grid.items[1]), 1, 0, stream_, values.data(), nullptr),
               "cuLaunchKernel");
  }

  void copy_in(DeviceMemory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    gpu_.make_current();
    gpu_.check(gpu_->copy_in(address_of(to) + offset, from, bytes, stream_), "cuMemcpyHtoDAsync");
  }

  void copy_out(void* to, const DeviceMemory& from, std::size_t offset, std::size_t bytes) override {
    gpu_.make_current();
    gpu_.check(gpu_->copy_out(to, address_of(from) + offset, bytes, stream_), "cuMemcpyDtoHAsync");
  }

  std::unique_ptr<Moment> mark() override {
    gpu_.make_current();
    return std::make_unique<CudaMoment>(gpu_, stream_);
  }

  void finish() override {
    gpu_.make_current();
    gpu_.check(gpu_->stream_synchronize(stream_), "cuStreamSynchronize");
  }

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    gpu_.make_current();
    gpu_.check(gpu_->begin_capture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
    CUgraph graph = nullptr;
    try {
      work();
    } catch (...) {
      gpu_->end_capture(stream_, &graph);
      if (graph != nullptr) gpu_->graph_destroy(graph);
      throw;
    }
    gpu_.check(gpu_->end_capture(stream_, &graph), "cuStreamEndCapture");
    return std::make_unique<CudaRecording>(gpu_, stream_, graph);
  }

 private:
  static constexpr std::size_t kMostArguments = 32;

  int attribute(CUdevice_attribute what) const {
    int value = 0;
    gpu_.check(gpu_->device_attribute(&value, what, device_), "cuDeviceGetAttribute");
    return value;
  }

  Gpu gpu_;
  const NvrtcCalls& nvrtc_;
  DeviceFacts facts_;
  CUdevice device_ = 0;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
};

/// Why CUDA can't be used here; "" if its libraries are there. Doesn't initialise the driver: children of a process
/// that has done so can't use it.
std::string why_no_cuda() {
  std::string why;
  if (cuda_calls(why) != nullptr) nvrtc_calls(why);
  return why;
}

class CudaAccelerators : public AcceleratorDriver {
 public:
  std::unique_ptr<Accelerator> open(int index) override {
    std::string why;
    const CudaCalls* calls = cuda_calls(why);
    const NvrtcCalls* nvrtc = calls != nullptr ? nvrtc_calls(why) : nullptr;
    if (nvrtc == nullptr) throw Error(why);
    const Gpu gpu(*calls, index);
    gpu.check(calls->init(0), "cuInit");
    int count = 0;
    gpu.check(calls->device_count(&count), "cuDeviceGetCount");
    if (index < 0 || index >= count) {
      throw Error("there is no cuda:" + std::to_string(index) + ": the driver reports " + std::to_string(count) +
                  " GPUs; look at CUDA_VISIBLE_DEVICES and the job's allocation");
    }
    return std::make_unique<CudaAccelerator>(*calls, *nvrtc, index);
  }
};

const char* version() {
  static const std::string text =
      "CUDA " + std::to_string(CUDA_VERSION / 1000) + "." + std::to_string(CUDA_VERSION % 1000 / 10) + ", NVRTC";
  return text.c_str();
}
const char* unusable_reason() {
  static const std::string why = why_no_cuda();
  return why.c_str();
}

}  // namespace

EVENER_MODULE(AcceleratorDriver, CudaAccelerators, version, unusable_reason);

}  // namespace evener::engine::native_mlp
