#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace evener {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel and other processes look at the bare word");

// Never FUTEX_PRIVATE: the sleepers may be other processes.
void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
  syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns) {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const timespec limit{static_cast<std::time_t>(limit_ns / kSecond_ns), static_cast<long>(limit_ns % kSecond_ns)};
  futex(word, FUTEX_WAIT, seen, &limit);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace evener
