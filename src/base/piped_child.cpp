#include "base/piped_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/stop.h"

namespace evener {
namespace {

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
