// A device with memory of its own, as far as this engine needs one: OpenCL's and CUDA's each stand behind it as a
// module of their own. Work is done in the order in which it is given, while the host goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace evener::engine::native_mlp {

/// Memory on the device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
};

/// Memory of the host that copies can go on from and to while the host does something else.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::byte* data() = 0;
};

/// A point in the work given to a device.
class Moment {
 public:
  virtual ~Moment() = default;
  virtual void wait() = 0;
  /// By the device's clock; `earlier` is of the same device, and both have passed.
  virtual double seconds_since(const Moment& earlier) const = 0;
};

/// A compiled function of the program.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

/// Work that was recorded once and can be done again as one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// What a kernel is given, in the order of its parameters: `GLOBAL T*`, `int` or `float`.
using Argument = std::variant<const DeviceMemory*, std::int32_t, float>;

/// Groups of items, in two dimensions. Items of a group can wait for each other and share memory.
struct Grid {
  std::array<std::size_t, 2> groups, items;
};

struct DeviceFacts {
  std::string name;
  std::uint64_t memory_bytes = 0;
  /// It computes as CPUs do: few items at once, each on wide vectors.
  bool is_cpu = false;
  int vector_floats = 1;    // of a register, where it is one
  int multiprocessors = 1;  // which take groups at once
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual const DeviceFacts& facts() const = 0;

  /// Throws OutOfMemory. The memory's content is undefined.
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  virtual std::unique_ptr<HostMemory> allocate_host(std::size_t bytes) = 0;

  /// Compiles the program with these macros defined. Throws Error with what the compiler says.
  virtual void build(const std::string& source, const std::vector<std::pair<std::string, int>>& macros) = 0;
  virtual std::unique_ptr<Kernel> kernel(const char* name) = 0;
  virtual void launch(Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) = 0;

  /// Bytes from `offset` on. The host's memory has to stay as it is until the copy is done.
  virtual void copy_in(DeviceMemory& to, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const DeviceMemory& from, std::size_t offset, std::size_t bytes) = 0;

  /// Also sees to it that the device begins with what it has been given.
  virtual std::unique_ptr<Moment> mark() = 0;
  virtual void finish() = 0;

  /// The launches that `work` makes, which aren't done by this; null where the device can't record.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
};

/// What the modules native_opencl and native_cuda create.
class AcceleratorDriver {
 public:
  virtual ~AcceleratorDriver() = default;
  /// Throws Error when there is no such device, or when it can't be used.
  virtual std::unique_ptr<Accelerator> open(int index) = 0;
};

}  // namespace evener::engine::native_mlp
