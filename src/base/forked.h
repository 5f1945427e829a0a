// Questions answered in a child process: a forked one, for libraries that leave the process they are asked in unfit to
// fork, or a newly started process of the program evener. Unlike a forked child, that one inherits no threads, locks or
// libraries from the asking process, and a crash in it does no harm to that one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/message.h"

namespace evener {

// How a child process answers its parent through a pipe, with a text or an exception. Inside base/ only.

/// In the child: runs `body` and writes its result, or its exception, into the pipe.
void write_answer(const std::function<std::string()>& body, int pipe);

/// In the parent: returns the answer when the child has ended. Rethrows what `body` threw as UsageError, Interrupted or
/// Error. Throws Error when the child died, or took longer than `limit_s` and was killed. `is_stopped` is asked often
/// and may be empty; once it returns true, the child is killed and Interrupted is thrown.
std::string await_answer(const Descriptor& pipe, pid_t child, double limit_s,
                         const std::function<bool()>& is_stopped = {});

/// A week: the default limit of answers that take as long as the user's images do. It only ends a child that hangs.
constexpr double kLongestAnswer_s = 7 * 24 * 3600.0;

/// Runs `body` in a forked child and returns its result. Rethrows an exception of `body` as UsageError, Interrupted or
/// Error, and throws Error when the child died, or took longer than `limit_s` and was killed. Where forks are
/// forbidden, `body` runs in this process, without a limit, and its side effects stay.
std::string in_child(const std::function<std::string()>& body, double limit_s = kLongestAnswer_s);

/// The same for a `body` that returns any type that a message can hold (base/message.h), such as a struct with
/// describe().
auto answer_in_child(const auto& body, double limit_s = kLongestAnswer_s) {
  return unpack_message<decltype(body())>(in_child([&] { return pack_message(body()); }, limit_s),
                                          "the answer of a child process");
}

/// Declares that from now on this process has threads that are not ours: of a program that uses the library, or of
/// OpenVINO. A forked child would have none of them, and would wait for ever for their work or for a lock that one of
/// them held. Work that needs a process of its own uses ask_program() then.
void forbid_forks();
bool may_fork();

/// Starts the program evener with `question`, such as {"accelerators", "cuda"} (the question's name and its arguments),
/// and returns the answer. Rethrows what the answering function threw as UsageError, Interrupted or Error. Throws Error
/// when the process died or took longer than `limit_s`, or when there is no program to start, and Interrupted when a
/// stop was requested.
std::string ask_program(const std::vector<std::string>& question, double limit_s);

/// By the name of a question, the function that answers it; it is given the question's arguments.
using Answers = std::map<std::string, std::function<std::string(const std::vector<std::string>&)>>;

/// For main(): where ask_program() started this process, answers and ends it or returns its exit code; otherwise
/// returns nothing.
std::optional<int> answer_if_asked(int argc, char** argv, const Answers& answers);

}  // namespace evener
