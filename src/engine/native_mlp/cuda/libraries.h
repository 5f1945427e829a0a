// The functions of libcuda.so.1 and libnvrtc.so.13 that this engine uses, opened at run time.
#pragma once

#include <cuda.h>

#include <string>

namespace evener::engine::native_mlp {

/// The driver's functions, in the versions that cuda.h declares.
struct CudaCalls {
  decltype(&cuInit) init;
  decltype(&cuGetErrorName) error_name;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetCount) device_count;
  decltype(&cuDeviceGetName) device_name;
  decltype(&cuDeviceTotalMem) device_memory;
  decltype(&cuDeviceGetAttribute) device_attribute;
  decltype(&cuDevicePrimaryCtxRetain) retain_context;
  decltype(&cuDevicePrimaryCtxRelease) release_context;
  decltype(&cuCtxSetCurrent) set_context;
  decltype(&cuStreamCreate) stream_create;
  decltype(&cuStreamDestroy) stream_destroy;
  decltype(&cuStreamSynchronize) stream_synchronize;
  decltype(&cuStreamBeginCapture) begin_capture;
  decltype(&cuStreamEndCapture) end_capture;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate;
  decltype(&cuGraphLaunch) graph_launch;
  decltype(&cuGraphExecDestroy) graph_exec_destroy;
  decltype(&cuGraphDestroy) graph_destroy;
  decltype(&cuModuleLoadData) module_load;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_function;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuMemAlloc) allocate;
  decltype(&cuMemFree) free;
  decltype(&cuMemAllocHost) allocate_host;
  decltype(&cuMemFreeHost) free_host;
  decltype(&cuMemcpyHtoDAsync) copy_in;
  decltype(&cuMemcpyDtoHAsync) copy_out;
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventDestroy) event_destroy;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventSynchronize) event_synchronize;
  decltype(&cuEventElapsedTime) event_time;
};

/// NVRTC's functions, declared by hand, since NVRTC's header is in another package than cuda.h
/// (https://docs.nvidia.com/cuda/nvrtc). 0 is success.
struct NvrtcCalls {
  using Program = struct NvrtcProgram*;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names);
  int (*destroy)(Program*);
  int (*compile)(Program, int options, const char* const* texts);
  int (*ptx_size)(Program, std::size_t*);
  int (*ptx)(Program, char*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);
  int (*capability_count)(int*);
  int (*capabilities)(int*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  const char* (*error_text)(int);
};

/// Null, with the reason in `why`, where the library is missing or lacks a function.
const CudaCalls* cuda_calls(std::string& why);
const NvrtcCalls* nvrtc_calls(std::string& why);

}  // namespace evener::engine::native_mlp
