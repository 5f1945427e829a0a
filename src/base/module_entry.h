// Builds the ModuleEntry that base/module.h looks for. Included by the one file of a module that defines it.
#pragma once

#include "base/module.h"

namespace evener {

/// ModuleEntry::unusable_reason of a module that is usable whenever it could be opened. Modules of devices take it too,
/// for they must not ask their driver here: children of a process that has asked it can't use it, and replicas are
/// children. Whether a device exists is found out where devices are looked for (placement/machine.h), and when one is
/// opened.
inline const char* always_usable() {
  return "";
}

/// The entry of a module whose create() makes a `Made` and returns it as an `Interface*`.
template <class Interface, class Made>
constexpr ModuleEntry module_entry(const char* (*version)(), const char* (*unusable_reason)() = always_usable) {
  return {kModuleAbi, version, unusable_reason, [] { return static_cast<void*>(static_cast<Interface*>(new Made)); }};
}

}  // namespace evener

/// Defines the entry of a module, outside of anonymous namespaces: its interface, the class that implements it, and the
/// functions for module_entry().
#define EVENER_MODULE(Interface, Made, ...)                                                     \
  extern "C" {                                                                                  \
  extern const evener::ModuleEntry evener_module;                                               \
  const evener::ModuleEntry evener_module = evener::module_entry<Interface, Made>(__VA_ARGS__); \
  }                                                                                             \
  static_assert(true)
