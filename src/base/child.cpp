#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/stop.h"

namespace evener {
namespace {

constexpr std::size_t kMostChildren = 512;
std::array<std::atomic<pid_t>, kMostChildren> children;  // 0 = a free place

/// Replaces the first `from` in the table by `to`.
void exchange(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& place : children) {
    pid_t expected = from;
    if (place.compare_exchange_strong(expected, to)) return;
  }
}

constexpr int kLook_ms = 20;         // how often the child is looked at
constexpr int kLooksUntilKill = 50;  // looks after SIGTERM before the child gets SIGKILL

/// In the child: unblocks SIGTERM and SIGUSR1 and keeps SIGINT blocked, also in the program that it becomes.
void take_no_sigint() {
  signal(SIGTERM, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  sigdelset(&mask, SIGTERM);
  sigdelset(&mask, SIGUSR1);
  sigaddset(&mask, SIGINT);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

/// In the child: becomes the program. Only async-signal-safe calls are allowed here; `report` gets the errno of a
/// failure.
[[noreturn]] void become(const char* program, char** words, char** environment, pid_t parent, int report,
                         int own_stderr, bool keep_stdout) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    if (!keep_stdout) dup2(nothing, STDOUT_FILENO);
    if (own_stderr >= 0) dup2(own_stderr, STDERR_FILENO);
    take_no_sigint();
    execve(program, words, environment);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = write(report, &error, sizeof error);
  _exit(127);
}

[[noreturn]] void fail(const std::filesystem::path& program, int error) {
  throw Error("can't start '" + program.string() + "': " + std::strerror(error));
}

/// The array of pointers for exec, with a null at its end; valid as long as `texts`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// This process's environment, with `changes`.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
  return all;
}

/// Starts the program. A successful exec closes the pipe; a failed one writes its errno into it.
pid_t start(const std::filesystem::path& program, char** words, char** environment, int own_stderr, bool keep_stdout) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(program, errno);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t parent = getpid();
  pid_t child = -1;
  {
    const BlockedStopSignals blocked;  // none may be lost in a child that has our handlers, but not yet its own program
    child = fork();
    if (child == 0) become(program.c_str(), words, environment, parent, writer.get(), own_stderr, keep_stdout);
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

/// Reads a child's stderr line by line; does nothing if `use` is empty.
class StderrLines {
 public:
  StderrLines(const std::filesystem::path& program, const std::function<void(const std::string&)>& use) : use_(use) {
    int ends[2];
    if (!use_) return;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) fail(program, errno);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
    fcntl(writer_.get(), F_SETFL, 0);  // the child's end blocks
  }

  int writer() const { return writer_.get(); }
  void close_writer() { writer_.close(); }

  void read_for(int limit_ms) {
    if (!reader_.valid()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(limit_ms));
      return;
    }
    pollfd polled{reader_.get(), POLLIN, 0};
    poll(&polled, 1, limit_ms);
    read_all();
  }

  /// Reads the rest without waiting for the pipe's end: processes that the child left behind may hold it open.
  void finish() {
    read_all();
    if (!rest_.empty()) use_(rest_);
  }

 private:
  void read_all() {
    char buffer[4096];
    while (reader_.valid()) {
      const ssize_t count = read(reader_.get(), buffer, sizeof buffer);
      if (count < 0) return;  // nothing yet
      if (count == 0) reader_.close();
      rest_.append(buffer, static_cast<std::size_t>(count));
      for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
        use_(rest_.substr(0, end));
        rest_.erase(0, end + 1);
      }
    }
  }

  const std::function<void(const std::string&)>& use_;
  Descriptor reader_, writer_;
  std::string rest_;
};

}  // namespace

void add_live_child(pid_t child) {
  exchange(0, child);
}

void remove_live_child(pid_t child) {
  exchange(child, 0);
}

std::vector<int> live_children() {
  std::vector<int> found;
  for (const std::atomic<pid_t>& place : children) {
    if (const pid_t child = place.load(); child != 0) found.push_back(child);
  }
  return found;
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (access(file.c_str(), X_OK) == 0) return file.string();
  }
  return std::nullopt;
}

std::string end_text(const ChildEnd& end) {
  if (end.signal == 0) return "exit code " + std::to_string(end.exit_code);
  return "signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
}

ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words,
                   const ChildOptions& options) {
  std::vector<char*> pointers = pointers_to(words);
  const std::vector<std::string> variables = environment_with(options.environment);
  std::vector<char*> environment = pointers_to(variables);
  StderrLines lines(program, options.on_stderr_line);
  const pid_t child = start(program, pointers.data(), environment.data(), lines.writer(), options.keep_stdout);
  add_live_child(child);
  lines.close_writer();
  bool told = false;
  int status = 0, looks_given_up = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    if (stop_requested() && !told) {
      kill(child, options.stop_signal);
      told = true;
    }
    if (options.give_up && (looks_given_up > 0 || options.give_up())) {
      if (looks_given_up == 0) kill(child, SIGTERM);
      if (looks_given_up++ == kLooksUntilKill) kill(child, SIGKILL);
    }
    lines.read_for(kLook_ms);
  }
  remove_live_child(child);
  lines.finish();
  return WIFEXITED(status) ? ChildEnd{WEXITSTATUS(status), 0} : ChildEnd{0, WTERMSIG(status)};
}

}  // namespace evener
