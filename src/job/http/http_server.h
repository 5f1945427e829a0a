// A small HTTP/1.1 server for the jobs that answer over the network. No types of its library here: that is in the
// module "http".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace evener::job {

struct HttpOptions {
  std::string host = "127.0.0.1";                     // a name or an address of this machine
  int port = 0;                                       // 0 = any that is free
  std::size_t connections = 1024;                     // at once; the next is told 503
  std::size_t body_bytes = std::size_t{64} << 20;     // of one request; a larger one is told 413
  std::size_t bodies_bytes = std::size_t{512} << 20;  // of all requests under way; the next is told 503
  double transfer_s = 30;                             // a request from its first byte to its last, and so an answer
  double idle_s = 60;                                 // that a connection may stay without a request
};

struct HttpRequest {
  std::string method;                          // GET (also for HEAD) or POST; others are told 405
  std::string path;                            // decoded, without the query
  std::map<std::string, std::string> query;    // decoded; of a name given twice the first value
  std::map<std::string, std::string> headers;  // names in lower case; of a name given twice the first value
  std::string body;                            // decompressed

  /// "" where the request hasn't got it; `name` in lower case.
  const std::string& header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// {"error": "..."}, as the Open Inference Protocol has it.
HttpResponse http_error(int status, const std::string& what);

/// Of a server since it began.
struct HttpCounts {
  std::uint64_t connections = 0;  // that were answered
  std::uint64_t refused = 0;      // connections, as there were too many at once
  std::size_t open = 0;           // connections now
  std::size_t bodies_bytes = 0;   // of requests under way now
};

class HttpServer {
 public:
  /// Called by many threads at the same time. What it throws is told as 500.
  using Handler = std::function<HttpResponse(HttpRequest& request)>;

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Answers until `stop`, asked some times a second, says so. Then no new connection is taken, every request that has
  /// begun to arrive is answered, and this returns. To be called once.
  virtual void run(const Handler& handler, const std::function<bool()>& stop) = 0;
  /// Thread-safe.
  virtual HttpCounts counts() const = 0;
};

/// What the module makes.
class HttpServers {
 public:
  virtual ~HttpServers() = default;
  virtual std::unique_ptr<HttpServer> open(const HttpOptions& options) = 0;
};

/// Listens from now on: connections wait until run(). Throws Error where the port is taken, may not be used, or the
/// host isn't an address of this machine, and where the module can't be used.
std::unique_ptr<HttpServer> open_http_server(const HttpOptions& options);

}  // namespace evener::job
