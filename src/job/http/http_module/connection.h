// One client's socket: read through a buffer, written to, both within limits of time, and closed so that the last
// answer arrives.
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
  /// Readable once it has begun.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

/// Driven by one thread.
class Connection {
 public:
  /// Owns `socket`. The others must outlive it.
  Connection(int socket, const HttpOptions& options, const Ending& ending);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for the first byte of a request. False where none comes: the client has closed, or was idle for too long,
  /// or the server is ending and nothing is on its way.
  bool wait_for_request();
  /// Up to `size` bytes; 0 at the end, -1 after an error, a request that takes too long, and a head that is too large.
  ssize_t read(char* to, std::size_t size);
  /// -1 after an error and an answer that takes too long.
  ssize_t write(const char* from, std::size_t size);

  /// What is read from now on is the body.
  void end_head() { in_head_ = false; }
  bool head_ended() const { return !in_head_; }
  bool timed_out() const { return timed_out_; }
  /// No other request is read: the rest of this one is still unread.
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
