// Uses the HTTP library to parse requests and write responses, over our own connections. Only the .cpp includes the
// library's headers, which take seconds to compile.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "job/http/http_module/connection.h"
#include "job/http/http_server.h"

namespace evener::job::http_module {

/// Bounds the memory of the bodies of all requests under way. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}
  bool take(std::size_t bytes);
  void give_back(std::size_t bytes) { taken_ -= bytes; }
  std::size_t taken() const { return taken_; }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> taken_ = 0;
};

/// Answers the requests of a connection until it is to be closed. Thread-safe.
void serve_requests(Connection& connection, const HttpOptions& options, const HttpServer::Handler& handler,
                    BodyBudget& budget);

std::string library_version();

}  // namespace evener::job::http_module
