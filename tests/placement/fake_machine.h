// Machines that nobody has to own.
#pragma once

#include <string>
#include <vector>

#include "placement/machine.h"

namespace evener::test {

struct MachineShape {
  int cores = 8;
  int threads_per_core = 1;
  int gpus = 0;
  double quota_cpus = 0;
  std::vector<std::string> features = {"avx2", "fma", "avx512f", "avx512_bf16"};
};

/// CPU i is the first thread of core i; CPU cores + i its second, as on most x86 machines.
placement::Machine fake_machine(const MachineShape& shape);

}  // namespace evener::test
