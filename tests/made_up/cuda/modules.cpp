// Modules and kernels: what the made-up NVRTC compiled, run group by group.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "made_up/cuda/driver.h"
#include "made_up/cuda/fibres.h"
#include "made_up/cuda/image.h"

namespace made_up::cuda {
namespace {

/// A shared object. Its indices and its shared memory are one set, so one group of it runs at a time.
class Module {
 public:
  explicit Module(const std::string& object) {
    file_ = memfd_create("made_up_module", MFD_CLOEXEC);
    if (file_ < 0 || write(file_, object.data(), object.size()) != static_cast<ssize_t>(object.size())) {
      throw std::runtime_error("no file for a module");
    }
    // The file stays open with its number: the name tells loaded objects apart.
    library_ = dlopen(("/proc/self/fd/" + std::to_string(file_)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    for (auto& [place, name] :
         {std::pair{&item_, "threadIdx"}, {&group_, "blockIdx"}, {&items_, "blockDim"}, {&groups_, "gridDim"}}) {
      *place = static_cast<Place*>(dlsym(library_, name));
    }
    shared_begin_ = *static_cast<std::byte**>(dlsym(library_, "made_up_shared_begin"));
    shared_end_ = *static_cast<std::byte**>(dlsym(library_, "made_up_shared_end"));
    *static_cast<void (**)(int)>(dlsym(library_, "made_up_barrier")) = &barrier;
  }
  ~Module() {
    dlclose(library_);
    close(file_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const KernelEntry* kernel(const std::string& name) const {
    const auto* entry = static_cast<const KernelEntry*>(dlsym(library_, "made_up_kernels"));
    while (entry->name != nullptr && name != entry->name) ++entry;
    return entry->name != nullptr ? entry : nullptr;
  }

  /// Every other time groups and their items come in the opposite order: no order is promised.
  void run(const KernelEntry& kernel, const Place& groups, const Place& items, std::vector<void*>& values) {
    const std::lock_guard lock(mutex_);
    backwards_ = !backwards_;
    *groups_ = groups;
    *items_ = items;
    const unsigned count = groups.x * groups.y * groups.z;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned group = backwards_ ? count - 1 - i : i;
      *group_ = {group % groups.x, group / groups.x % groups.y, group / groups.x / groups.y};
      std::fill(reinterpret_cast<float*>(shared_begin_), reinterpret_cast<float*>(shared_end_),
                std::numeric_limits<float>::quiet_NaN());
      const auto enter = [&](int number) {
        const auto item = static_cast<unsigned>(number);
        *item_ = {item % items.x, item / items.x % items.y, item / items.x / items.y};
      };
      run_group(static_cast<int>(items.x * items.y * items.z), backwards_, enter, [&] { kernel.run(values.data()); });
    }
  }

 private:
  int file_ = -1;
  void* library_ = nullptr;
  Place *item_ = nullptr, *group_ = nullptr, *items_ = nullptr, *groups_ = nullptr;
  std::byte *shared_begin_ = nullptr, *shared_end_ = nullptr;
  bool backwards_ = true;
  std::mutex mutex_;
};

struct Kernel {
  std::shared_ptr<Module> module;
  const KernelEntry* entry = nullptr;
};

Handles<Module>& modules() {
  static auto* all = new Handles<Module>;
  return *all;
}
Handles<Kernel>& kernels() {
  static auto* all = new Handles<Kernel>;
  return *all;
}

/// CUBIN runs on its own generation alone, PTX on newer ones too, if the driver is as new as its compiler.
CUresult why_not_loadable(const Image& image) {
  int major = 0, minor = 0, version = 0;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  cuDriverGetVersion(&version);
  const int own = 10 * major + minor;
  if (image.is_ptx) {
    if (image.cuda_version > version) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    return image.capability <= own ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  const bool runs = image.capability / 10 == major && image.capability <= own;
  return runs ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/// The values of a launch, kept until it is done.
struct Launch {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Module> module;
  Place groups{}, items{};
  std::vector<std::vector<std::byte>> values;
};

/// What stands against the pointers among the values; "" if they are the card's memory.
std::string wrong_pointer(const Launch& launch, int device) {
  const KernelEntry& entry = *launch.kernel->entry;
  for (int i = 0; i < entry.parameter_count; ++i) {
    if (entry.parameters[i].kind != 'p') continue;
    const void* address = nullptr;
    std::memcpy(&address, launch.values[static_cast<std::size_t>(i)].data(), sizeof address);
    if (card_of(address) != device) {
      return "parameter " + std::to_string(i + 1) + " of " + entry.name + " is no memory of the card";
    }
  }
  return "";
}

void do_launch(const Launch& launch, Context& context) {
  const KernelEntry& entry = *launch.kernel->entry;
  if (const std::string wrong = wrong_pointer(launch, context.device); !wrong.empty()) {
    return fail_later(context, CUDA_ERROR_ILLEGAL_ADDRESS, wrong + " any more");
  }
  auto copies = launch.values;
  std::vector<void*> values;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (entry.parameters[i].kind == 'p') {
      void* address = nullptr;
      std::memcpy(&address, copies[i].data(), sizeof address);
      address = for_work(address);
      std::memcpy(copies[i].data(), &address, sizeof address);
    }
    values.push_back(copies[i].data());
  }
  try {
    launch.module->run(entry, launch.groups, launch.items, values);
  } catch (const std::exception& error) {
    fail_later(context, CUDA_ERROR_LAUNCH_FAILED, std::string(entry.name) + ": " + error.what());
  }
}

bool fits(const Place& groups, const Place& items, const KernelEntry& entry) {
  constexpr unsigned kMostGroups = 65535, kMostItems = 1024, kMostItemsDeep = 64;
  constexpr unsigned kMostGroupsAcross = std::numeric_limits<int>::max();
  if (groups.x == 0 || groups.y == 0 || groups.z == 0 || items.x == 0 || items.y == 0 || items.z == 0) return false;
  if (groups.x > kMostGroupsAcross || groups.y > kMostGroups || groups.z > kMostGroups) return false;
  if (items.x > kMostItems || items.y > kMostItems || items.z > kMostItemsDeep) return false;
  const unsigned most = entry.most_items != 0 ? static_cast<unsigned>(entry.most_items) : kMostItems;
  return items.x * items.y * items.z <= std::min(most, kMostItems);
}

}  // namespace
}  // namespace made_up::cuda

using namespace made_up::cuda;

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* data) {
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  try {
    const Image image = read_image(data);
    if (const CUresult code = why_not_loadable(image); code != CUDA_SUCCESS) return code;
    count(image.is_ptx ? "loads of PTX" : "loads of CUBIN");
    *module = static_cast<CUmodule>(modules().add(std::make_shared<Module>(image.object)));
    return CUDA_SUCCESS;
  } catch (const std::exception&) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
}

CUresult cuModuleUnload(CUmodule module) {
  if (const CUresult code = begin_unsafe_call(); code != CUDA_SUCCESS) return code;
  return modules().take(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  const auto module = modules().find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const KernelEntry* entry = module->kernel(name);
  if (entry == nullptr) return CUDA_ERROR_NOT_FOUND;
  auto kernel = std::make_shared<Kernel>();
  kernel->module = module;
  kernel->entry = entry;
  *function = static_cast<CUfunction>(kernels().add(kernel));
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x,
                        unsigned items_y, unsigned items_z, unsigned shared_bytes, CUstream handle, void** values,
                        void** extra) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_call(handle, code);
  if (!stream) return code;
  Launch launch;
  launch.kernel = kernels().find(function);
  if (!launch.kernel) return CUDA_ERROR_INVALID_HANDLE;
  launch.module = launch.kernel->module;
  launch.groups = {groups_x, groups_y, groups_z};
  launch.items = {items_x, items_y, items_z};
  const KernelEntry& entry = *launch.kernel->entry;
  if (shared_bytes != 0 || extra != nullptr || !fits(launch.groups, launch.items, entry))
    return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < entry.parameter_count; ++i) {
    if (values[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;  // fewer than the kernel has
    const auto* value = static_cast<const std::byte*>(values[i]);
    launch.values.emplace_back(value, value + entry.parameters[i].bytes);
  }
  Context& context = stream->context;
  if (const std::string wrong = wrong_pointer(launch, context.device); !wrong.empty()) {
    fail_later(context, CUDA_ERROR_ILLEGAL_ADDRESS, wrong);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  count(std::string("launches of ") + entry.name);
  stream->stream.queue([launch, &context] { do_launch(launch, context); });
  return CUDA_SUCCESS;
}

}  // extern "C"
