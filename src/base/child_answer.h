// How a child process answers its parent through a pipe, with a text or an exception. Inside base/ only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/descriptor.h"

namespace evener {

/// In the child: runs `body` and writes its result, or its exception, into the pipe.
void write_answer(const std::function<std::string()>& body, int pipe);

/// In the parent: returns the answer when the child has ended. Rethrows what `body` threw as UsageError, Interrupted or
/// Error. Throws Error when the child died, or took longer than `limit_s` and was killed. `is_stopped` is asked often
/// and may be empty; once it returns true, the child is killed and Interrupted is thrown.
std::string await_answer(const Descriptor& pipe, pid_t child, double limit_s,
                         const std::function<bool()>& is_stopped = {});

}  // namespace evener
