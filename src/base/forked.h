// A question answered in a child process, for libraries that leave the process they are asked in unfit to fork.
#pragma once

#include <functional>
#include <string>

namespace evener {

/// A week: for answers that take as long as the user's images do, so that only a child that hangs is ended.
constexpr double kLongestAnswer_s = 7 * 24 * 3600.0;

/// What `body` returned in a forked child, which does nothing else. Throws an exception of `body` again as UsageError,
/// Interrupted or Error, and Error when the child died or took longer than `limit_s`; then it is killed.
std::string in_child(const std::function<std::string()>& body, double limit_s = kLongestAnswer_s);

}  // namespace evener
