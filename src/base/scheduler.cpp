#include "base/scheduler.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/clock.h"

namespace evener {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel and other processes look at the bare word");

pid_t this_thread_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

/// The beginning of a small file of /proc; "" if it can't be read.
class ProcText {
 public:
  explicit ProcText(const char* path) {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = descriptor < 0 ? 0 : ::read(descriptor, text_.data(), text_.size() - 1);
    if (descriptor >= 0) ::close(descriptor);
    text_[size < 0 ? 0 : static_cast<std::size_t>(size)] = '\0';
  }
  ProcText(const ThreadId& thread, const char* name) : ProcText(Path(thread, name).text.data()) {}

  const char* get() const { return text_.data(); }

 private:
  struct Path {
    std::array<char, 64> text;
    Path(const ThreadId& thread, const char* name) {
      std::snprintf(text.data(), text.size(), "/proc/%d/task/%d/%s", thread.process, thread.thread, name);
    }
  };
  std::array<char, 8192> text_;  // the sets of CPUs in it are as long as the machine is large
};

/// https://docs.kernel.org/scheduler/sched-stats.html; zeros if it can't be read.
struct Schedstat {
  long long ran_ns = 0, delayed_ns = 0, turns = 0;  // how often the thread got a CPU

  explicit Schedstat(const char* text) {
    if (std::sscanf(text, "%lld %lld %lld", &ran_ns, &delayed_ns, &turns) != 3) turns = 0;
  }
};

constexpr const char* kState = "\nState:\t";

/// The number behind a name in the text of /proc/PID/task/TID/status; -1 if it isn't there.
long long number_of(const char* text, const char* name) {
  const char* const found = std::strstr(text, name);
  return found == nullptr ? -1 : std::atoll(found + std::strlen(name));
}

/// How often a thread left a CPU, and then how often it got one; 0 if the kernel doesn't tell.
struct Turns {
  bool is_ready = false;
  long long left = 0, got = 0;
};

Turns turns_of(const ThreadId& thread) {
  const ProcText status(thread, "status");
  const char* const state = std::strstr(status.get(), kState);
  const long long by_itself = number_of(status.get(), "\nvoluntary_ctxt_switches:"),
                  made_to = number_of(status.get(), "\nnonvoluntary_ctxt_switches:");
  if (state == nullptr || by_itself < 0 || made_to < 0) return {};
  return {state[std::strlen(kState)] == 'R', by_itself + made_to, Schedstat(ProcText(thread, "schedstat").get()).turns};
}

class Linux : public Scheduler {
 public:
  std::int64_t now_ns() override { return evener::now_ns(); }

  ThreadId this_thread() override { return {.process = getpid(), .thread = this_thread_id()}; }
  int this_cpu() override { return sched_getcpu(); }

  std::int64_t delayed_ns() override {
    const Schedstat own(ProcText("/proc/thread-self/schedstat").get());
    return own.turns > 0 ? own.delayed_ns : -1;
  }

  std::int64_t turns_ahead() override {
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; ++i) {
      const Turns before = turns_of(this_thread()), after = turns_of(this_thread());
      // Otherwise it left a CPU, and got one, between two readings.
      if (before.got > 0 && before.got == after.got && before.left == after.left) return after.got - after.left;
    }
    return 1;
  }

  /// A thread that has left a CPU as often as it got one has none now. No clock tells so: that of another process
  /// stands still between two ticks of the kernel, 4 ms and more, though the process runs. As what it left is read
  /// first, a thread that gets a CPU meanwhile isn't taken for one that waits.
  bool waits_for_cpu(const ThreadId& thread) override {
    const Turns turns = turns_of(thread);
    return turns.is_ready && turns.got > 0 && turns.got == turns.left + thread.turns_ahead - 1;
  }

  cpu_set_t allowed() override {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) CPU_ZERO(&cpus);
    return cpus;
  }
  bool keep_on(const ThreadId& thread, const cpu_set_t& cpus) override {
    return sched_setaffinity(thread.thread, sizeof cpus, &cpus) == 0;
  }

  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns) override {
    const timespec limit{static_cast<std::time_t>(limit_ns / kSecond_ns), static_cast<long>(limit_ns % kSecond_ns)};
    futex(word, FUTEX_WAIT, seen, &limit);
  }
  void wake_all(const std::atomic<std::uint32_t>& word) override { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

 private:
  /// Never FUTEX_PRIVATE: the sleepers may be other processes.
  static void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
    syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
  }
};

std::atomic<Scheduler*> in_its_place{nullptr};

}  // namespace

Scheduler& scheduler() {
  static Scheduler& of_linux = *new Linux;  // threads that outlive main() may still wait
  Scheduler* const other = in_its_place.load(std::memory_order_acquire);
  return other != nullptr ? *other : of_linux;
}

void use_scheduler(Scheduler* other) {
  in_its_place = other;
}

}  // namespace evener
