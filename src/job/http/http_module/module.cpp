// The module's door: the factory function that base/module.h looks for, and the servers behind it.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/module_entry.h"
#include "base/this_work.h"
#include "job/http/http_module/connection.h"
#include "job/http/http_module/library_server.h"
#include "job/http/http_module/listener.h"

namespace evener::job::http_module {
namespace {

/// How often run() calls `stop`.
constexpr double kBetweenLooks_s = 0.05;
/// How long to wait, after new clients are refused, for connections that clients had already begun.
constexpr double kUnderWay_s = 0.05;

/// Each connection takes a descriptor; many systems give 1024 to those who don't ask.
void raise_descriptor_limit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Without waiting, and without reading what the client asks for.
void refuse(int socket) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  static_cast<void>(send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
  ::close(socket);
}

/// A thread for each connection, so many at most.
class ConnectionThreads {
 public:
  /// `serve` owns the socket that it is given, and throws nothing.
  ConnectionThreads(std::size_t most, std::function<void(int socket)> serve) : most_(most), serve_(std::move(serve)) {}
  ~ConnectionThreads() { finish(); }
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  /// False where there are as many already: the socket is still the caller's.
  bool take(int socket) {
    const std::lock_guard lock(mutex_);
    if (busy_ == most_) return false;
    try {
      std::thread([this, socket] {
        serve_(socket);
        const std::lock_guard done(mutex_);
        --busy_;
        ended_.notify_all();
      }).detach();
    } catch (const std::system_error&) {  // the system has no more threads
      return false;
    }
    ++busy_;
    return true;
  }

  /// Waits until all that were taken are served.
  void finish() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  const std::size_t most_;
  const std::function<void(int)> serve_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t busy_ = 0;
};

class ThreadedServer : public HttpServer {
 public:
  explicit ThreadedServer(const HttpOptions& options)
      : options_(options), listener_(options.host, options.port), budget_(options.bodies_bytes) {
    constexpr std::size_t kOthers = 256;  // descriptors of the rest of the program
    raise_descriptor_limit(options.connections + kOthers);
  }

  int port() const override { return listener_.port(); }

  void run(const Handler& handler, const std::function<bool()>& stop) override {
    ConnectionThreads threads(options_.connections, as_this_work([&](int socket) { serve(handler, socket); }));
    const auto take = [&](int socket) {
      if (threads.take(socket)) return;
      ++refused_;
      refuse(socket);
    };
    while (!stop()) {
      if (const int socket = listener_.accept(kBetweenLooks_s); socket >= 0) take(socket);
    }
    listener_.refuse_others();
    // Clients that have connected, or are about to, are still served, although accept() hasn't been called for them
    // yet.
    for (int socket = listener_.accept(kUnderWay_s); socket >= 0; socket = listener_.accept(kUnderWay_s)) take(socket);
    listener_.close();
    ending_.begin();
    threads.finish();
  }

  HttpCounts counts() const override {
    return {.connections = connections_, .refused = refused_, .open = open_, .bodies_bytes = budget_.taken()};
  }

 private:
  void serve(const Handler& handler, int socket) {
    ++connections_;
    ++open_;
    {
      Connection connection(socket, options_, ending_);
      serve_requests(connection, options_, handler, budget_);
    }
    --open_;
  }

  const HttpOptions options_;
  Listener listener_;
  Ending ending_;
  BodyBudget budget_;
  std::atomic<std::uint64_t> connections_ = 0, refused_ = 0;
  std::atomic<std::size_t> open_ = 0;
};

class ThreadedServers : public HttpServers {
 public:
  std::unique_ptr<HttpServer> open(const HttpOptions& options) override {
    return std::make_unique<ThreadedServer>(options);
  }
};

const char* version() {
  static const std::string text = library_version();
  return text.c_str();
}

const char* unusable_reason() {
  return "";
}

}  // namespace
}  // namespace evener::job::http_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::job::HttpServers, evener::job::http_module::ThreadedServers>(
        evener::job::http_module::version, evener::job::http_module::unusable_reason);
}
