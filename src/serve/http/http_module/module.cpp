// The module that answers over HTTP by GNU libmicrohttpd: a thread for each connection, as its handlers wait in their
// thread for the batch that their samples are in. libmicrohttpd takes clients, reads and writes, and closes connections
// beyond the limit; ours are the time limits of whole requests, the memory for bodies, and the order of the end.
#include <fmt/format.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/module_entry.h"
#include "base/numbers.h"
#include "base/this_work.h"
#include "serve/http/http_server.h"

namespace evener::serving {
namespace {

/// Of a request, and of what is read of its body at once.
constexpr std::size_t kMostHeadBytes = 64 << 10;
/// How often run() calls `stop` and looks for clients whose time is over.
constexpr double kBetweenLooks_s = 0.05;
/// How often it looks at most, when it has to end, whether all clients that had connected are taken.
constexpr int kMostLooks = 40;
/// For a request that was sent before the client could know that the server is ending, and for the first request of a
/// client that has just connected.
constexpr double kOnItsWay_s = 0.5, kFirstRequest_s = 5;
/// What is still read of a request that was refused, so that the client reads the refusal before it sees the end.
constexpr double kLinger_s = 1;
constexpr std::uint64_t kMostLingerBytes = 4 << 20;
constexpr double kNever = std::numeric_limits<double>::infinity();

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    throw Error(
        fmt::format("'{}' is no address of this machine ({}); give --host 127.0.0.1 for this machine alone, or "
                    "0.0.0.0 for everybody who can reach it",
                    host, gai_strerror(error)));
  }
  return {found, freeaddrinfo};
}

std::string advice_for(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program listens there; choose another --port, or 0 for any that is free";
    case EACCES:
      return "ports below 1024 need rights; choose a larger --port";
    case EADDRNOTAVAIL:
      return "--host has to be an address of this machine";
    default:
      return "choose another --host or --port";
  }
}

/// Of the first address that can be listened on. Throws Error.
Descriptor listening_socket(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  int error = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    const int on = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (socket.valid() && bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
    if (error == 0) error = errno;
  }
  throw Error(fmt::format("can't listen on {}:{}: {}; {}", host, port, std::strerror(error), advice_for(error)));
}

int port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// `wanted`, or what there are descriptors for: each connection takes one, and many systems give 1024 to those who
/// don't ask.
unsigned possible_connections(std::size_t wanted) {
  constexpr std::size_t kOthers = 256;  // descriptors of the rest of the program
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<unsigned>(wanted);
  if (limit.rlim_cur < wanted + kOthers) {
    limit.rlim_cur = std::min<rlim_t>(wanted + kOthers, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return static_cast<unsigned>(std::clamp<rlim_t>(limit.rlim_cur, kOthers + 1, wanted + kOthers) - kOthers);
}

/// Bytes that a client has sent since it connected.
std::uint64_t bytes_received(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_bytes_received;
}

/// Answers in place of the library, which answers only before a body or after all of it, and says nothing more.
void send_last(int socket, const HttpResponse& response) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
                                 response.status, MHD_get_reason_phrase_for(static_cast<unsigned>(response.status)),
                                 response.content_type, response.body.size());
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += "\r\n" + response.body;
  static_cast<void>(send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// A connection, and the request that arrives or is answered on it. The thread of the connection alone reads and
/// writes what stands below `until_s`.
struct Client {
  enum class State { kIdle, kReceiving, kRefused, kAnswering, kSending };

  int socket = -1;
  State state = State::kIdle;
  double until_s = kNever;         // when the state has to be over
  const double since_s = now_s();  // when it connected
  bool is_new = true;              // it has not asked yet
  std::uint64_t bytes_before = 0;  // that came before this request
  bool is_well_formed = true;      // its address
  bool has_head = false;
  std::size_t promised = 0;  // bytes for the body
  std::uint64_t thrown_away = 0;
  HttpRequest request;
};

class MicrohttpdServer : public HttpServer {
 public:
  explicit MicrohttpdServer(const HttpOptions& options)
      : options_(options), listener_(listening_socket(options.host, options.port)), port_(port_of(listener_)) {}

  int port() const override { return port_; }

  void run(const Handler& handler, const std::function<bool()>& stop) override {
    handler_ = as_this_work([&handler](HttpRequest& request) { return handler(request); });
    const auto end = [](MHD_Daemon* daemon) {
      MHD_quiesce_daemon(daemon);  // whose socket stays ours
      MHD_stop_daemon(daemon);
    };
    const std::unique_ptr<MHD_Daemon, decltype(end)> daemon(start(), end);
    if (!daemon) throw Error("libmicrohttpd can't be started: the system has no more threads or memory");
    const auto look = [this](double wait_s) {
      std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
      close_overdue();
    };
    while (!stop()) look(kBetweenLooks_s);
    // Clients that have connected are served, although libmicrohttpd hasn't taken them yet: shutting down resets them.
    pollfd queue{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    for (int n = 0; n == 0 || (n < kMostLooks && poll(&queue, 1, 0) > 0); ++n) look(kBetweenLooks_s);
    MHD_quiesce_daemon(daemon.get());
    shutdown(listener_.get(), SHUT_RDWR);  // clients are refused from now on; its threads may still look at the socket
    begin_end();
    look(kBetweenLooks_s);  // a client that was just taken is counted a moment later
    while (counts().open > 0) look(kBetweenLooks_s / 10);
  }

  HttpCounts counts() const override {
    const std::lock_guard lock(mutex_);
    return {.connections = connections_, .open = clients_.size(), .bodies_bytes = promised_};
  }

 private:
  using State = Client::State;

  MHD_Daemon* start() {
    constexpr unsigned kFlags =
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
    const unsigned connections = possible_connections(options_.connections);
    return MHD_start_daemon(kFlags, 0, nullptr, nullptr, on_request, this, MHD_OPTION_LISTEN_SOCKET, listener_.get(),
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, this, MHD_OPTION_URI_LOG_CALLBACK,
                            on_first_line, this, MHD_OPTION_NOTIFY_COMPLETED, on_completed, this,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostHeadBytes, MHD_OPTION_CONNECTION_LIMIT,
                            connections, MHD_OPTION_END);
  }

  void close_overdue() {
    const std::lock_guard lock(mutex_);
    const double now = now_s();
    for (Client* const client : clients_) {
      if (now < client->until_s) continue;
      if (client->state == State::kIdle && bytes_received(client->socket) > client->bytes_before) {
        client->state = State::kReceiving;  // the first line of a request, so far a part of it
        client->until_s = now + options_.transfer_s;
        continue;
      }
      if (client->state == State::kReceiving) {
        send_last(client->socket, http_error(408, "the request took too long to arrive"));
      }
      shutdown(client->socket, SHUT_RDWR);
      client->until_s = kNever;
    }
  }

  void begin_end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Client* const client : clients_) {
      if (client->state == State::kIdle) client->until_s = end_of_idling(*client);
    }
  }

  /// Until when a client may stay without a request. The caller holds the mutex.
  double end_of_idling(const Client& client) const {
    if (!ending_) return now_s() + options_.idle_s;
    const double soon_s = now_s() + kOnItsWay_s;
    return client.is_new ? std::max(soon_s, client.since_s + kFirstRequest_s) : soon_s;
  }

  void enter(Client& client, State state, double limit_s) {
    const std::lock_guard lock(mutex_);
    client.state = state;
    client.until_s = now_s() + limit_s;
  }

  void wait_for_request(Client& client) {
    give_back(client);
    client.has_head = false;
    client.thrown_away = 0;
    client.request = {};
    const std::lock_guard lock(mutex_);
    client.bytes_before = bytes_received(client.socket);
    client.state = State::kIdle;
    client.is_new = false;
    client.until_s = end_of_idling(client);
  }

  void give_back(Client& client) {
    const std::lock_guard lock(mutex_);
    promised_ -= std::exchange(client.promised, 0);
  }

  /// Refuses a request that hasn't arrived as a whole. What still comes of it is thrown away: a socket that is closed
  /// with unread bytes resets the connection, and the answer may be lost with it.
  void refuse(Client& client, const HttpResponse& response) {
    give_back(client);
    client.request = {};
    enter(client, State::kRefused, kLinger_s);
    send_last(client.socket, response);
  }

  /// Bodies that come without a length are promised some memory ahead. Returns false where the request was refused.
  bool promise(Client& client, std::uint64_t bytes) {
    if (bytes <= client.promised) return true;
    if (bytes > options_.body_bytes) {
      refuse(client, http_error(413, fmt::format("the request is larger than the {} bytes that are taken; send fewer "
                                                 "samples at once",
                                                 options_.body_bytes)));
      return false;
    }
    const std::size_t wanted =
        std::min<std::size_t>(std::max<std::size_t>(bytes, 2 * client.promised), options_.body_bytes);
    {
      const std::lock_guard lock(mutex_);
      const std::size_t more = wanted - client.promised;
      if (more <= options_.bodies_bytes - promised_) {
        promised_ += more;
        client.promised = wanted;
        return true;
      }
    }
    refuse(client, try_later("too many large requests at once; try again later"));
    return false;
  }

  void take_head(Client& client, const char* path, const std::string& method) {
    HttpRequest& request = client.request;
    if (method != "GET" && method != "HEAD" && method != "POST") {
      return refuse(client, http_error(405, "only GET, HEAD and POST are answered"));
    }
    request.method = method == "HEAD" ? "GET" : method;
    request.path = path;
    const bool is_text = std::ranges::none_of(request.path, [](unsigned char c) { return c < ' '; });
    if (!client.is_well_formed || !is_text) {
      return refuse(client, http_error(400, "the address has control characters in it"));
    }
    if (lower_case(request.header("content-type")).starts_with("multipart/form-data")) {
      return refuse(client,
                    http_error(415,
                               "forms are not taken; send the body alone, as curl --data-binary @FILE does instead "
                               "of -F"));
    }
    const std::string coding = lower_case(request.header("content-encoding"));
    if (!coding.empty() && coding != "identity") {
      return refuse(client, http_error(415, "compressed bodies are not taken; send them as they are"));
    }
    promise(client, to_number<std::uint64_t>(request.header("content-length")).value_or(0));
  }

  void take_body(Client& client, std::string_view part) {
    if (client.state == State::kRefused) {
      client.thrown_away += part.size();
    } else if (promise(client, client.request.body.size() + part.size())) {
      client.request.body.append(part);
    }
  }

  HttpResponse answer(HttpRequest& request) {
    try {
      return handler_(request);
    } catch (const std::bad_alloc&) {
      return http_error(503, "out of memory; try again later, or send less at once");
    } catch (const std::exception& error) {
      return http_error(500, error.what());
    }
  }

  MHD_Result answer(Client& client, MHD_Connection& connection) {
    enter(client, State::kAnswering, kNever);
    HttpResponse told = answer(client.request);
    give_back(client);
    enter(client, State::kSending, options_.transfer_s);
    const bool has_body = !told.body.empty();
    auto body = std::make_unique<std::string>(std::move(told.body));
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> response(
        MHD_create_response_from_buffer_with_free_callback_cls(
            body->size(), body->data(), [](void* text) { delete static_cast<std::string*>(text); }, body.get()),
        MHD_destroy_response);
    if (!response) return MHD_NO;
    static_cast<void>(body.release());
    if (has_body) MHD_add_response_header(response.get(), "Content-Type", told.content_type.c_str());
    for (const auto& [name, value] : told.headers) {
      MHD_add_response_header(response.get(), name.c_str(), value.c_str());
    }
    if (ending_) MHD_add_response_header(response.get(), "Connection", "close");
    return MHD_queue_response(&connection, static_cast<unsigned>(told.status), response.get());
  }

  // What the library calls, from many threads at the same time.

  static Client& client_of(MHD_Connection* connection) {
    return *static_cast<Client*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  }

  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<MicrohttpdServer*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      auto client = std::make_unique<Client>();
      client->socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
      const std::lock_guard lock(server.mutex_);
      client->until_s = server.end_of_idling(*client);
      server.clients_.insert(client.get());
      ++server.connections_;
      *context = client.release();
      return;
    }
    const std::unique_ptr<Client> client(static_cast<Client*>(*context));
    const std::lock_guard lock(server.mutex_);
    server.clients_.erase(client.get());
  }

  static void* on_first_line(void* self, const char* address, MHD_Connection* connection) {
    auto& server = *static_cast<MicrohttpdServer*>(self);
    Client& client = client_of(connection);
    client.is_well_formed =
        address == nullptr || std::strstr(address, "%00") == nullptr;  // the library would take it for the end
    server.enter(client, State::kReceiving, server.options_.transfer_s);
    return &client;
  }

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method,
                               const char* /*version*/, const char* data, std::size_t* size, void** request) {
    auto& server = *static_cast<MicrohttpdServer*>(self);
    Client& client = *static_cast<Client*>(*request);
    try {
      if (!std::exchange(client.has_head, true)) {
        MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &client.request.headers);
        MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, on_argument, &client.request.query);
        server.take_head(client, path, method);
        return MHD_YES;
      }
      if (*size > 0) {
        server.take_body(client, {data, std::exchange(*size, 0)});
        return client.thrown_away > kMostLingerBytes ? MHD_NO : MHD_YES;
      }
      return client.state == State::kRefused ? MHD_NO : server.answer(client, *connection);
    } catch (const std::exception&) {
      return MHD_NO;  // no memory for the request: the library closes the connection
    }
  }

  static MHD_Result on_header(void* headers, MHD_ValueKind /*kind*/, const char* name, const char* value) {
    static_cast<std::map<std::string, std::string>*>(headers)->emplace(lower_case(name), value ? value : "");
    return MHD_YES;
  }

  static MHD_Result on_argument(void* query, MHD_ValueKind /*kind*/, const char* name, const char* value) {
    static_cast<std::map<std::string, std::string>*>(query)->emplace(name, value ? value : "");
    return MHD_YES;
  }

  static void on_completed(void* self, MHD_Connection* /*connection*/, void** request,
                           MHD_RequestTerminationCode /*code*/) {
    static_cast<MicrohttpdServer*>(self)->wait_for_request(*static_cast<Client*>(*request));
  }

  const HttpOptions options_;
  Descriptor listener_;
  const int port_;
  Handler handler_;
  std::atomic<bool> ending_ = false;
  mutable std::mutex mutex_;  // of what follows, and of states and times of clients
  std::set<Client*> clients_;
  std::uint64_t connections_ = 0;  // that were taken
  std::size_t promised_ = 0;       // bytes for all bodies
};

class MicrohttpdServers : public HttpServers {
 public:
  std::unique_ptr<HttpServer> open(const HttpOptions& options) override {
    return std::make_unique<MicrohttpdServer>(options);
  }
};

const char* version() {
  static const std::string text = std::string("libmicrohttpd ") + MHD_get_version();
  return text.c_str();
}

}  // namespace
}  // namespace evener::serving

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::serving::HttpServers, evener::serving::MicrohttpdServers>(evener::serving::version);
}
