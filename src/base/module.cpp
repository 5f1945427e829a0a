#include "base/module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/cpu.h"
#include "base/names.h"
#include "base/web.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

struct KnownModule {
  const char* name;
  const char* cmake_option;
  const char* headers = nullptr;  // the Debian package without which it isn't built, where it is an optional one
};
constexpr KnownModule kModules[] = {{"torch", "EVENER_TORCH"},
                                    {"torch_cuda", "EVENER_TORCH"},
                                    {"openvino", "EVENER_OPENVINO"},
                                    {"native", "EVENER_NATIVE"},
                                    {"native_opencl", "EVENER_NATIVE"},
                                    {"native_cuda", "EVENER_NATIVE"},
                                    {"fetch", "EVENER_FETCH"},
                                    {"http", "EVENER_HTTP"},
                                    {"mpi", "EVENER_MPI"},
                                    {"onnx", "EVENER_ONNX"},
                                    {"heif", "EVENER_PHOTOS", "libheif-dev"},
                                    {"avif", "EVENER_PHOTOS", "libavif-dev"},
                                    {"jxl", "EVENER_PHOTOS", "libjxl-dev"},
                                    {"raw", "EVENER_PHOTOS", "libraw-dev"},
                                    {"tiff", "EVENER_PHOTOS", "libtiff-dev"}};

struct OpenedModule {
  ModuleStatus status;
  const ModuleEntry* entry = nullptr;  // nullptr unless usable
};

// Its address tells which file this code was loaded from. (A function's could be that of the program's jump table.)
const char own_symbol = 0;

// Modules lie beside the library that this code is in, or where EVENER_MODULE_DIR says.
fs::path module_folder() {
  if (const char* folder = std::getenv("EVENER_MODULE_DIR"); folder && *folder) return folder;
  return library_folder() / "evener" / "modules";
}

const KnownModule& known_module(const std::string& name) {
  for (const KnownModule& module : kModules) {
    if (name == module.name) return module;
  }
  throw Error(unknown_name_message("module", name, known_modules()));
}

// Libraries that only some users need, which packages of evener therefore don't depend on, and the Debian packages that
// contain them. Of those that end with a dot the number of the interface is part of the package's name.
constexpr std::pair<std::string_view, std::string_view> kOptionalLibraries[] = {
    {"libmpi.so", "libopenmpi3"}, {"libOpenCL.so", "ocl-icd-libopencl1"},
    {"libheif.so.", "libheif"},   {"libavif.so.", "libavif"},
    {"libjxl.so.", "libjxl"},     {"libraw_r.so.", "libraw"}};

bool is_built_by_its_user() {
  std::error_code ignored;
  return fs::exists(library_folder().parent_path() / "CMakeCache.txt", ignored);
}

// The Debian package of an optional library "libheif.so.1"; "" for others.
std::string optional_package(std::string_view library) {
  for (const auto& [beginning, package] : kOptionalLibraries) {
    if (!library.starts_with(beginning)) continue;
    return std::string(package) + std::string(beginning.ends_with('.') ? library.substr(beginning.size()) : "");
  }
  return "";
}

// The advice `where_it_was_built` where the program was built by its user, other advice in a package. `missing`: a
// library that wasn't found.
std::string advice(const std::string& where_it_was_built, std::string_view missing = {}) {
  const std::string package = optional_package(missing);
  if (!package.empty()) return "if you need it, install it (Debian: " + package + ")";
  return is_built_by_its_user() ? where_it_was_built : "install evener again, with the packages that it depends on";
}

std::string advice_to_build(const KnownModule& module) {
  if (module.headers == nullptr) {
    return advice("run './evener setup', or configure with -D" + std::string(module.cmake_option) + "=ON and build");
  }
  const std::string package = std::string("the library that it needs (Debian: ") + module.headers + ")";
  return is_built_by_its_user() ? "install " + package + ", then run './evener setup'"
                                : "build evener on a machine that has " + package;
}

void refuse(ModuleStatus& status, ModuleState state, std::string reason, std::string remedy) {
  status.state = state;
  status.reason = std::move(reason);
  status.remedy = std::move(remedy);
}

// dlopen's texts: "libx.so.1: cannot open shared object file: No such file or directory" for a missing library,
// "/path/module.so: undefined symbol: name" and the like otherwise.
void refuse_to_load(ModuleStatus& status, const fs::path& file, const std::string& error) {
  constexpr std::size_t kLongestReason = 300;
  const auto missing = error.find(": cannot open shared object file");
  if (missing != std::string::npos && error.substr(0, missing) != file.string()) {
    const std::string library = error.substr(0, missing);
    refuse(status, ModuleState::kNotLoadable, "the library '" + library + "' that it needs was not found",
           advice("run './evener setup' to fetch what is missing", library));
    return;
  }
  if (error.find("failed to map segment") != std::string::npos && error.find("not permitted") == std::string::npos) {
    refuse(status, ModuleState::kNotLoadable, "there is not enough memory for it (" + error + ")", memory_advice());
    return;
  }
  std::string reason = error.starts_with(file.string() + ": ") ? error.substr(file.string().size() + 2) : error;
  if (reason.size() > kLongestReason) reason = reason.substr(0, kLongestReason) + " ...";
  refuse(status, ModuleState::kNotLoadable, file.filename().string() + ": " + reason,
         "the module and the libraries that it needs do not fit together; " +
             advice("run './evener setup' to build it again"));
}

void check_entry(const KnownModule& known, OpenedModule& module) {
  ModuleStatus& status = module.status;
  if (module.entry->abi != kModuleAbi) {
    refuse(status, ModuleState::kNotLoadable,
           "it was built for version " + std::to_string(module.entry->abi) +
               " of the module interface, this program has " + std::to_string(kModuleAbi),
           advice("build it again together with the program: './evener setup'"));
    return;
  }
  std::string reason;
  try {
    reason = module.entry->unusable_reason();
    if (reason.empty()) status.version = module.entry->version();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  if (!reason.empty()) {
    const bool lacks_library = known.headers != nullptr;
    refuse(status, ModuleState::kNotUsable, reason,
           lacks_library ? "install what is missing" : "use another engine or device on this machine");
    return;
  }
  status.state = ModuleState::kUsable;
}

OpenedModule open_module(const KnownModule& known, const fs::path& file) {
  OpenedModule module;
  module.status.name = known.name;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    refuse(module.status, ModuleState::kNotBuilt, "there is no '" + file.string() + "'", advice_to_build(known));
    return module;
  }
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open: code of it may run until the end
  if (!handle) {
    const char* error = dlerror();
    refuse_to_load(module.status, file, error ? error : "unknown error");
    return module;
  }
  module.entry = static_cast<const ModuleEntry*>(dlsym(handle, "evener_module"));
  if (!module.entry) {
    refuse_to_load(module.status, file, "it has no symbol 'evener_module', so it is not a module of this program");
    return module;
  }
  check_entry(known, module);
  if (module.status.state != ModuleState::kUsable) module.entry = nullptr;
  return module;
}

// Opens each file once in the life of the process.
const OpenedModule& opened(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, OpenedModule> modules;  // by file
  const KnownModule& known = known_module(name);
  const fs::path file = module_folder() / ("libevener_" + name + ".so");
  const std::lock_guard lock(mutex);
  const auto found = modules.find(file.string());
  if (found != modules.end()) return found->second;
  return modules.emplace(file.string(), open_module(known, file)).first->second;
}

const char* state_text(ModuleState state) {
  return name_in({"is usable", "is not built", "can't be loaded", "can't be used on this machine"}, state);
}

}  // namespace

fs::path library_folder() {
  Dl_info info{};
  if (dladdr(&own_symbol, &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  return (error ? fs::path(info.dli_fname) : library).parent_path();
}

const std::vector<std::string>& known_modules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const KnownModule& module : kModules) result.emplace_back(module.name);
    return result;
  }();
  return names;
}

ModuleStatus module_status(const std::string& name) {
  return opened(name).status;
}

// Created once and never destroyed, since its code may run until the end of the process.
Web& web() {
  static Web* const instance = static_cast<Web*>(require_module("fetch").create());
  return *instance;
}

const ModuleEntry& require_module(const std::string& name) {
  const OpenedModule& module = opened(name);
  if (module.entry) return *module.entry;
  const ModuleStatus& status = module.status;
  throw Error("the module '" + name + "' " + state_text(status.state) + ": " + status.reason + "; " + status.remedy);
}

}  // namespace evener
