#include "base/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/stop.h"

namespace evener {
namespace {

constexpr std::chrono::milliseconds kLook{20};  // how often the child is looked at

/// Holds back SIGINT and SIGTERM: none may be lost in a child that has our handlers, but not yet its own program.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

/// In the child: lets SIGTERM through and keeps SIGINT blocked, also for the program that comes.
void take_only_sigterm() {
  signal(SIGTERM, SIG_DFL);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  sigdelset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

/// In the child, where only async-signal-safe calls are allowed; `report` gets the errno of a failure.
[[noreturn]] void become(const char* program, char** words, pid_t parent, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    take_only_sigterm();
    execv(program, words);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = write(report, &error, sizeof error);
  _exit(127);
}

[[noreturn]] void fail(const std::filesystem::path& program, int error) {
  throw Error("can't start '" + program.string() + "': " + std::strerror(error));
}

/// Starts the program; its exec closes the pipe, and a failed one writes why.
pid_t start(const std::filesystem::path& program, char** words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(program, errno);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t parent = getpid();
  pid_t child = -1;
  {
    const BlockedSignals blocked;
    child = fork();
    if (child == 0) become(program.c_str(), words, parent, writer.get());
  }
  if (child < 0) fail(program, errno);
  writer.close();
  int error = 0;
  ssize_t count = 0;
  while ((count = read(reader.get(), &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (count == 0) return child;
  waitpid(child, nullptr, 0);
  fail(program, error);
}

}  // namespace

std::string end_text(const ChildEnd& end) {
  if (end.signal == 0) return "exit code " + std::to_string(end.exit_code);
  return "signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
}

ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = start(program, pointers.data());
  bool told = false;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    if (stop_requested() && !told) {
      kill(child, SIGTERM);
      told = true;
    }
    std::this_thread::sleep_for(kLook);
  }
  return WIFEXITED(status) ? ChildEnd{WEXITSTATUS(status), 0} : ChildEnd{0, WTERMSIG(status)};
}

}  // namespace evener
