// A question answered in a child process, for libraries that leave the process they are asked in unfit to fork.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "base/message.h"

namespace evener {

/// A week: for answers that take as long as the user's images do, so that only a child that hangs is ended.
constexpr double kLongestAnswer_s = 7 * 24 * 3600.0;

/// What `body` returned in a forked child, which does nothing else. Throws an exception of `body` again as UsageError,
/// Interrupted or Error, and Error when the child died or took longer than `limit_s`; then it is killed. Where forks
/// are forbidden, `body` runs here, without a limit: what it changes stays.
std::string in_child(const std::function<std::string()>& body, double limit_s = kLongestAnswer_s);

/// The same of any value that a message holds (base/message.h), such as a struct that describe() shows.
template <typename Body>
auto answer_in_child(const Body& body, double limit_s = kLongestAnswer_s) {
  using Answer = std::invoke_result_t<Body>;
  return unpack_message<Answer>(in_child([&] { return pack_message(body()); }, limit_s),
                                "the answer of a child process");
}

/// From here on this process has threads that are not ours: of a program that uses the library, of OpenVINO. A forked
/// child has none of them, so that it would wait for good for what they do or for locks that they held. What needs a
/// process of its own all the same asks the program evener (base/ask_program.h).
void forbid_forks();
bool may_fork();

}  // namespace evener
