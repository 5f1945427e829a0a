// What a child process was asked for, as its parent gets it through a pipe. Inside base/ only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/descriptor.h"

namespace evener {

/// In the child: writes into the pipe what `body` returns or throws.
void write_answer(const std::function<std::string()>& body, int pipe);

/// In the parent: waits for the answer and for the child's end. Throws what `body` threw as UsageError, Interrupted or
/// Error, and Error when the child died or took longer than `limit_s`, and then it is killed. `is_stopped`, asked
/// often, ends the child as well, with Interrupted; it may be empty.
std::string await_answer(const Descriptor& pipe, pid_t child, double limit_s,
                         const std::function<bool()>& is_stopped = {});

}  // namespace evener
