// The socket that clients connect to.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace evener::job::http_module {

class Listener {
 public:
  /// Listens. `port`: 0 = any that is free. Throws Error.
  Listener(const std::string& host, int port);

  int port() const { return port_; }
  /// Returns the socket of the next client, or -1 where none connects within `wait_s` seconds.
  int accept(double wait_s);
  /// Stops taking new clients; those that have connected can still be accepted.
  void refuse_others();
  void close() { socket_.close(); }

 private:
  Descriptor socket_;
  int port_ = 0;
};

}  // namespace evener::job::http_module
