// The child processes that this one is waiting for: what they compute is its own doing, though the kernel counts it as
// such only once they were waited for.
#pragma once

#include <sys/types.h>

#include <vector>

namespace evener {

/// Whoever forks a child to wait for it says so, and again when it was waited for. Without locks: a child that is
/// forked meanwhile may do the same. More than some hundred at a time are not kept.
void add_live_child(pid_t child);
void remove_live_child(pid_t child);

std::vector<int> live_children();

}  // namespace evener
