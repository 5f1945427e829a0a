#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/descriptor.h"
#include "measure/sensors/poller.h"

extern char** environ;

namespace evener::measure {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

class Command final : public Poller {
 public:
  Command(std::string command, double limit_s) : command_(std::move(command)), limit_s_(limit_s) {}
  ~Command() override { end(); }

  Answer poll(double wait_s) override {
    Answer answer;
    if (pid_ == 0 && !start(answer)) return answer;
    pollfd ready{output_.get(), POLLIN, 0};
    const double until_s = boot_now_s() + wait_s;
    while (!closed_) {
      const double left_s = std::max(0.0, until_s - boot_now_s());
      if (::poll(&ready, 1, static_cast<int>(left_s * 1000)) <= 0) break;
      char buffer[4096];
      const ssize_t size = ::read(output_.get(), buffer, sizeof buffer);
      if (size > 0 && text_.size() < kMostOutput) {
        text_.append(buffer, static_cast<std::size_t>(size));
        continue;
      }
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      closed_ = true;
      break;
    }
    if (closed_) {
      if (std::optional<Answer> whole = finish(until_s)) return *std::move(whole);
    }
    if (boot_now_s() - asked_s_ > limit_s_) {
      end();
      answer.error = fmt::format("'{}' took longer than {:g} s", command_, limit_s_);
    }
    return answer;
  }

 private:
  bool start(Answer& answer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      answer.error = fmt::format("'{}' can't be started: {}", command_, std::strerror(errno));
      return false;
    }
    output_ = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A process group of its own: Ctrl-C doesn't reach it, and a kill ends all that the command has started.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const char* const words[] = {"sh", "-c", command_.c_str(), nullptr};
    const int error = posix_spawn(&pid_, "/bin/sh", &files, &attributes, const_cast<char* const*>(words), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      pid_ = 0;
      answer.error = fmt::format("'{}' can't be started: {}", command_, std::strerror(error));
      return false;
    }
    text_.clear();
    closed_ = false;
    asked_s_ = boot_now_s();
    return true;
  }

  /// Called when the command has closed its output, and so will most likely end soon.
  std::optional<Answer> finish(double until_s) {
    Answer answer;
    int status = 0;
    constexpr useconds_t kSoon_us = 2000;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (boot_now_s() >= until_s) return std::nullopt;
      usleep(kSoon_us);
    }
    pid_ = 0;
    output_.close();
    answer.at_s = (asked_s_ + boot_now_s()) / 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text_.empty()) {
      answer.text = std::move(text_);
    } else {
      answer.error = WIFEXITED(status) ? fmt::format("'{}' ended with exit code {}{}", command_, WEXITSTATUS(status),
                                                     text_.empty() ? " and said nothing" : "")
                                       : fmt::format("'{}' was killed", command_);
    }
    return answer;
  }

  void end() {
    if (pid_ == 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
    output_.close();
  }

  const std::string command_;
  const double limit_s_;
  pid_t pid_ = 0;
  Descriptor output_;
  std::string text_;
  bool closed_ = false;
  double asked_s_ = 0;
};

}  // namespace

std::unique_ptr<Poller> ask_command(std::string command, double limit_s) {
  return std::make_unique<Command>(std::move(command), limit_s);
}

}  // namespace evener::measure
