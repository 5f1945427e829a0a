// Modules: shared libraries opened at run time behind one factory function, so that the program starts in
// milliseconds and runs where a library is missing. Three refusals are kept apart: not built, not loadable, not usable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace evener {

enum class ModuleState { kUsable, kNotBuilt, kNotLoadable, kNotUsable };

/// Whether a module can be used; `reason` and `remedy` are empty when it can.
struct ModuleStatus {
  std::string name;  // "torch"
  ModuleState state = ModuleState::kNotBuilt;
  std::string reason;   // why not
  std::string remedy;   // what to do
  std::string version;  // of the library behind it, when usable
};

/// Every module exports one of these under the C name "evener_module".
struct ModuleEntry {
  int abi;                   // kModuleAbi it was built with
  const char* (*version)();  // version of the library behind it
  /// Why the module can't be used on this machine ("" = it can); called before `create`.
  const char* (*unusable_reason)();
  void* (*create)();  // the module's interface, e.g. an engine::Engine*; owned by the caller
};
constexpr int kModuleAbi = 1;

/// The folder of the shared library that contains this code; its modules and other files are in evener/ there.
std::filesystem::path library_folder();

/// Names of all modules that this source tree knows, built or not.
const std::vector<std::string>& known_modules();

/// Opens (once) and checks a module.
ModuleStatus module_status(const std::string& name);

/// The entry of a usable module; otherwise throws Error with the refusal, its reason and remedy.
const ModuleEntry& require_module(const std::string& name);

}  // namespace evener
