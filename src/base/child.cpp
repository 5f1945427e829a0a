#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
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
#include <utility>

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

ChildEnd end_of(int status) {
  return WIFEXITED(status) ? ChildEnd{WEXITSTATUS(status), 0} : ChildEnd{0, WTERMSIG(status)};
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
  Pipe report;
  const pid_t parent = getpid();
  pid_t child = -1;
  {
    const BlockedStopSignals blocked;  // none may be lost in a child that has our handlers, but not yet its own program
    child = fork();
    if (child == 0) become(program.c_str(), words, environment, parent, report.writer.get(), own_stderr, keep_stdout);
  }
  if (child < 0) fail(program, errno);
  report.writer.close();
  int error = 0;
  ssize_t count = 0;
  while ((count = read(report.reader.get(), &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (count == 0) return child;
  waitpid(child, nullptr, 0);
  fail(program, error);
}

/// Reads a child's stderr line by line; does nothing if `use` is empty.
class StderrLines {
 public:
  explicit StderrLines(const std::function<void(const std::string&)>& use) : use_(use) {
    if (!use_) return;
    Pipe pipe;
    reader_ = std::move(pipe.reader);
    writer_ = std::move(pipe.writer);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);  // the child's end blocks
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

ChildEnd await_end(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  remove_live_child(child);
  return end_of(status);
}

pid_t spawn(const std::string& program, const std::vector<std::string>& words, const std::map<int, int>& ours) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  for (const auto& [its, from] : ours) {
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&files, from, its);
    } else {
      posix_spawn_file_actions_addopen(&files, its, "/dev/null", O_RDWR, 0);
    }
  }
  sigset_t none, pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);  // a program whose reader is gone ends
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &files, &attributes, pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(program, error);
  return child;
}

ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words,
                   const ChildOptions& options) {
  std::vector<char*> pointers = pointers_to(words);
  const std::vector<std::string> variables = environment_with(options.environment);
  std::vector<char*> environment = pointers_to(variables);
  StderrLines lines(options.on_stderr_line);
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
  return end_of(status);
}

}  // namespace evener
