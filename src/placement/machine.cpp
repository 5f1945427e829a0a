#include "placement/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/forked.h"
#include "base/host_name.h"
#include "base/message.h"

namespace evener {

void describe(auto& visitor, Of<Device> auto& device) {
  visitor.members(device.kind, device.index);
}

namespace placement {

void describe(auto& visitor, Of<Accelerator> auto& accelerator) {
  visitor.members(accelerator.device, accelerator.name, accelerator.memory_bytes, accelerator.compute_major,
                  accelerator.compute_minor, accelerator.problem, accelerator.uuid);
}

void describe(auto& visitor, Of<AcceleratorList> auto& list) {
  visitor.members(list.devices, list.driver, list.reason, list.remedy);
}

namespace {

namespace fs = std::filesystem;

constexpr const char *kCuda = "cuda", *kOpencl = "opencl";

// Entries of a folder whose names start with `prefix`, sorted.
std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// "" if the device file can be used, otherwise the reason.
std::string access_problem(const fs::path& file) {
  if (::access(file.c_str(), R_OK | W_OK) == 0) return "";
  return "no permission on " + file.string() + ": add yourself to the group that owns it (usually 'render')";
}

bool uses(const Placement& placement, DeviceKind kind) {
  return std::ranges::any_of(placement.replicas, [kind](const ReplicaGroup& group) {
    return std::ranges::find(group.stages, kind, &Stage::kind) != group.stages.end();
  });
}

Machine cpu_only() {
  Machine machine;
  machine.host = host_name();
  machine.cpu = cpu_topology();
  machine.cores = usable_cores();
  machine.memory = memory_limits();
  for (AcceleratorList* list : {&machine.cuda, &machine.opencl, &machine.intel, &machine.npu}) {
    list->reason = "nobody looked for them";
  }
  return machine;
}

// Asks a process of its own: after cuInit, or a call of a driver behind OpenCL, a process's forked children can't use
// that driver any more, and replicas are such children. `what`: "CUDA driver".
AcceleratorList asked_of(const char* drivers, const char* what, const char* remedy) {
  constexpr double kLongest_s = 60;  // a driver that has to wake the GPU takes seconds
  try {
    const std::string message = ask_program({kAcceleratorsQuestion, drivers}, kLongest_s);
    return unpack_message<AcceleratorList>(message, std::string("the answer of the ") + what);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    AcceleratorList list;
    list.reason = std::string("the ") + what + " could not be asked: " + error.what();
    list.remedy = remedy;
    return list;
  }
}

AcceleratorList cuda_gpus() {
  return asked_of(kCuda, "CUDA driver", "see whether nvidia-smi works");
}

AcceleratorList opencl_devices() {
  return asked_of(kOpencl, "OpenCL drivers", "see whether clinfo works");
}

}  // namespace

const AcceleratorList& Machine::accelerators(DeviceKind kind) const {
  switch (kind) {
    case DeviceKind::kCuda:
      return cuda;
    case DeviceKind::kOpencl:
      return opencl;
    case DeviceKind::kIntel:
      return intel;
    case DeviceKind::kNpu:
      return npu;
    case DeviceKind::kCpu:
      break;
  }
  throw Error("the CPU is not an accelerator");
}

AcceleratorList find_intel_gpus(const fs::path& root) {
  AcceleratorList list;
  for (const fs::path& node : entries(root / "sys/class/drm", "renderD")) {
    std::ifstream in(node / "device/vendor");
    std::string vendor;
    in >> vendor;
    if (vendor != "0x8086") continue;
    Accelerator gpu;
    gpu.device = {DeviceKind::kIntel, static_cast<int>(list.devices.size())};
    gpu.name = "Intel GPU (" + node.filename().string() + ")";
    gpu.problem = access_problem(root / "dev/dri" / node.filename());
    list.devices.push_back(gpu);
  }
  if (list.devices.empty()) {
    list.reason = "no Intel GPU is among the render nodes of /dev/dri";
    list.remedy = "if there is one, load its kernel driver (i915 or xe)";
  }
  return list;
}

AcceleratorList find_npus(const fs::path& root) {
  AcceleratorList list;
  for (const fs::path& node : entries(root / "dev/accel", "accel")) {
    Accelerator npu;
    npu.device = {DeviceKind::kNpu, static_cast<int>(list.devices.size())};
    npu.name = "NPU (" + node.filename().string() + ")";
    npu.problem = access_problem(node);
    list.devices.push_back(npu);
  }
  if (list.devices.empty()) {
    list.reason = "there is no /dev/accel/accel*";
    list.remedy = "if the processor has an NPU, load its kernel driver (intel_vpu)";
  }
  return list;
}

std::string accelerators_message(const std::string& drivers) {
  if (drivers == kOpencl) return pack_message(find_opencl_devices());
  return pack_message(find_cuda_gpus(ask_cuda_driver()));
}

const Machine& machine() {
  static const Machine everything = [] {
    Machine found = cpu_only();
    found.cuda = cuda_gpus();
    found.opencl = opencl_devices();
    found.intel = find_intel_gpus();
    found.npu = find_npus();
    return found;
  }();
  return everything;
}

Machine machine_for(const Placement& placement) {
  Machine found = cpu_only();
  if (uses(placement, DeviceKind::kCuda)) found.cuda = cuda_gpus();
  if (uses(placement, DeviceKind::kOpencl)) found.opencl = opencl_devices();
  if (uses(placement, DeviceKind::kIntel)) found.intel = find_intel_gpus();
  if (uses(placement, DeviceKind::kNpu)) found.npu = find_npus();
  return found;
}

}  // namespace placement

}  // namespace evener
