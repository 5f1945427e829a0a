// OpenCL devices (1.2 or newer) as accelerators, and the module's entry, which base/module.h looks for.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "base/module_entry.h"
#include "base/names.h"
#include "engine/engine.h"
#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {
namespace {

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
std::string error_name(cl_int code) {
  static const std::map<cl_int, const char*> names = {
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
  };
  const auto found = names.find(code);
  return found != names.end() ? found->second : "error " + std::to_string(code);
}

/// Whether the device had too little memory.
bool is_out_of_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY ||
         code == CL_INVALID_BUFFER_SIZE;
}

/// Throws OutOfMemory or Error ("OpenCL device 'NAME': CALL failed: CL_...") unless `code` is success.
void check(cl_int code, const char* call, const std::string& device) {
  if (code == CL_SUCCESS) return;
  const std::string text = "OpenCL device '" + device + "': " + call + " failed: " + error_name(code);
  if (is_out_of_memory(code)) throw OutOfMemory(text);
  throw Error(text);
}

const char* opencl_prelude() {
  return R"(
#define KERNEL __kernel void
#define GROUP_OF(x, y) __attribute__((reqd_work_group_size(x, y, 1)))
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(name, count) __local float name[count] __attribute__((aligned(64)))
#define PRIVATE_ARRAY(name, count) float name[count]
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define ITEM_X ((int)get_local_id(0))
#define ITEM_Y ((int)get_local_id(1))
#define PLACE size_t
typedef uchar Byte;
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
typedef JOIN(float, VECTOR) Vector;
#define LOAD_VECTOR(from) JOIN(vload, VECTOR)(0, from)
#define STORE_VECTOR(value, to) JOIN(vstore, VECTOR)(value, 0, to)
#define ZERO_VECTOR ((Vector)(0.0f))
)";
}

class OpenClMoment : public Moment {
 public:
  OpenClMoment(OwnedEvent event, const std::string& device) : event_(std::move(event)), device_(device) {}

  void wait() override {
    cl_event event = event_.get();
    check(clWaitForEvents(1, &event), "clWaitForEvents", device_);
  }
  double seconds_since(const Moment& earlier) const override {
    constexpr double kNanosecond = 1e-9;
    return kNanosecond * static_cast<double>(end_ns() - dynamic_cast<const OpenClMoment&>(earlier).end_ns());
  }

 private:
  std::int64_t end_ns() const {
    cl_ulong time_ns = 0;
    check(clGetEventProfilingInfo(event_.get(), CL_PROFILING_COMMAND_END, sizeof time_ns, &time_ns, nullptr),
          "clGetEventProfilingInfo", device_);
    return static_cast<std::int64_t>(time_ns);
  }

  OwnedEvent event_;
  const std::string& device_;
};

struct OpenClMemory : DeviceMemory {
  explicit OpenClMemory(cl_mem handle) : memory(handle) {}
  OwnedMemory memory;
};

struct OpenClKernel : Kernel {
  explicit OpenClKernel(cl_kernel handle) : kernel(handle) {}
  OwnedKernel kernel;
};

class PlainMemory : public HostMemory {
 public:
  explicit PlainMemory(std::size_t bytes) : bytes_(std::make_unique<std::byte[]>(bytes)) {}
  std::byte* data() override { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

cl_mem handle_of(const DeviceMemory& memory) {
  return dynamic_cast<const OpenClMemory&>(memory).memory.get();
}

template <class Value>
Value number_of(cl_device_id device, cl_device_info what) {
  Value value{};
  return clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : Value{};
}

std::string name_of(cl_device_id device) {
  std::size_t size = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_NAME, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "OpenCL device";
  std::string name(size, '\0');
  clGetDeviceInfo(device, CL_DEVICE_NAME, size, name.data(), nullptr);
  name.resize(size - 1);
  return name;
}

/// All devices, in the order of placement/gpus.cpp.
std::vector<cl_device_id> all_devices() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<cl_device_id> devices;
  for (cl_platform_id platform : platforms) {
    cl_uint found = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &found) != CL_SUCCESS) continue;
    const std::size_t before = devices.size();
    devices.resize(before + found);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, devices.data() + before, nullptr);
  }
  return devices;
}

class OpenClAccelerator : public Accelerator {
 public:
  explicit OpenClAccelerator(cl_device_id device) : device_(device) {
    facts_.name = name_of(device);
    facts_.memory_bytes = number_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    facts_.is_cpu = (number_of<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    facts_.vector_floats = static_cast<int>(number_of<cl_uint>(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
    facts_.multiprocessors = static_cast<int>(number_of<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS));
    largest_bytes_ = number_of<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    cl_int code = CL_SUCCESS;
    context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    check(code, "clCreateContext", facts_.name);
    queue_.reset(clCreateCommandQueue(context_.get(), device, CL_QUEUE_PROFILING_ENABLE, &code));
    check(code, "clCreateCommandQueue", facts_.name);
  }

  const DeviceFacts& facts() const override { return facts_; }

  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
    if (bytes > largest_bytes_) {
      throw OutOfMemory("OpenCL device '" + facts_.name + "' gives " + bytes_text(largest_bytes_) +
                        " at once at most, not " + bytes_text(bytes));
    }
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, std::max<std::size_t>(bytes, 1), nullptr, &code);
    check(code, "clCreateBuffer", facts_.name);
    return std::make_unique<OpenClMemory>(memory);
  }

  std::unique_ptr<HostMemory> allocate_host(std::size_t bytes) override { return std::make_unique<PlainMemory>(bytes); }

  void build(const std::string& source, const std::vector<std::pair<std::string, int>>& macros) override {
    const std::string text = opencl_prelude() + source;
    const char* lines = text.c_str();
    cl_int code = CL_SUCCESS;
    program_.reset(clCreateProgramWithSource(context_.get(), 1, &lines, nullptr, &code));
    check(code, "clCreateProgramWithSource", facts_.name);
    std::string options = "-cl-std=CL1.2 -cl-mad-enable";
    for (const auto& [name, value] : macros) options += " -D" + name + "=" + std::to_string(value);
    code = clBuildProgram(program_.get(), 1, &device_, options.c_str(), nullptr, nullptr);
    if (code != CL_SUCCESS) {
      throw Error("OpenCL device '" + facts_.name + "' can't compile the kernels (" + error_name(code) +
                  "); its compiler says: " + build_log());
    }
  }

  std::unique_ptr<Kernel> kernel(const char* name) override {
    cl_int code = CL_SUCCESS;
    cl_kernel handle = clCreateKernel(program_.get(), name, &code);
    check(code, "clCreateKernel", facts_.name);
    return std::make_unique<OpenClKernel>(handle);
  }

  void launch(Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) override {
    cl_kernel handle = dynamic_cast<OpenClKernel&>(kernel).kernel.get();
    for (cl_uint i = 0; i < arguments.size(); ++i) set_argument(handle, i, arguments[i]);
    const std::size_t all[] = {grid.groups[0] * grid.items[0], grid.groups[1] * grid.items[1]};
    check(clEnqueueNDRangeKernel(queue_.get(), handle, 2, nullptr, all, grid.items.data(), 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel", facts_.name);
  }

  void copy_in(DeviceMemory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    check(clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_FALSE, offset, bytes, from, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer", facts_.name);
  }

  void copy_out(void* to, const DeviceMemory& from, std::size_t offset, std::size_t bytes) override {
    check(clEnqueueReadBuffer(queue_.get(), handle_of(from), CL_FALSE, offset, bytes, to, 0, nullptr, nullptr),
          "clEnqueueReadBuffer", facts_.name);
  }

  std::unique_ptr<Moment> mark() override {
    cl_event event = nullptr;
    check(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList", facts_.name);
    check(clFlush(queue_.get()), "clFlush", facts_.name);
    return std::make_unique<OpenClMoment>(OwnedEvent(event), facts_.name);
  }

  void finish() override { check(clFinish(queue_.get()), "clFinish", facts_.name); }

  /// OpenCL 1.2 can't record.
  std::unique_ptr<Recording> record(const std::function<void()>&) override { return nullptr; }

 private:
  void set_argument(cl_kernel kernel, cl_uint index, const Argument& argument) const {
    cl_int code = CL_SUCCESS;
    if (const auto* memory = std::get_if<const DeviceMemory*>(&argument)) {
      cl_mem handle = handle_of(**memory);
      code = clSetKernelArg(kernel, index, sizeof(cl_mem), &handle);
    } else if (const auto* number = std::get_if<std::int32_t>(&argument)) {
      code = clSetKernelArg(kernel, index, sizeof *number, number);
    } else {
      code = clSetKernelArg(kernel, index, sizeof(float), std::get_if<float>(&argument));
    }
    check(code, "clSetKernelArg", facts_.name);
  }

  std::string build_log() const {
    constexpr std::size_t kLongest = 1000;
    std::size_t size = 0;
    clGetProgramBuildInfo(program_.get(), device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program_.get(), device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return log.substr(0, kLongest);
  }

  cl_device_id device_;
  DeviceFacts facts_;
  std::uint64_t largest_bytes_ = 0;
  OwnedContext context_;
  OwnedQueue queue_;
  OwnedProgram program_;
};

class OpenClDriver : public AcceleratorDriver {
 public:
  /// The devices of all platforms are counted in the loader's order.
  std::unique_ptr<Accelerator> open(int index) override {
    const std::vector<cl_device_id> devices = all_devices();
    const std::string asked = "opencl:" + std::to_string(index);
    if (devices.empty()) {
      throw Error("there is no " + asked + ": no OpenCL driver offers a device; install your vendor's, or " +
                  "pocl-opencl-icd for the CPU");
    }
    if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
      throw Error("there is no " + asked + ": there are " + std::to_string(devices.size()) + " OpenCL devices, from " +
                  "opencl:0 (" + name_of(devices.front()) + ") on; 'evener doctor' lists them");
    }
    cl_device_id device = devices[static_cast<std::size_t>(index)];
    if (number_of<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) {
      throw Error(asked + " (" + name_of(device) + ") has no compiler for kernels; use another device");
    }
    return std::make_unique<OpenClAccelerator>(device);
  }
};

const char* version() {
  return "OpenCL 1.2 or newer";
}

}  // namespace

EVENER_MODULE(AcceleratorDriver, OpenClDriver, version);

}  // namespace evener::engine::native_mlp
