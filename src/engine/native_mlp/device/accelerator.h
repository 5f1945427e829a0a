// The interface to a device with memory of its own, implemented by one module for OpenCL and one for CUDA. Work is done
// in the order in which it was enqueued, asynchronously to the host.
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

#include "base/device.h"

namespace evener::engine::native_mlp {

/// What a device holds for its user.
struct Held {
  Held() = default;
  virtual ~Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

/// Memory on the device.
struct DeviceMemory : Held {};

/// Host memory for asynchronous copies from and to the device.
struct HostMemory : Held {
  virtual std::byte* data() = 0;
};

/// An event in the work enqueued on a device.
struct Moment : Held {
  virtual void wait() = 0;
  /// Seconds by the device's clock; `earlier` must be of the same device, and both must have passed.
  virtual double seconds_since(const Moment& earlier) const = 0;
};

/// A compiled function of the program.
struct Kernel : Held {};

/// Recorded work that can be launched again as a whole.
struct Recording : Held {
  virtual void replay() = 0;
};

/// An argument of a kernel: `GLOBAL T*`, `int` or `float`.
using Argument = std::variant<const DeviceMemory*, std::int32_t, float>;

/// Groups of items, in two dimensions. Items of a group can wait for each other and share memory.
struct Grid {
  std::array<std::size_t, 2> groups, items;
};

struct DeviceFacts {
  std::string name;
  std::uint64_t memory_bytes = 0;
  /// Whether it is a CPU, which computes few items at once, each on wide vectors.
  bool is_cpu = false;
  int vector_floats = 1;    // floats in a register of a CPU
  int multiprocessors = 1;  // which take groups at once
};

class Accelerator : public Held {
 public:
  virtual const DeviceFacts& facts() const = 0;

  /// Throws OutOfMemory. The memory's content is undefined.
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  virtual std::unique_ptr<HostMemory> allocate_host(std::size_t bytes) = 0;

  /// Compiles the program with these macros defined. Throws Error with the compiler's log.
  virtual void build(const std::string& source, const std::vector<std::pair<std::string, int>>& macros) = 0;
  virtual std::unique_ptr<Kernel> kernel(const char* name) = 0;
  virtual void launch(Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) = 0;

  /// Copies to the bytes from `offset` on. The host's memory must not change until the copy is done.
  virtual void copy_in(DeviceMemory& to, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const DeviceMemory& from, std::size_t offset, std::size_t bytes) = 0;

  /// Places an event after the work enqueued so far, and makes the device start on that work.
  virtual std::unique_ptr<Moment> mark() = 0;
  virtual void finish() = 0;

  /// Records the launches that `work` makes, without doing them; null where the device can't record.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
};

/// The interface of the modules native_opencl and native_cuda.
class AcceleratorDriver {
 public:
  virtual ~AcceleratorDriver() = default;
  /// Throws Error when there is no such device, or when it can't be used.
  virtual std::unique_ptr<Accelerator> open(int index) = 0;
};

/// Whether this engine has an accelerator module for the kind: it has for OpenCL devices and NVIDIA GPUs.
bool is_accelerator(DeviceKind kind);
/// Why the module for such devices can't be used; "" if it can. Whether the device exists is only found out by opening
/// it.
std::string accelerator_refusal(Device device);
/// Opens the device. Thread-safe. Throws Error.
std::unique_ptr<Accelerator> open_accelerator(Device device);

}  // namespace evener::engine::native_mlp
