// The module's door: what base/module.h looks for.
#include "base/module.h"

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
/// Asks no driver: a process that has done so can't have children that use it, and replicas are children. Whether there
/// is a device shows in placement/opencl_loader.h, which asks in a child, and when one is opened.
const char* unusable_reason() {
  return "";
}
void* create() {
  return new OpenClDriver;
}

}  // namespace
}  // namespace evener::engine::native_mlp

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module = {evener::kModuleAbi, evener::engine::native_mlp::version,
                                           evener::engine::native_mlp::unusable_reason,
                                           evener::engine::native_mlp::create};
}
