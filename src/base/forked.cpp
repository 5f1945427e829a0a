#include "base/forked.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/own_program.h"
#include "base/stop.h"

namespace evener {
namespace {

// The first byte of the child's message.
constexpr char kAnswer = 'a', kFailure = 'f', kUsage = 'u', kInterrupted = 'i';

enum class Reading { kWhole, kLate, kStopped };

/// Reads until the other end is closed.
Reading read_all(int pipe, double limit_s, const std::function<bool()>& is_stopped, std::string& words) {
  constexpr double kLook_s = 0.1;
  const Stopwatch clock;
  while (true) {
    if (is_stopped && is_stopped()) return Reading::kStopped;
    const double left_s = limit_s - clock.seconds();
    if (left_s <= 0) return Reading::kLate;
    pollfd polled{pipe, POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(std::ceil(std::min(left_s, kLook_s) * 1e3)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return Reading::kLate;
    char buffer[4096];
    const ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Reading::kWhole;
    words.append(buffer, static_cast<std::size_t>(count));
  }
}

std::atomic<bool> forks_are_forbidden = false;

constexpr const char* kAsked = "answer-another-process";  // the first word; then who asks, and the question
constexpr int kFirstOfQuestion = 3;
// The descriptor that the answer is written to. Standard output leads nowhere, since foreign libraries may write to it.
constexpr int kAnswerPipe = 3;

}  // namespace

void write_answer(const std::function<std::string()>& body, int pipe) {
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
}

std::string await_answer(const Descriptor& pipe, pid_t child, double limit_s, const std::function<bool()>& is_stopped) {
  add_live_child(child);
  std::string words;
  const Reading reading = read_all(pipe.get(), limit_s, is_stopped, words);
  if (reading != Reading::kWhole) kill(child, SIGKILL);
  const ChildEnd end = await_end(child);
  if (reading == Reading::kStopped) throw Interrupted("interrupted");
  if (reading == Reading::kLate) throw Error("no answer within " + std::to_string(std::lround(limit_s)) + " s");
  if (!words.empty()) {
    const std::string text = words.substr(1);
    if (words.front() == kAnswer) return text;
    if (words.front() == kUsage) throw UsageError(text);
    if (words.front() == kInterrupted) throw Interrupted(text);
    throw Error(text);
  }
  throw Error("the process that was asked ended with " + end_text(end));
}

std::string in_child(const std::function<std::string()>& body, double limit_s) {
  if (!may_fork()) return body();
  Pipe pipe;
  std::fflush(nullptr);  // or the child writes it again
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(std::string("can't start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before the line above
    write_answer(body, pipe.writer.get());
    _exit(0);  // without destructors: they are the parent's
  }
  pipe.writer.close();
  return await_answer(pipe.reader, child, limit_s);
}

void forbid_forks() {
  forks_are_forbidden = true;
}

bool may_fork() {
  return !forks_are_forbidden;
}

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
