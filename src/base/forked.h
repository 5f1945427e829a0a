// A question answered in a child process, for libraries that leave the process they are asked in unfit to fork.
#pragma once

#include <functional>
#include <string>

namespace evener {

/// What `body` returned in a forked child, which does nothing else. Throws an exception of `body` again as UsageError,
/// Interrupted or Error, and Error when the child died or took longer than `limit_s`; then it is killed.
std::string in_child(const std::function<std::string()>& body, double limit_s);

}  // namespace evener
