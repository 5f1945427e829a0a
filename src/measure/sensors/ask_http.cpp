// HTTP/1.1 without encryption, for meters in one's own network: one GET for each look, and Connection: close.
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/names.h"
#include "measure/energy_meter.h"
#include "measure/sensors/answer.h"

namespace evener::measure {
namespace {

constexpr std::size_t kMostAnswer = 1 << 20;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The value of a header; "" without it. `head`: lower case.
std::string header_of(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 3, end = head.find("\r\n", begin);
  return std::string(trimmed(std::string_view(head).substr(begin, end - begin)));
}

/// "Tue, 24 Nov 2026 22:12:22 GMT" as seconds since 1970.
std::optional<double> http_date(const std::string& text) {
  tm parts{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S", &parts) == nullptr) return std::nullopt;
  return static_cast<double>(timegm(&parts));
}

/// The bytes of a chunked body; nothing while its last chunk isn't there.
std::optional<std::string> from_chunks(std::string_view body) {
  std::string whole;
  while (true) {
    const std::size_t line = body.find("\r\n");
    std::size_t size = 0;
    if (line == std::string_view::npos) return std::nullopt;
    const auto parsed = std::from_chars(body.data(), body.data() + line, size, 16);
    if (parsed.ec != std::errc() || size > kMostAnswer) return std::nullopt;
    if (size == 0) return whole;
    if (body.size() < line + 2 + size + 2) return std::nullopt;
    whole += body.substr(line + 2, size);
    body.remove_prefix(line + 2 + size + 2);
  }
}

class HttpGet final : public Questioner {
 public:
  HttpGet(std::string url, double limit_s) : url_(std::move(url)), limit_s_(limit_s) {
    constexpr std::string_view kScheme = "http://";
    if (!url_.starts_with(kScheme)) {
      throw UsageError(
          fmt::format("--meter {}: only http:// is spoken; for others give run:COMMAND, such as run:'curl "
                      "-s ADDRESS'",
                      quoted_text(url_)));
    }
    const std::size_t slash = std::min(url_.find('/', kScheme.size()), url_.size());
    host_ = url_.substr(kScheme.size(), slash - kScheme.size());
    if (host_.empty() || std::ranges::any_of(url_, [](unsigned char c) { return std::iscntrl(c) || c == ' '; })) {
      throw UsageError(fmt::format("--meter {}: that is no address", quoted_text(url_)));
    }
    const std::string path = slash < url_.size() ? url_.substr(slash) : "/";
    request_ = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nConnection: close\r\n\r\n", path,
                           host_);
    resolve();
  }

  Answer look(double wait_s) override {
    if (!socket_.valid()) {
      if (Answer trouble; !start(trouble)) return trouble;
    }
    const double until_s = boot_now_s() + wait_s;
    while (true) {
      pollfd ready{socket_.get(), static_cast<short>(sent_ < request_.size() ? POLLOUT : POLLIN), 0};
      const double left_s = std::max(0.0, until_s - boot_now_s());
      if (::poll(&ready, 1, static_cast<int>(left_s * 1000)) <= 0) break;
      if (std::optional<Answer> answer = step()) {
        socket_.close();
        return *std::move(answer);
      }
    }
    if (boot_now_s() - asked_s_ <= limit_s_) return {};
    socket_.close();
    return {.text = "", .trouble = fmt::format("{} did not answer within {:g} s", host_, limit_s_)};
  }

 private:
  void resolve() {
    std::string name = host_, port = "80";
    const std::size_t colon = name.rfind(':');
    if (colon != std::string::npos && name.find(']', colon) == std::string::npos) {
      port = name.substr(colon + 1);
      name.resize(colon);
    }
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(name.c_str(), port.c_str(), &hints, &found);
    if (error != 0) throw Error(fmt::format("--meter {}: {}: {}", url_, host_, gai_strerror(error)));
    family_ = found->ai_family;
    std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
    address_size_ = found->ai_addrlen;
    freeaddrinfo(found);
  }

  bool start(Answer& trouble) {
    socket_ = Descriptor(::socket(family_, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sent_ = 0;
    received_.clear();
    asked_s_ = boot_now_s();
    if (!socket_.valid() ||
        (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address_), address_size_) != 0 &&
         errno != EINPROGRESS)) {
      trouble.trouble = fmt::format("{} can't be reached: {}", host_, std::strerror(errno));
      socket_.close();
      return false;
    }
    return true;
  }

  /// Sends or receives what is ready; the answer once it is whole.
  std::optional<Answer> step() {
    if (sent_ < request_.size()) {
      const ssize_t sent = ::send(socket_.get(), request_.data() + sent_, request_.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return failed();
      sent_ += static_cast<std::size_t>(std::max<ssize_t>(0, sent));
      return std::nullopt;
    }
    char buffer[4096];
    const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (size < 0) return failed();
    received_.append(buffer, static_cast<std::size_t>(size));
    return whole(size == 0 || received_.size() > kMostAnswer);
  }

  Answer failed() const {
    return {.text = "", .trouble = fmt::format("{} can't be reached: {}", host_, std::strerror(errno))};
  }

  std::optional<Answer> whole(bool ended) const {
    const std::size_t gap = received_.find("\r\n\r\n");
    if (gap == std::string::npos) {
      if (!ended) return std::nullopt;
      return Answer{.text = "", .trouble = host_ + " answered, but not in HTTP"};
    }
    const std::string head = lower(received_.substr(0, gap + 2));
    std::string body = received_.substr(gap + 4);
    if (header_of(head, "transfer-encoding") == "chunked") {
      const auto joined = from_chunks(body);
      if (!joined && !ended) return std::nullopt;
      body = joined.value_or("");
    } else if (const std::string length = header_of(head, "content-length"); !length.empty()) {
      if (!ended && body.size() < std::strtoull(length.c_str(), nullptr, 10)) return std::nullopt;
    } else if (!ended) {
      return std::nullopt;
    }
    Answer answer;
    answer.at_s = (asked_s_ + boot_now_s()) / 2;
    answer.their_clock_s = http_date(header_of(head, "date"));
    const std::string status = head.substr(0, head.find("\r\n"));
    if (status.find(" 200") == std::string::npos) {
      answer.trouble = fmt::format("{} answered {}", host_, quoted_text(status));
    } else if (body.empty()) {
      answer.trouble = host_ + " answered nothing";
    } else {
      answer.text = std::move(body);
    }
    return answer;
  }

  const std::string url_;
  const double limit_s_;
  std::string host_, request_, received_;
  int family_ = AF_INET;
  sockaddr_storage address_{};
  socklen_t address_size_ = 0;
  Descriptor socket_;
  std::size_t sent_ = 0;
  double asked_s_ = 0;
};

}  // namespace

std::unique_ptr<Questioner> ask_http(const std::string& url, double limit_s) {
  return std::make_unique<HttpGet>(url, limit_s);
}

}  // namespace evener::measure
