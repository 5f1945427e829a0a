#include "base/ask_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/own_program.h"
#include "base/stop.h"

extern char** environ;

namespace evener {
namespace {

constexpr const char* kAsked = "answer-another-process";  // the first word; then who asks, and the question
constexpr int kFirstOfQuestion = 3;
// The descriptor that the answer is written to. Standard output leads nowhere, since foreign libraries may write to it.
constexpr int kAnswerPipe = 3;

class SpawnActions {
 public:
  /// The child has a process group of its own, so that a Ctrl-C at the terminal only reaches the asking process, which
  /// then ends the child.
  explicit SpawnActions(int pipe) {
    posix_spawn_file_actions_init(&files_);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&files_, standard, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_adddup2(&files_, pipe, kAnswerPipe);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

std::string ask_program(const std::vector<std::string>& question, double limit_s) {
  const std::string program = program_to_start().string(), asker = std::to_string(getpid());
  std::vector<const char*> words = {"evener", kAsked, asker.c_str()};
  for (const std::string& word : question) words.push_back(word.c_str());
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
  const Descriptor reader(ends[0]);
  // Not 3 itself, which would stay closed in the child as it is here: dup2() of 3 onto 3 changes nothing.
  Descriptor first(ends[1]);
  Descriptor writer(fcntl(first.get(), F_DUPFD_CLOEXEC, kAnswerPipe + 1));
  first.close();
  pid_t child = 0;
  const SpawnActions actions(writer.get());
  const int error = posix_spawn(&child, program.c_str(), actions.files(), actions.attributes(),
                                const_cast<char* const*>(words.data()), environ);
  if (error != 0) throw Error("can't start '" + program + "': " + std::strerror(error));
  writer.close();
  return await_answer(reader, child, limit_s, stop_requested);
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
