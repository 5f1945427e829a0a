#include <algorithm>
#include <cmath>

#include "placement/fake_machine.h"

namespace evener::test {

placement::Machine fake_machine(const MachineShape& shape) {
  placement::Machine machine;
  machine.host = "fake";
  machine.cpu.model = "Fake CPU";
  machine.cpu.features = shape.features;
  machine.cpu.quota_cpus = shape.quota_cpus;
  for (int core = 0; core < shape.cores; ++core) {
    std::vector<int> cpus;
    for (int thread = 0; thread < shape.threads_per_core; ++thread) cpus.push_back(thread * shape.cores + core);
    machine.cpu.cores.push_back(cpus);
    machine.cpu.allowed.insert(machine.cpu.allowed.end(), cpus.begin(), cpus.end());
  }
  std::sort(machine.cpu.allowed.begin(), machine.cpu.allowed.end());
  machine.cores = shape.cores;
  if (shape.quota_cpus > 0) machine.cores = std::min(machine.cores, static_cast<int>(std::ceil(shape.quota_cpus)));
  machine.memory = {64'000'000'000, 60'000'000'000};
  for (int i = 0; i < shape.gpus; ++i) {
    machine.cuda.devices.push_back({{DeviceKind::kCuda, i}, "Fake GPU", 80'000'000'000, 9, 0, ""});
  }
  if (shape.gpus == 0) machine.cuda.reason = "no NVIDIA driver is loaded";
  for (auto* list : {&machine.opencl, &machine.intel, &machine.npu}) list->reason = "none is there";
  return machine;
}

}  // namespace evener::test
