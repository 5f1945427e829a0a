// OpenCL's objects with automatic release, and errors by their names.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <memory>
#include <string>
#include <type_traits>

namespace evener::engine::native_mlp {

template <auto release>
struct Releaser {
  template <class Handle>
  void operator()(Handle* handle) const {
    release(handle);
  }
};
template <class Handle, auto release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<release>>;

using OwnedContext = Owned<cl_context, clReleaseContext>;
using OwnedQueue = Owned<cl_command_queue, clReleaseCommandQueue>;
using OwnedProgram = Owned<cl_program, clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, clReleaseKernel>;
using OwnedMemory = Owned<cl_mem, clReleaseMemObject>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;

/// "CL_OUT_OF_RESOURCES", or "error -1234".
std::string error_name(cl_int code);
/// Whether the device had too little memory.
bool is_out_of_memory(cl_int code);
/// Throws OutOfMemory or Error ("OpenCL device 'NAME': CALL failed: CL_...") unless `code` is success.
void check(cl_int code, const char* call, const std::string& device);

}  // namespace evener::engine::native_mlp
