// A small HTTP/1.1 server for jobs that answer over the network. This header has no types of the HTTP library, which
// only the module "http" uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace evener::serving {

struct HttpOptions {
  std::string host = "127.0.0.1";                     // a name or an address of this machine
  int port = 0;                                       // 0 = any that is free
  std::size_t connections = 1024;                     // at once; further ones are closed
  std::size_t body_bytes = std::size_t{64} << 20;     // of one request; larger ones get status 413
  std::size_t bodies_bytes = std::size_t{512} << 20;  // of all requests under way; further ones get status 503
  double transfer_s = 30;                             // time limit of a request from its first line to its last byte,
                                                      // and of a response
  double idle_s = 60;                                 // how long a connection may stay without a request
};

struct HttpRequest {
  std::string method;                          // GET (also for HEAD) or POST; others get status 405
  std::string path;                            // decoded, without the query
  std::map<std::string, std::string> query;    // decoded; of a name given twice the first value
  std::map<std::string, std::string> headers;  // names in lower case; of a name given twice the first value
  std::string body;

  /// The value of a header, "" where the request doesn't have it; `name` in lower case.
  const std::string& header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// A response with the body {"error": "..."}, as in the Open Inference Protocol.
HttpResponse http_error(int status, const std::string& what);
/// The same with status 503, which asks the client to come again.
HttpResponse try_later(const std::string& what);

/// The counts of a server since its start.
struct HttpCounts {
  std::uint64_t connections = 0;  // that were accepted
  std::size_t open = 0;           // connections now
  std::size_t bodies_bytes = 0;   // of requests under way now
};

class HttpServer {
 public:
  /// Makes the response to a request. Called by many threads at the same time; an exception becomes status 500.
  using Handler = std::function<HttpResponse(HttpRequest& request)>;

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Answers requests until `stop`, which is called some times a second, returns true. Then it takes no new
  /// connections, answers every request that has begun to arrive, and returns. To be called once.
  virtual void run(const Handler& handler, const std::function<bool()>& stop) = 0;
  /// Thread-safe.
  virtual HttpCounts counts() const = 0;
};

/// The interface of the module "http".
class HttpServers {
 public:
  virtual ~HttpServers() = default;
  virtual std::unique_ptr<HttpServer> open(const HttpOptions& options) = 0;
};

/// Opens a server that listens from now on; connections wait until run(). Throws Error where the port is taken or not
/// permitted, the host isn't an address of this machine, or the module can't be used.
std::unique_ptr<HttpServer> open_http_server(const HttpOptions& options);

}  // namespace evener::serving
