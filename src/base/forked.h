// A question answered in a child process, for libraries that leave the process they are asked in unfit to fork.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "base/message.h"

namespace evener {

/// A week: the default limit of answers that take as long as the user's images do. It only ends a child that hangs.
constexpr double kLongestAnswer_s = 7 * 24 * 3600.0;

/// Runs `body` in a forked child and returns its result. Rethrows an exception of `body` as UsageError, Interrupted or
/// Error, and throws Error when the child died, or took longer than `limit_s` and was killed. Where forks are
/// forbidden, `body` runs in this process, without a limit, and its side effects stay.
std::string in_child(const std::function<std::string()>& body, double limit_s = kLongestAnswer_s);

/// The same for a `body` that returns any type that a message can hold (base/message.h), such as a struct with
/// describe().
template <typename Body>
auto answer_in_child(const Body& body, double limit_s = kLongestAnswer_s) {
  using Answer = std::invoke_result_t<Body>;
  return unpack_message<Answer>(in_child([&] { return pack_message(body()); }, limit_s),
                                "the answer of a child process");
}

/// Declares that from now on this process has threads that are not ours: of a program that uses the library, or of
/// OpenVINO. A forked child would have none of them, and would wait for ever for their work or for a lock that one of
/// them held. Work that needs a process of its own uses base/ask_program.h then.
void forbid_forks();
bool may_fork();

}  // namespace evener
