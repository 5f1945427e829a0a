// Inputs that were left out.
#pragma once

#include <string>
#include <vector>

namespace evener::data {

/// An input that was left out, and why.
struct Skipped {
  std::string file;
  std::string reason;
};

/// The first few of `skipped` for a message, each after a line break; "" for none.
std::string first_skipped(const std::vector<Skipped>& skipped);

}  // namespace evener::data
