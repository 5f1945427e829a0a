// A client of HTTP that may also misbehave: it sends what it is told, in pieces, or goes away. Header only, so that the
// tests of every room can use it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace evener::test {

struct HttpAnswer {
  int status = 0;                              // 0 = the connection ended before an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// A whole POST as bytes.
inline std::string post_text(const std::string& path, const std::string& body,
                             const std::map<std::string, std::string>& headers = {}) {
  std::string text =
      "POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return text + "\r\n" + body;
}

/// A connection to 127.0.0.1. What it waits for comes within a minute, or the test fails.
class HttpClient {
 public:
  explicit HttpClient(int port);

  bool connected() const { return socket_.valid(); }
  /// False where the server has closed.
  bool send(const std::string& bytes);
  HttpAnswer receive();
  /// Whether the server closes without another byte.
  bool is_closed();
  void cut() { socket_.close(); }

  HttpAnswer get(const std::string& path);
  HttpAnswer post(const std::string& path, const std::string& body,
                  const std::map<std::string, std::string>& headers = {});

 private:
  std::optional<std::string> more();

  Descriptor socket_;
  std::string received_;
};

inline HttpClient::HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) socket_.close();
}

inline bool HttpClient::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

inline std::optional<std::string> HttpClient::more() {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, 60'000) <= 0) {
    ADD_FAILURE() << "the server says nothing";
    return std::nullopt;
  }
  std::string bytes(65536, '\0');
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count <= 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

inline HttpAnswer HttpClient::receive() {
  HttpAnswer answer;
  const auto wait_for = [&](auto is_there) {
    while (!is_there()) {
      const auto bytes = more();
      if (!bytes) return false;
      received_ += *bytes;
    }
    return true;
  };
  if (!wait_for([&] { return received_.find("\r\n\r\n") != std::string::npos; })) return answer;
  const std::size_t head_end = received_.find("\r\n\r\n");
  for (std::size_t begin = received_.find("\r\n") + 2; begin < head_end;) {
    const std::size_t end = std::min(received_.find("\r\n", begin), head_end), colon = received_.find(':', begin);
    std::string name = received_.substr(begin, colon - begin);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = received_.substr(colon + 2, end - colon - 2);
    begin = end + 2;
  }
  const std::size_t length = std::strtoull(answer.headers["content-length"].c_str(), nullptr, 10);
  if (!wait_for([&] { return received_.size() >= head_end + 4 + length; })) return {};
  answer.status = std::atoi(received_.c_str() + std::string("HTTP/1.1 ").size());
  answer.body = received_.substr(head_end + 4, length);
  received_.erase(0, head_end + 4 + length);
  return answer;
}

inline bool HttpClient::is_closed() {
  return received_.empty() && !more();
}

inline HttpAnswer HttpClient::get(const std::string& path) {
  return send("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n") ? receive() : HttpAnswer{};
}

inline HttpAnswer HttpClient::post(const std::string& path, const std::string& body,
                                   const std::map<std::string, std::string>& headers) {
  return send(post_text(path, body, headers)) ? receive() : HttpAnswer{};
}

}  // namespace evener::test
