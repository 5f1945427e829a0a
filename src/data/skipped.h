// Inputs that were left out.
#pragma once

#include <string>

namespace evener::data {

/// An input that was left out, and why.
struct Skipped {
  std::string file;
  std::string reason;
};

}  // namespace evener::data
