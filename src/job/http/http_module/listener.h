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
  /// The socket of the next client; -1 where none connects within that time.
  int accept(double wait_s);
  /// Nobody can connect from now on; those who have connected can still be accepted.
  void refuse_others();
  void close() { socket_.close(); }

 private:
  Descriptor socket_;
  int port_ = 0;
};

}  // namespace evener::job::http_module
