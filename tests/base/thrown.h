// The message of what a piece of work throws.
#pragma once

#include <string>

#include "base/error.h"

namespace evener::test {

/// The message of the E that `work` throws; `otherwise` where it throws nothing.
template <class E = Error>
std::string thrown_by(auto&& work, const std::string& otherwise = "nothing was thrown") {
  try {
    work();
  } catch (const E& error) {
    return error.what();
  }
  return otherwise;
}

}  // namespace evener::test
