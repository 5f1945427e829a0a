#include "job/http/http_module/library_server.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

namespace evener::job::http_module {
namespace {

/// std::regex, which the library looks for handlers with, calls itself for each character.
constexpr std::size_t kLongestPath = 1024;

/// A connection as the library sees it.
class LibraryStream : public httplib::Stream {
 public:
  explicit LibraryStream(Connection& connection) : connection_(connection) {}

  // Some of these are asked for by newer versions of the library alone, and so none says "override".
  // NOLINTBEGIN(modernize-use-override)
  bool is_readable() const { return true; }
  bool is_writable() const { return true; }
  bool wait_readable() const { return true; }
  bool wait_writable() const { return true; }
  time_t duration() const { return 0; }
  ssize_t read(char* to, std::size_t size) { return connection_.read(to, size); }
  ssize_t write(const char* from, std::size_t size) { return connection_.write(from, size); }
  void get_remote_ip_and_port(std::string& /*ip*/, int& port) const { port = 0; }
  void get_local_ip_and_port(std::string& /*ip*/, int& port) const { port = 0; }
  /// An invalid socket, so that the library neither uses it nor refuses it as too large for select().
  socket_t socket() const { return INVALID_SOCKET; }
  // NOLINTEND(modernize-use-override)

 private:
  Connection& connection_;
};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) request.headers.emplace(lower_case(name), value);
  return request;
}

void fill(httplib::Response& to, HttpResponse from) {
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name.c_str(), value);
  if (!from.body.empty()) to.set_header("Content-Type", from.content_type.c_str());
  to.body = std::move(from.body);
}

/// A request that the library refused by itself.
HttpResponse refusal(int status) {
  switch (status) {
    case 400:
      return http_error(400, "this is no HTTP request, or its head is larger than 64 KB");
    case 408:
      return http_error(408, "the request took too long to arrive");
    case 413:
      return http_error(413, "the request is too large");
    case 414:
      return http_error(414, "the address is too long");
    default:
      return http_error(status, "the request could not be read");
  }
}

/// The body of one request, as far as it may be taken; the memory is its own until it is destroyed.
class Body {
 public:
  Body(const Connection& connection, const HttpOptions& options, BodyBudget& budget)
      : connection_(connection), options_(options), budget_(budget) {}
  ~Body() { budget_.give_back(promised_); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  /// The refusal, where there is one.
  std::optional<HttpResponse> read(const httplib::Request& from, const httplib::ContentReader& reader) {
    const bool chunked = from.has_header("Transfer-Encoding");
    if (!chunked && !from.has_header("Content-Length")) return std::nullopt;
    if (!chunked && !promise(std::strtoull(from.get_header_value("Content-Length").c_str(), nullptr, 10)))
      return refused_;
    const bool whole = reader([&](const char* data, std::size_t size) {
      if (text_.size() + size > promised_ && !promise(text_.size() + size)) return false;
      text_.append(data, size);
      return true;
    });
    if (refused_ || whole) return refused_;
    if (connection_.timed_out()) return refusal(408);
    return http_error(400, "the body of the request ended early, or is compressed in a way that isn't known");
  }

  std::string take() { return std::move(text_); }

 private:
  /// Bodies that come without a length are promised some memory ahead.
  bool promise(std::uint64_t bytes) {
    if (bytes > options_.body_bytes) {
      refused_ = http_error(413, "the request is larger than the " + std::to_string(options_.body_bytes) +
                                     " bytes that are taken; send fewer samples at once");
      return false;
    }
    const std::size_t wanted = std::min<std::size_t>(std::max<std::size_t>(bytes, 2 * promised_), options_.body_bytes);
    if (!budget_.take(wanted - promised_)) {
      refused_ = http_error(503, "too many large requests at once; try again later");
      refused_->headers.emplace_back("Retry-After", "1");
      return false;
    }
    promised_ = wanted;
    return true;
  }

  const Connection& connection_;
  const HttpOptions& options_;
  BodyBudget& budget_;
  std::size_t promised_ = 0;
  std::string text_;
  std::optional<HttpResponse> refused_;
};

/// The library for one connection: it doesn't tell its handlers which one a request came over.
class ConnectionServer : public httplib::Server {
 public:
  ConnectionServer(Connection& connection, const HttpOptions& options, const HttpServer::Handler& handler,
                   BodyBudget& budget)
      : connection_(connection), options_(options), handler_(handler), budget_(budget) {
    set_payload_max_length(options.body_bytes);
    set_keep_alive_timeout(static_cast<time_t>(options.idle_s));
    set_keep_alive_max_count(1'000'000);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      connection_.end_head();
      return looked_at(request, response);
    });
    set_error_handler([this](const httplib::Request& /*request*/, httplib::Response& response) {
      if (connection_.timed_out()) response.status = 408;
      if (response.body.empty()) fill(response, refusal(response.status));
    });
    Get(".*", [this](const httplib::Request& from, httplib::Response& to) {
      // Nobody reads a body here, so that it would be taken for the next request.
      if (from.has_header("Content-Length") || from.has_header("Transfer-Encoding")) {
        connection_.close_after_answer();
      }
      HttpRequest request = request_of(from);
      fill(to, answer(request));
    });
    Post(".*", [this](const httplib::Request& from, httplib::Response& to, const httplib::ContentReader& reader) {
      Body body(connection_, options_, budget_);
      if (auto refused = body.read(from, reader)) {
        connection_.close_after_answer();
        fill(to, *std::move(refused));
        return;
      }
      HttpRequest request = request_of(from);
      request.body = body.take();
      fill(to, answer(request));
    });
  }

  void serve() {
    LibraryStream stream(connection_);
    bool closed = false;
    while (!closed && connection_.wait_for_request()) {
      const bool last = connection_.server_is_ending();
      if (!process(stream, last, closed) || last) break;
      if (!connection_.head_ended()) connection_.close_after_answer();  // where the next request begins isn't known
    }
  }

 private:
  HandlerResponse looked_at(const httplib::Request& request, httplib::Response& response) {
    const auto refuse = [&](int status, const char* what) {
      connection_.close_after_answer();
      fill(response, http_error(status, what));
      return HandlerResponse::Handled;
    };
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
      return refuse(405, "only GET, HEAD and POST are answered");
    }
    if (request.path.size() > kLongestPath) return refuse(414, "the address is too long");
    // No handler would match a line break, and the library would read the body by itself.
    const bool is_text = std::ranges::none_of(request.path, [](unsigned char c) { return c < ' '; });
    if (!is_text) return refuse(400, "the address has control characters in it");
    if (request.is_multipart_form_data())
      return refuse(415, "forms are not taken; send the body alone, as curl --data-binary @FILE does instead of -F");
    return HandlerResponse::Unhandled;
  }

  HttpResponse answer(HttpRequest& request) const {
    try {
      return handler_(request);
    } catch (const std::bad_alloc&) {
      return http_error(503, "out of memory; try again later, or send less at once");
    } catch (const std::exception& error) {
      return http_error(500, error.what());
    }
  }

  /// A template, so that only the call that this version of the library has needs to exist.
  template <class AStream>
  bool process(AStream& stream, bool last, bool& closed) {
    const auto simplify = [](httplib::Request& request) {
      request.headers.erase("Accept-Encoding");  // compressing would take longer than sending
      request.headers.erase("Range");
      request.ranges.clear();
    };
    if constexpr (requires { this->process_request(stream, last, closed, simplify); }) {
      return this->process_request(stream, last, closed, simplify);
    } else {
      return this->process_request(stream, "", 0, "", 0, last, closed, simplify);
    }
  }

  Connection& connection_;
  const HttpOptions& options_;
  const HttpServer::Handler& handler_;
  BodyBudget& budget_;
};

}  // namespace

bool BodyBudget::take(std::size_t bytes) {
  std::size_t taken = taken_;
  do {
    if (bytes > bytes_ - taken) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

void serve_requests(Connection& connection, const HttpOptions& options, const HttpServer::Handler& handler,
                    BodyBudget& budget) {
  ConnectionServer(connection, options, handler, budget).serve();
}

std::string library_version() {
  return std::string("cpp-httplib ") + CPPHTTPLIB_VERSION;
}

}  // namespace evener::job::http_module
