#include "base/forked.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/child.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/live_children.h"

namespace evener {
namespace {

// What the child's words begin with.
constexpr char kAnswer = 'a', kFailure = 'f', kUsage = 'u', kInterrupted = 'i';

/// Ends without destructors: they are the parent's.
[[noreturn]] void answer(const std::function<std::string()>& body, int pipe) {
  std::string words;
  try {
    words = kAnswer + body();
  } catch (const UsageError& error) {
    words = std::string(1, kUsage) + error.what();
  } catch (const Interrupted& error) {
    words = std::string(1, kInterrupted) + error.what();
  } catch (const std::exception& error) {
    words = std::string(1, kFailure) + error.what();
  }
  for (std::size_t at = 0; at < words.size();) {
    const ssize_t written = write(pipe, words.data() + at, words.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

/// All that comes until the other end is closed; false when that takes too long.
bool read_all(int pipe, double limit_s, std::string& words) {
  const Stopwatch clock;
  while (true) {
    const double left_s = limit_s - clock.seconds();
    pollfd polled{pipe, POLLIN, 0};
    const int ready = left_s > 0 ? poll(&polled, 1, static_cast<int>(std::ceil(left_s * 1e3))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    words.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string in_child(const std::function<std::string()>& body, double limit_s) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  std::fflush(nullptr);  // or the child writes it again
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(std::string("can't start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before the line above
    answer(body, writer.get());
  }
  add_live_child(child);
  writer.close();
  std::string words;
  const bool in_time = read_all(reader.get(), limit_s, words);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  remove_live_child(child);
  if (!in_time) throw Error("no answer within " + std::to_string(std::lround(limit_s)) + " s");
  if (!words.empty()) {
    const std::string text = words.substr(1);
    if (words.front() == kAnswer) return text;
    if (words.front() == kUsage) throw UsageError(text);
    if (words.front() == kInterrupted) throw Interrupted(text);
    throw Error(text);
  }
  const ChildEnd end = WIFSIGNALED(status) ? ChildEnd{0, WTERMSIG(status)} : ChildEnd{WEXITSTATUS(status), 0};
  throw Error("the process that was asked ended with " + end_text(end));
}

}  // namespace evener
