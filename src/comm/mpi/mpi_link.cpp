#include "comm/mpi/mpi_link.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace evener::comm::mpi {
namespace {

constexpr std::int64_t kSpin_ns = 20'000, kShortestSleep_ns = 20'000, kLongestSleep_ns = 1'000'000;
constexpr std::int64_t kLongestLook_ns = 100'000'000;
constexpr std::int64_t kLongestWait_ns = std::int64_t{30} * 60 * 1'000'000'000;  // as within a host

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error("between the hosts, " + std::string(call) + " failed: " + std::string(text, text + length) +
              "; is every host still there, and its network?");
}

void Link::lose(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (lost_.load()) return;
  reason_ = what;
  lost_.store(true);
}

void Link::throw_if_lost() const {
  if (!lost_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  throw Error(reason_);
}

void Link::wait(std::span<MPI_Request> requests, std::span<MPI_Status> statuses, const char* call) const {
  std::int64_t waited = 0;  // a stop of everything counts as one look, however long it was
  for (std::int64_t last_look = now_ns();;) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data()), call);
    if (done != 0) return;
    throw_if_lost();
    const std::int64_t now = now_ns();
    waited += std::min(now - std::exchange(last_look, now), kLongestLook_ns);
    if (waited > kLongestWait_ns) {
      throw Error("between the hosts, " + std::string(call) +
                  " did not end within 30 min: another host is busy or lost");
    }
    if (waited < kSpin_ns) continue;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(waited / 8, kShortestSleep_ns, kLongestSleep_ns)));
  }
}

void Link::wait(MPI_Request request, const char* call) const {
  MPI_Status status;
  wait(std::span(&request, 1), std::span(&status, 1), call);
}

}  // namespace evener::comm::mpi
