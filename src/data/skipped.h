// Inputs that were left out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace evener::data {

/// An input that was left out, and why.
struct Skipped {
  std::string file;
  std::string reason;
};

/// Things that a note tells by their count and by the first of them.
struct FirstOf {
  std::size_t count = 0;
  std::string first;

  void add(const std::string& what) {
    if (count++ == 0) first = what;
  }
};

/// Runs `work`, and returns why it failed: what an Error says, or that there is not enough memory to do `what`, such as
/// "read it"; "" where it didn't fail. Interrupted passes through.
std::string failure_of(const std::function<void()>& work, const char* what);

/// The first few of `skipped` for a message, each after a line break; "" for none.
std::string first_skipped(const std::vector<Skipped>& skipped);

}  // namespace evener::data
