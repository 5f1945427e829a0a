#include "job/http/http_module/connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace evener::job::http_module {
namespace {

constexpr std::size_t kMostHeadBytes = 64 << 10;
/// For a request that was sent before the client could know that the server is ending.
constexpr double kOnItsWay_s = 0.5;
/// What is still read of a request that was refused, so that the client reads the refusal before it sees the end.
constexpr double kLinger_s = 1;
constexpr std::size_t kMostLingerBytes = 4 << 20;

int milliseconds_until(double until_s) {
  return static_cast<int>(std::clamp(std::ceil((until_s - now_s()) * 1000), 0.0, 1e9));
}

}  // namespace

Ending::Ending() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.valid()) throw Error(std::string("can't make an event: ") + std::strerror(errno));
}

void Ending::begin() {
  constexpr std::uint64_t kOne = 1;
  static_cast<void>(!::write(event_.get(), &kOne, sizeof(kOne)));  // it can't fail: the count is far from its limit
}

bool Ending::begun() const {
  pollfd entry{.fd = event_.get(), .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

Connection::Connection(int socket, const HttpOptions& options, const Ending& ending)
    : socket_(socket), options_(options), ending_(ending) {}

Connection::~Connection() {
  if (closing_) linger();
}

bool Connection::wait_for_request() {
  if (closing_) return false;
  const double idle_until_s = now_s() + options_.idle_s;
  while (begin_ == end_) {
    pollfd entries[] = {{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                        {.fd = ending_.descriptor(), .events = POLLIN, .revents = 0}};
    const int ready = poll(entries, 2, milliseconds_until(idle_until_s));
    if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
    if (ready < 0) continue;
    if (entries[0].revents == 0 && !wait(POLLIN, now_s() + kOnItsWay_s)) return false;
    const ssize_t count = receive(buffer_.data(), buffer_.size());
    if (count <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
  }
  read_until_s_ = now_s() + options_.transfer_s;
  write_until_s_ = 0;
  head_bytes_ = 0;
  in_head_ = true;
  return true;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (!wait(POLLIN, read_until_s_)) {
      timed_out_ = closing_ = true;
      return -1;
    }
    if (size >= buffer_.size()) return receive(to, size);
    const ssize_t count = receive(buffer_.data(), buffer_.size());
    if (count <= 0) return count;
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
  }
  const std::size_t count = std::min(size, end_ - begin_);
  if (in_head_ && (head_bytes_ += count) > kMostHeadBytes) {
    closing_ = true;
    return -1;
  }
  std::memcpy(to, buffer_.data() + begin_, count);
  begin_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, std::size_t size) {
  if (write_until_s_ == 0) write_until_s_ = now_s() + options_.transfer_s;
  while (true) {
    const ssize_t count = send(socket_.get(), from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(POLLOUT, write_until_s_)) return -1;
  }
}

bool Connection::wait(short events, double until_s) {
  while (true) {
    pollfd entry{.fd = socket_.get(), .events = events, .revents = 0};
    const int ready = poll(&entry, 1, milliseconds_until(until_s));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

ssize_t Connection::receive(char* to, std::size_t size) {
  ssize_t count = 0;
  do {
    count = recv(socket_.get(), to, size, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return count;
}

/// A socket that is closed with unread bytes resets the connection, and the answer may be lost with it.
void Connection::linger() {
  shutdown(socket_.get(), SHUT_WR);
  const double until_s = now_s() + kLinger_s;
  for (std::size_t bytes = 0; bytes < kMostLingerBytes && wait(POLLIN, until_s);) {
    const ssize_t count = receive(buffer_.data(), buffer_.size());
    if (count <= 0) return;
    bytes += static_cast<std::size_t>(count);
  }
}

}  // namespace evener::job::http_module
