// A web server on 127.0.0.1 for tests, which can also behave badly: what it answers is written out by the test.
// Header only, so that the tests of every room can use it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace evener::test {

class LoopbackServer {
 public:
  struct Request {
    std::string path;             // "/mnist/a.gz"
    std::string range, if_range;  // values of these headers
  };
  struct Reply {
    std::string bytes;  // head and body as they go over the wire; then the connection is closed
    enum class Then { kClose, kRepeatBody, kHang } then = Then::kClose;  // until the client goes away
  };
  using Handler = std::function<Reply(const Request&)>;

  explicit LoopbackServer(Handler handler) : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("can't listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~LoopbackServer() {
    ended_ = true;
    thread_.join();
    close(listener_);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  /// "http://127.0.0.1:PORT" + path.
  std::string url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static constexpr int kTick_ms = 20;

  // Ready to be read (a client, bytes, or its end) before the server ends.
  bool wait_readable(int fd) const {
    while (!ended_) {
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, kTick_ms) > 0) return true;
    }
    return false;
  }

  void serve() {
    while (wait_readable(listener_)) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      answer(client);
      close(client);
    }
  }

  static std::string header(const std::string& head, const std::string& name) {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  void answer(int client) {
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      if (!wait_readable(client)) return;
      const ssize_t got = recv(client, buffer, sizeof(buffer), 0);
      if (got <= 0) return;
      head.append(buffer, static_cast<std::size_t>(got));
    }
    const auto begin = head.find(' ') + 1;
    const Request request{head.substr(begin, head.find(' ', begin) - begin), header(head, "Range"),
                          header(head, "If-Range")};
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Reply reply = handler_(request);
    if (!send_all(client, reply.bytes)) return;
    if (reply.then == Reply::Then::kHang && wait_readable(client)) recv(client, buffer, sizeof(buffer), 0);
    if (reply.then != Reply::Then::kRepeatBody) return;
    const std::string body = reply.bytes.substr(reply.bytes.find("\r\n\r\n") + 4);
    while (!ended_ && send_all(client, body)) {
    }
  }

  static bool send_all(int client, const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t sent = send(client, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      done += static_cast<std::size_t>(sent);
    }
    return true;
  }

  Handler handler_;
  int listener_, port_ = 0;
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

/// No proxy may come between a test and its server.
inline void without_proxy() {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) unsetenv(name);
}

/// "HTTP/1.1 STATUS", the headers (each with its "\r\n"), and the body.
inline std::string http_reply(int status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Text\r\n" + headers + "Connection: close\r\n\r\n" + body;
}
inline std::string http_file(const std::string& body, const std::string& headers = "") {
  return http_reply(200, headers + "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
}
/// What a good server answers: the rest where a range is asked for and the version is still that.
inline std::string http_file_or_rest(const LoopbackServer::Request& request, const std::string& body,
                                     const std::string& etag) {
  const std::string mark = "ETag: " + etag + "\r\n";
  if (request.range.empty() || (!request.if_range.empty() && request.if_range != etag)) return http_file(body, mark);
  const std::size_t first = std::stoul(request.range.substr(6));
  const std::string rest = body.substr(first);
  return http_reply(206,
                    mark + "Content-Length: " + std::to_string(rest.size()) + "\r\nContent-Range: bytes " +
                        std::to_string(first) + "-" + std::to_string(body.size() - 1) + "/" +
                        std::to_string(body.size()) + "\r\n",
                    rest);
}
/// Announces all of the body and breaks off after `bytes` of it.
inline std::string http_broken(const std::string& body, std::size_t bytes, const std::string& headers = "") {
  return http_reply(200, headers + "Content-Length: " + std::to_string(body.size()) + "\r\n", body.substr(0, bytes));
}

}  // namespace evener::test
