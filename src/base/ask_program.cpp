#include "base/ask_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/child.h"
#include "base/descriptor.h"
#include "base/forked.h"
#include "base/own_program.h"
#include "base/stop.h"

namespace evener {
namespace {

constexpr const char* kAsked = "answer-another-process";  // the first word; then who asks, and the question
constexpr int kFirstOfQuestion = 3;
// The descriptor that the answer is written to. Standard output leads nowhere, since foreign libraries may write to it.
constexpr int kAnswerPipe = 3;

}  // namespace

std::string ask_program(const std::vector<std::string>& question, double limit_s) {
  std::vector<std::string> words = {"evener", kAsked, std::to_string(getpid())};
  words.insert(words.end(), question.begin(), question.end());
  Pipe pipe;
  // Not 3 itself, which would stay closed in the child as it is here: dup2() of 3 onto 3 changes nothing.
  Descriptor writer(fcntl(pipe.writer.get(), F_DUPFD_CLOEXEC, kAnswerPipe + 1));
  pipe.writer.close();
  const pid_t child =
      spawn(program_to_start().string(), words,
            {{STDIN_FILENO, -1}, {STDOUT_FILENO, -1}, {STDERR_FILENO, -1}, {kAnswerPipe, writer.get()}});
  writer.close();
  return await_answer(pipe.reader, child, limit_s, stop_requested);
}

std::optional<int> answer_if_asked(int argc, char** argv, const Answers& answers) {
  if (argc <= kFirstOfQuestion || std::string_view(argv[1]) != kAsked) return std::nullopt;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != argv[2]) return 1;  // the asking process died before the line above
  const auto answer = answers.find(argv[kFirstOfQuestion]);
  if (answer == answers.end()) return 1;
  const std::vector<std::string> words(argv + kFirstOfQuestion + 1, argv + argc);
  write_answer([&] { return answer->second(words); }, kAnswerPipe);
  std::_Exit(0);  // no destructor of a library that was opened has work to do
}

}  // namespace evener
