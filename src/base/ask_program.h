// Questions that are answered by a newly started process of the program evener. Unlike a forked child it inherits no
// threads, locks or libraries from the asking process, and a crash in it does no harm to that one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evener {

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
