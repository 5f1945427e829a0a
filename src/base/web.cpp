#include "base/web.h"

#include "base/module.h"

namespace evener {

// Created once and never destroyed, since its code may run until the end of the process.
Web& web() {
  static Web* const instance = static_cast<Web*>(require_module("fetch").create());
  return *instance;
}

}  // namespace evener
