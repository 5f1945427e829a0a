#include "job/http/http_module/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/error.h"

namespace evener::job::http_module {
namespace {

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

/// Of the first address that can be listened on; invalid where there is none, with errno set.
Descriptor bound_socket(const addrinfo* addresses) {
  int error = 0;
  for (const addrinfo* one = addresses; one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    const int on = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (socket.valid() && bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
    if (error == 0) error = errno;
  }
  errno = error;
  return {};
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

int port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Listener::Listener(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  socket_ = bound_socket(addresses.get());
  if (!socket_.valid()) {
    const int error = errno;
    throw Error(fmt::format("can't listen on {}:{}: {}; {}", host, port, std::strerror(error), advice_for(error)));
  }
  port_ = port_of(socket_);
}

int Listener::accept(double wait_s) {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, static_cast<int>(wait_s * 1000)) <= 0) return -1;
  const int client = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) {
    // Without descriptors the client stays in the queue, and poll() would return at once.
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return -1;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return client;
}

/// Closing alone would reset those who connect between the last accept() and close(). A filter that drops what opens a
/// connection leaves them knocking until the socket is closed and they are refused. It lets pass what completes one:
/// its client takes it for made already.
void Listener::refuse_others() {
  constexpr unsigned kFlagsOffset = 13, kSyn = 0x02;  // in a TCP header (RFC 9293, 3.1), which is what a filter sees
  sock_filter drop_new[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsOffset),
                            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
                            BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
  const sock_fprog program{.len = 4, .filter = drop_new};
  setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

}  // namespace evener::job::http_module
