// The socket of one client: reads through a buffer and writes, both with time limits, and closes so that the last
// response still arrives.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>

#include "base/descriptor.h"
#include "job/http/http_server.h"

namespace evener::job::http_module {

/// Tells all connections at once that the server is ending.
class Ending {
 public:
  /// Throws Error.
  Ending();
  void begin();
  bool begun() const;
  /// A file descriptor that becomes readable when the server is ending, for poll().
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

/// Not thread-safe.
class Connection {
 public:
  /// Owns `socket`. `options` and `ending` must outlive the connection.
  Connection(int socket, const HttpOptions& options, const Ending& ending);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for the first byte of a request. Returns false where none comes: the client has closed or was idle for too
  /// long, or the server is ending and no request is under way.
  bool wait_for_request();
  /// Reads up to `size` bytes. Returns 0 at the end, and -1 after an error, for a request that takes too long, and for
  /// headers that are too large.
  ssize_t read(char* to, std::size_t size);
  /// Writes `size` bytes. Returns -1 after an error, and where writing takes too long.
  ssize_t write(const char* from, std::size_t size);

  /// Tells that the headers were read: what follows is the body.
  void end_head() { in_head_ = false; }
  bool head_ended() const { return !in_head_; }
  bool timed_out() const { return timed_out_; }
  /// Makes this request the last of the connection, because a part of it stays unread.
  void close_after_answer() { closing_ = true; }
  bool is_closing() const { return closing_; }
  bool server_is_ending() const { return ending_.begun(); }

 private:
  bool wait(short events, double until_s);
  ssize_t receive(char* to, std::size_t size);
  void linger();

  Descriptor socket_;
  const HttpOptions& options_;
  const Ending& ending_;
  std::array<char, 16384> buffer_;  // of bytes received
  std::size_t begin_ = 0, end_ = 0;
  double read_until_s_ = 0, write_until_s_ = 0;
  std::size_t head_bytes_ = 0;
  bool in_head_ = true, timed_out_ = false, closing_ = false;
};

}  // namespace evener::job::http_module
