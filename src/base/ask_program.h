// Questions that a process of its own answers, which begins anew: whatever threads and libraries the asking process
// has, and whatever the answering one ends by.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evener {

/// What the program evener answers to `question`, the name of one and what it is about: "accelerators", "cuda". Throws
/// what the answering function threw as UsageError, Interrupted or Error, Error when the process died, took longer than
/// `limit_s`, or when there is no program, and Interrupted when the work is to stop.
std::string ask_program(const std::vector<std::string>& question, double limit_s);

/// Answers to the words of a question behind its name.
using Answers = std::map<std::string, std::function<std::string(const std::vector<std::string>&)>>;

/// For main(): answers, where this process was started by ask_program(), and returns its exit code.
std::optional<int> answer_if_asked(int argc, char** argv, const Answers& answers);

}  // namespace evener
