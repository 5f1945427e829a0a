// The functions of libcuda.so.1 and libnvrtc.so.13 that this engine uses, opened at run time, and kernels that NVRTC
// compiles then.
#pragma once

#include <cuda.h>

#include <string>
#include <utility>
#include <vector>

namespace evener::engine::native_mlp {

/// A library whose functions are looked up one after the other.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  /// The first function that it lacks; "" = it has all.
  const std::string& missing() const { return missing_; }

 protected:
  struct Found {
    void* address;
    template <class Function>
    operator Function() const {
      return reinterpret_cast<Function>(address);
    }
  };
  Found find(const char* name);

 private:
  void* handle_;
  std::string missing_;
};

// cuda.h defines functions as macros for their newest versions; this takes the names after expansion.
#define EVENER_TEXT(name) #name
#define EVENER_NAME(name) EVENER_TEXT(name)

/// The driver's functions, in the versions that cuda.h declares.
struct CudaCalls : Library {
  using Library::Library;
  decltype(&cuInit) init = find(EVENER_NAME(cuInit));
  decltype(&cuGetErrorName) error_name = find(EVENER_NAME(cuGetErrorName));
  decltype(&cuDeviceGet) device_get = find(EVENER_NAME(cuDeviceGet));
  decltype(&cuDeviceGetCount) device_count = find(EVENER_NAME(cuDeviceGetCount));
  decltype(&cuDeviceGetName) device_name = find(EVENER_NAME(cuDeviceGetName));
  decltype(&cuDeviceTotalMem) device_memory = find(EVENER_NAME(cuDeviceTotalMem));
  decltype(&cuDeviceGetAttribute) device_attribute = find(EVENER_NAME(cuDeviceGetAttribute));
  decltype(&cuDevicePrimaryCtxRetain) retain_context = find(EVENER_NAME(cuDevicePrimaryCtxRetain));
  decltype(&cuDevicePrimaryCtxRelease) release_context = find(EVENER_NAME(cuDevicePrimaryCtxRelease));
  decltype(&cuCtxSetCurrent) set_context = find(EVENER_NAME(cuCtxSetCurrent));
  decltype(&cuStreamCreate) stream_create = find(EVENER_NAME(cuStreamCreate));
  decltype(&cuStreamDestroy) stream_destroy = find(EVENER_NAME(cuStreamDestroy));
  decltype(&cuStreamSynchronize) stream_synchronize = find(EVENER_NAME(cuStreamSynchronize));
  decltype(&cuStreamBeginCapture) begin_capture = find(EVENER_NAME(cuStreamBeginCapture));
  decltype(&cuStreamEndCapture) end_capture = find(EVENER_NAME(cuStreamEndCapture));
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = find(EVENER_NAME(cuGraphInstantiateWithFlags));
  decltype(&cuGraphLaunch) graph_launch = find(EVENER_NAME(cuGraphLaunch));
  decltype(&cuGraphExecDestroy) graph_exec_destroy = find(EVENER_NAME(cuGraphExecDestroy));
  decltype(&cuGraphDestroy) graph_destroy = find(EVENER_NAME(cuGraphDestroy));
  decltype(&cuModuleLoadData) module_load = find(EVENER_NAME(cuModuleLoadData));
  decltype(&cuModuleUnload) module_unload = find(EVENER_NAME(cuModuleUnload));
  decltype(&cuModuleGetFunction) module_function = find(EVENER_NAME(cuModuleGetFunction));
  decltype(&cuLaunchKernel) launch = find(EVENER_NAME(cuLaunchKernel));
  decltype(&cuMemAlloc) allocate = find(EVENER_NAME(cuMemAlloc));
  decltype(&cuMemFree) free = find(EVENER_NAME(cuMemFree));
  decltype(&cuMemAllocHost) allocate_host = find(EVENER_NAME(cuMemAllocHost));
  decltype(&cuMemFreeHost) free_host = find(EVENER_NAME(cuMemFreeHost));
  decltype(&cuMemcpyHtoDAsync) copy_in = find(EVENER_NAME(cuMemcpyHtoDAsync));
  decltype(&cuMemcpyDtoHAsync) copy_out = find(EVENER_NAME(cuMemcpyDtoHAsync));
  decltype(&cuEventCreate) event_create = find(EVENER_NAME(cuEventCreate));
  decltype(&cuEventDestroy) event_destroy = find(EVENER_NAME(cuEventDestroy));
  decltype(&cuEventRecord) event_record = find(EVENER_NAME(cuEventRecord));
  decltype(&cuEventSynchronize) event_synchronize = find(EVENER_NAME(cuEventSynchronize));
  decltype(&cuEventElapsedTime) event_time = find(EVENER_NAME(cuEventElapsedTime));
};

/// NVRTC's functions, declared by hand, since NVRTC's header is in another package than cuda.h
/// (https://docs.nvidia.com/cuda/nvrtc). 0 is success.
struct NvrtcCalls : Library {
  using Library::Library;
  using Program = struct NvrtcProgram*;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names) = find("nvrtcCreateProgram");
  int (*destroy)(Program*) = find("nvrtcDestroyProgram");
  int (*compile)(Program, int options, const char* const* texts) = find("nvrtcCompileProgram");
  int (*ptx_size)(Program, std::size_t*) = find("nvrtcGetPTXSize");
  int (*ptx)(Program, char*) = find("nvrtcGetPTX");
  int (*cubin_size)(Program, std::size_t*) = find("nvrtcGetCUBINSize");
  int (*cubin)(Program, char*) = find("nvrtcGetCUBIN");
  int (*capability_count)(int*) = find("nvrtcGetNumSupportedArchs");
  int (*capabilities)(int*) = find("nvrtcGetSupportedArchs");
  int (*log_size)(Program, std::size_t*) = find("nvrtcGetProgramLogSize");
  int (*log)(Program, char*) = find("nvrtcGetProgramLog");
  const char* (*error_text)(int) = find("nvrtcGetErrorString");
};

/// Null, with the reason in `why`, where the library is missing or lacks a function.
const CudaCalls* cuda_calls(std::string& why);
const NvrtcCalls* nvrtc_calls(std::string& why);

struct CudaCode {
  /// CUBIN, which also a driver older than the compiler can load; or PTX, which the driver has to compile further.
  std::string image;
  bool is_ptx = false;
  std::string log;  // registers, spills and shared memory of each kernel
};

/// Compiles `source`, which follows CUDA's prelude, for a compute capability (90: 9.0): to CUBIN where NVRTC knows it,
/// otherwise to PTX of the newest capability below it. Results are cached for the life of the process. Thread-safe.
/// Throws Error with the compiler's log.
const CudaCode& compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                             const std::vector<std::pair<std::string, int>>& macros, int capability);

}  // namespace evener::engine::native_mlp
