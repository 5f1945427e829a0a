#include "engine/native_mlp/cuda/libraries.h"

#include <dlfcn.h>

#include <initializer_list>

namespace evener::engine::native_mlp {
namespace {

/// Opens the first library that exists. It is never closed, since unloading drivers can crash.
void* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

/// Looks functions up until one is missing.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}

  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

// cuda.h defines functions as macros for their newest versions; this takes the names after expansion.
#define EVENER_TEXT(name) #name
#define EVENER_NAME(name) EVENER_TEXT(name)

std::string find_all(void* handle, CudaCalls& calls) {
  Library library(handle);
  library.find(calls.init, EVENER_NAME(cuInit));
  library.find(calls.error_name, EVENER_NAME(cuGetErrorName));
  library.find(calls.device_get, EVENER_NAME(cuDeviceGet));
  library.find(calls.device_count, EVENER_NAME(cuDeviceGetCount));
  library.find(calls.device_name, EVENER_NAME(cuDeviceGetName));
  library.find(calls.device_memory, EVENER_NAME(cuDeviceTotalMem));
  library.find(calls.device_attribute, EVENER_NAME(cuDeviceGetAttribute));
  library.find(calls.retain_context, EVENER_NAME(cuDevicePrimaryCtxRetain));
  library.find(calls.release_context, EVENER_NAME(cuDevicePrimaryCtxRelease));
  library.find(calls.set_context, EVENER_NAME(cuCtxSetCurrent));
  library.find(calls.stream_create, EVENER_NAME(cuStreamCreate));
  library.find(calls.stream_destroy, EVENER_NAME(cuStreamDestroy));
  library.find(calls.stream_synchronize, EVENER_NAME(cuStreamSynchronize));
  library.find(calls.begin_capture, EVENER_NAME(cuStreamBeginCapture));
  library.find(calls.end_capture, EVENER_NAME(cuStreamEndCapture));
  library.find(calls.graph_instantiate, EVENER_NAME(cuGraphInstantiateWithFlags));
  library.find(calls.graph_launch, EVENER_NAME(cuGraphLaunch));
  library.find(calls.graph_exec_destroy, EVENER_NAME(cuGraphExecDestroy));
  library.find(calls.graph_destroy, EVENER_NAME(cuGraphDestroy));
  library.find(calls.module_load, EVENER_NAME(cuModuleLoadData));
  library.find(calls.module_unload, EVENER_NAME(cuModuleUnload));
  library.find(calls.module_function, EVENER_NAME(cuModuleGetFunction));
  library.find(calls.launch, EVENER_NAME(cuLaunchKernel));
  library.find(calls.allocate, EVENER_NAME(cuMemAlloc));
  library.find(calls.free, EVENER_NAME(cuMemFree));
  library.find(calls.allocate_host, EVENER_NAME(cuMemAllocHost));
  library.find(calls.free_host, EVENER_NAME(cuMemFreeHost));
  library.find(calls.copy_in, EVENER_NAME(cuMemcpyHtoDAsync));
  library.find(calls.copy_out, EVENER_NAME(cuMemcpyDtoHAsync));
  library.find(calls.event_create, EVENER_NAME(cuEventCreate));
  library.find(calls.event_destroy, EVENER_NAME(cuEventDestroy));
  library.find(calls.event_record, EVENER_NAME(cuEventRecord));
  library.find(calls.event_synchronize, EVENER_NAME(cuEventSynchronize));
  library.find(calls.event_time, EVENER_NAME(cuEventElapsedTime));
  return library.missing();
}

std::string find_all(void* handle, NvrtcCalls& calls) {
  Library library(handle);
  library.find(calls.create, "nvrtcCreateProgram");
  library.find(calls.destroy, "nvrtcDestroyProgram");
  library.find(calls.compile, "nvrtcCompileProgram");
  library.find(calls.ptx_size, "nvrtcGetPTXSize");
  library.find(calls.ptx, "nvrtcGetPTX");
  library.find(calls.cubin_size, "nvrtcGetCUBINSize");
  library.find(calls.cubin, "nvrtcGetCUBIN");
  library.find(calls.capability_count, "nvrtcGetNumSupportedArchs");
  library.find(calls.capabilities, "nvrtcGetSupportedArchs");
  library.find(calls.log_size, "nvrtcGetProgramLogSize");
  library.find(calls.log, "nvrtcGetProgramLog");
  library.find(calls.error_text, "nvrtcGetErrorString");
  return library.missing();
}

/// The library and its functions, looked up once in the life of the process.
template <class Calls>
struct Opened {
  explicit Opened(void* handle, const std::string& absent, const std::string& too_old) {
    if (handle == nullptr) {
      why = absent;
      return;
    }
    const std::string missing = find_all(handle, calls);
    usable = missing.empty();
    if (!usable) why = too_old + " (it has no " + missing + ")";
  }
  Calls calls{};
  bool usable = false;
  std::string why;
};

}  // namespace

const CudaCalls* cuda_calls(std::string& why) {
  // The second name is where Windows puts it for WSL2.
  static const Opened<CudaCalls> opened(
      first_of({"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}),
      "libcuda.so.1 is not found: install the NVIDIA driver (580 or newer), in a container start it with GPU support",
      "libcuda.so.1 is too old: install driver 580 or newer");
  why = opened.why;
  return opened.usable ? &opened.calls : nullptr;
}

const NvrtcCalls* nvrtc_calls(std::string& why) {
  static const Opened<NvrtcCalls> opened(
      first_of({"libnvrtc.so.13", "libnvrtc.so"}),
      "libnvrtc.so.13, CUDA's run-time compiler, is not found: './evener --with-cuda setup' fetches it",
      "libnvrtc is not one of CUDA 13: './evener --with-cuda setup' fetches the right one");
  why = opened.why;
  return opened.usable ? &opened.calls : nullptr;
}

}  // namespace evener::engine::native_mlp
