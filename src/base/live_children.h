// The child processes that this one is waiting for. Their CPU time belongs to this process's work, but the kernel adds
// it to this process's only after they have ended and were waited for.
#pragma once

#include <sys/types.h>

#include <vector>

namespace evener {

/// To be called after forking a child that will be waited for, with remove_live_child() after the wait. Takes no locks,
/// since a child that is forked meanwhile may call it too. Children beyond some hundred at a time are not kept.
void add_live_child(pid_t child);
void remove_live_child(pid_t child);

std::vector<int> live_children();

}  // namespace evener
