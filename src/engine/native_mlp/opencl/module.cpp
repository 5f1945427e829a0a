// The module's entry, which base/module.h looks for.
#include "base/module_entry.h"
#include "engine/native_mlp/opencl/accelerator.h"

namespace evener::engine::native_mlp {
namespace {

class OpenClDriver : public AcceleratorDriver {
 public:
  std::unique_ptr<Accelerator> open(int index) override { return open_opencl_device(index); }
};

const char* version() {
  return "OpenCL 1.2 or newer";
}

}  // namespace
}  // namespace evener::engine::native_mlp

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::engine::native_mlp::AcceleratorDriver, evener::engine::native_mlp::OpenClDriver>(
        evener::engine::native_mlp::version);
}
