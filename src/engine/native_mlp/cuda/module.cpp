// The module's entry, which base/module.h looks for.
#include <cuda.h>

#include "base/module_entry.h"
#include "engine/native_mlp/cuda/accelerator.h"

namespace evener::engine::native_mlp {
namespace {

class CudaAccelerators : public AcceleratorDriver {
 public:
  std::unique_ptr<Accelerator> open(int index) override { return open_cuda_device(index); }
};

const char* version() {
  static const std::string text =
      "CUDA " + std::to_string(CUDA_VERSION / 1000) + "." + std::to_string(CUDA_VERSION % 1000 / 10) + ", NVRTC";
  return text.c_str();
}
const char* unusable_reason() {
  static const std::string why = why_no_cuda();
  return why.c_str();
}

}  // namespace
}  // namespace evener::engine::native_mlp

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::engine::native_mlp::AcceleratorDriver, evener::engine::native_mlp::CudaAccelerators>(
        evener::engine::native_mlp::version, evener::engine::native_mlp::unusable_reason);
}
