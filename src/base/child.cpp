#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

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

constexpr int kStopLook_ms = 100;        // how often a stop is looked for
constexpr int kPipeBytes = 1 << 20;      // of room, so that the two processes wait for each other less often
constexpr std::size_t kMostKept = 4096;  // bytes of messages
constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kMostUnread = 64 << 20;  // bytes of stderr, while stdout is waited for

[[noreturn]] void throw_errno(const std::string& what) {
  throw Error(what + ": " + std::strerror(errno));
}

/// Ours, and the program's; its number is above those that it will have, since dup2() onto itself keeps it closed.
struct Ends {
  Descriptor ours, theirs;
};

Ends make_ends(Descriptor ours, const Descriptor& low) {
  Ends ends{std::move(ours), Descriptor()};
  ends.theirs = Descriptor(::fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!ends.theirs.valid()) throw_errno("can't make a pipe");
  ::fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

Ends make_pipe(int room) {
  Pipe pipe;
  if (room > 0) ::fcntl(pipe.reader.get(), F_SETPIPE_SZ, room);  // else it is as small as it was
  return make_ends(std::move(pipe.reader), std::move(pipe.writer));
}

/// A socket, since writing to a pipe that nobody reads is a signal.
Ends make_socket() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("can't make a socket");
  const int room = kPipeBytes;
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return make_ends(Descriptor(ends[0]), Descriptor(ends[1]));
}

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

PipedChild::PipedChild(const std::vector<std::string>& words, const PipedChildOptions& options)
    : name_(words.front()), options_(options) {
  Ends input, output = make_pipe(kPipeBytes), errors = make_pipe(0);
  if (options.has_input) input = make_socket();
  child_ = spawn(
      name_, words,
      {{STDIN_FILENO, input.theirs.get()}, {STDOUT_FILENO, output.theirs.get()}, {STDERR_FILENO, errors.theirs.get()}});
  add_live_child(child_);
  if (options.memory_bytes > 0) {
    const rlimit limit{options.memory_bytes, options.memory_bytes};
    ::prlimit(child_, RLIMIT_DATA, &limit, nullptr);
  }
  input_ = std::move(input.ours);
  stdout_.descriptor = std::move(output.ours);
  stderr_.descriptor = std::move(errors.ours);
}

PipedChild::~PipedChild() {
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  await_end(child_);
}

/// Takes what the program has written to stderr, since it waits where that is full.
void PipedChild::read_messages() {
  char buffer[4096];
  std::string& text = stderr_.rest;
  while (stderr_.descriptor.valid()) {
    const ssize_t count = ::read(stderr_.descriptor.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // nothing yet
    if (count == 0) stderr_.descriptor.close();
    text.append(buffer, static_cast<std::size_t>(count));
    if (!options_.reads_errors && text.size() > kMostKept) text.erase(0, text.size() - kMostKept);
    if (text.size() > kMostUnread) throw Error(name_ + " writes messages without end");
  }
}

void PipedChild::wait_for(int descriptor, short events) {
  const Stopwatch clock;
  for (;;) {
    if (stopped_ || stop_requested()) throw Interrupted("stopped while waiting for " + name_);
    pollfd wanted[] = {{descriptor, events, 0}, {stderr_.descriptor.get(), POLLIN, 0}};
    const int ready = ::poll(wanted, 2, kStopLook_ms);
    read_messages();
    if (ready > 0 && wanted[0].revents != 0) return;
    if (options_.silence_s > 0 && clock.seconds() > options_.silence_s) {
      throw Error(name_ + " did nothing for " + std::to_string(std::lround(options_.silence_s)) + " s");
    }
  }
}

void PipedChild::wait_after_error(const Stream& from) {
  if (errno == EAGAIN) {
    wait_for(from.descriptor.get(), POLLIN);
  } else if (errno != EINTR) {
    throw_errno(name_ + " can't be read");
  }
}

std::size_t PipedChild::read_some(Stream& from, std::span<char> target) {
  for (;;) {
    if (const std::size_t left = from.rest.size() - from.at; left > 0) {
      const std::size_t count = std::min(left, target.size());
      std::copy_n(from.rest.data() + from.at, count, target.data());
      from.at += count;
      return count;
    }
    if (!from.descriptor.valid()) return 0;
    const ssize_t count = ::read(from.descriptor.get(), target.data(), target.size());
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) from.descriptor.close();
    if (count < 0) wait_after_error(from);
  }
}

std::size_t PipedChild::read(Output output, std::span<char> target) {
  std::size_t done = 0;
  while (done < target.size()) {
    const std::size_t count = read_some(stream(output), target.subspan(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

bool PipedChild::read_line(Output output, std::string& line) {
  Stream& from = stream(output);
  for (;;) {
    if (const auto end = from.rest.find('\n', from.at); end != std::string::npos) {
      line = from.rest.substr(from.at, end - from.at);
      from.at = end + 1;
      return true;
    }
    from.rest.erase(0, from.at);
    from.at = 0;
    if (from.rest.size() > kLongestLine) throw Error(name_ + " gives what isn't understood");
    if (!from.descriptor.valid()) return false;
    char buffer[4096];
    const ssize_t count = ::read(from.descriptor.get(), buffer, sizeof buffer);
    if (count > 0) from.rest.append(buffer, static_cast<std::size_t>(count));
    if (count == 0) from.descriptor.close();
    if (count < 0) wait_after_error(from);
  }
}

void PipedChild::write(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      wait_for(input_.get(), POLLOUT);
    } else if (errno != EINTR) {
      throw_errno(name_ + " takes no more");
    }
  }
}

ChildEnd PipedChild::finish() {
  input_.close();
  stdout_.descriptor.close();
  while (stderr_.descriptor.valid()) wait_for(stderr_.descriptor.get(), POLLIN);
  if (child_ != 0) end_ = await_end(std::exchange(child_, 0));
  return end_;
}

}  // namespace evener
