// Whether a test that needs a module can run. Header only, so that the tests of every room can use it.
#pragma once

#include <filesystem>
#include <string>

#include "base/module.h"

namespace evener::test {

/// Whether this build has the module. It isn't opened, as module_status() would: that takes longer than many a test.
inline bool module_is_built(const std::string& name) {
  return std::filesystem::exists(library_folder() / "evener" / "modules" / ("libevener_" + name + ".so"));
}

}  // namespace evener::test
