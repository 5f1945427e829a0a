#include "engine/native_mlp/opencl/accelerator.h"

#include <algorithm>
#include <cstdlib>

#include "base/names.h"
#include "engine/engine.h"
#include "engine/native_mlp/opencl/calls.h"
#include "engine/native_mlp/opencl/prelude.h"

namespace evener::engine::native_mlp {
namespace {

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

/// All devices, in the order of placement/gpus.h.
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

}  // namespace

std::unique_ptr<Accelerator> open_opencl_device(int index) {
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

}  // namespace evener::engine::native_mlp
