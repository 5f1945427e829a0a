// The door of a module, as base/module.h looks for it: for the one file of a module that defines it.
#pragma once

#include "base/module.h"

namespace evener {

/// For a module that nothing speaks against once it could be opened. Modules of devices take it too: a process that has
/// asked a driver can't have children that use it, and replicas are children. Whether there is a device shows where
/// devices are looked for (placement/machine.h), and when one is opened.
inline const char* always_usable() {
  return "";
}

/// The entry of a module that gives out an `Interface`, of which `Made` is the one that it makes.
template <class Interface, class Made>
constexpr ModuleEntry module_entry(const char* (*version)(), const char* (*unusable_reason)() = always_usable) {
  return {kModuleAbi, version, unusable_reason, [] { return static_cast<void*>(static_cast<Interface*>(new Made)); }};
}

}  // namespace evener
