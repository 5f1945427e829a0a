#include "base/stop.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "base/clock.h"
#include "base/this_work.h"

namespace evener {
namespace {

/// Signals within this time count as one request: timeout sends its signal to the process and to its group.
constexpr std::int64_t kOneRequest_ns = 200'000'000;

std::atomic<bool> stop_flag{false};
std::atomic<std::int64_t> first_signal_ns{0};  // 0: none came yet
std::atomic<int> first_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free &&
                  std::atomic<int>::is_always_lock_free,
              "the handler may only touch lock-free atomics");

constexpr int kExitOfSignal = 128;  // as shells count: 128 + the signal's number

void keep_first(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

// Async-signal-safe: lock-free atomics, clock_gettime, write and _exit only.
void on_signal(int signal) {
  keep_first(signal);
  const std::int64_t now = now_ns();
  std::int64_t first = 0;
  if (first_signal_ns.compare_exchange_strong(first, now)) first = now;
  if (!stop_flag.exchange(true) || now - first < kOneRequest_ns) return;
  constexpr char message[] = "\nevener: second signal: ended at once; what was not saved yet is lost\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message, sizeof message - 1);
  _exit(kExitOfSignal + signal);
}

void on_repeatable_signal(int signal) {
  keep_first(signal);
  stop_flag.store(true);
}

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // reads and writes under way go on; the work looks at the flag between steps
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // nohup has set SIGHUP to be ignored, which must stay so.
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void install_stop_handlers() {
  install(on_signal);
}

void take_stop_signals_as_one() {
  install(on_repeatable_signal);
  const sigset_t let_through = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &let_through, nullptr);
}

bool stop_requested() {
  const StopFlag* own = this_work().stop;
  return stop_flag.load(std::memory_order_relaxed) || (own != nullptr && own->requested());
}

void request_stop() {
  stop_flag.store(true);
}

int stop_exit_code() {
  const int signal = first_signal.load();
  return kExitOfSignal + (signal == 0 ? SIGINT : signal);
}

bool is_stop_exit_code(int exit_code) {
  return std::any_of(std::begin(kStopSignals), std::end(kStopSignals),
                     [exit_code](int signal) { return exit_code == kExitOfSignal + signal; });
}

void clear_stop_request() {
  first_signal.store(0);
  stop_flag.store(false);
  first_signal_ns.store(0);
}

BlockedStopSignals::BlockedStopSignals() {
  const sigset_t blocked = stop_signals();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

BlockedStopSignals::~BlockedStopSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace evener
