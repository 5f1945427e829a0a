#include "base/live_children.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace evener {
namespace {

constexpr std::size_t kMostChildren = 512;
std::array<std::atomic<pid_t>, kMostChildren> children;  // 0 = a free place

/// Replaces the first `from` in the table by `to`.
void exchange(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& place : children) {
    pid_t expected = from;
    if (place.compare_exchange_strong(expected, to)) return;
  }
}

}  // namespace

void add_live_child(pid_t child) {
  exchange(0, child);
}

void remove_live_child(pid_t child) {
  exchange(child, 0);
}

std::vector<int> live_children() {
  std::vector<int> found;
  for (const std::atomic<pid_t>& place : children) {
    if (const pid_t child = place.load(); child != 0) found.push_back(child);
  }
  return found;
}

}  // namespace evener
