// Real data for tests, beside the repository. Header only, so that the tests of every room can use it.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "base/paths.h"

namespace evener::test {

inline std::filesystem::path real_data(const std::string& name) {
  return (source_folder() / "../shared/data" / name).lexically_normal();
}

/// Why a test that needs all of them is skipped; "" where they are there.
inline std::string without_real_data(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::filesystem::exists(real_data(name))) continue;
    return "needs real data in " + real_data(name).string() +
           ", which a checkout doesn't have: where others have put it, this test runs";
  }
  return "";
}

}  // namespace evener::test
