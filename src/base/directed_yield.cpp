#include "base/directed_yield.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/cpu.h"

namespace evener {
namespace {

/// Time between two looks at what the other thread does: about the cost of a look.
constexpr std::int64_t kBetweenLooks_ns = 20'000;
/// After spinning for so long, the others' work is longer than a small step, and the cost of being woken is small
/// beside it.
constexpr std::int64_t kLongestSpin_ns = 1'000'000;
/// A sleeping thread checks at longer and longer intervals whether the awaited one still runs.
constexpr std::int64_t kFirstSleep_ns = 2'000'000, kLongestSleep_ns = 1'000'000'000;
/// Delays are counted over so long, and known for some windows more.
constexpr std::int64_t kWindow_ns = 200'000'000, kKnown_ns = 1'000'000'000;
/// The share of a window for which a thread must be delayed. Measured on two CPUs: 0.002 on a quiet machine, up to 0.03
/// where a window has the sampler's turn or housekeeping of the kernel, 0.1 when a run starts; beside a busy program
/// 0.3 and more, and 0.04 to 0.3 while CPUs are given away.
constexpr double kDelayed = 0.15, kStillDelayed = 0.04;

/// What the processes of a run know together: children that are forked later inherit the memory.
struct Known {
  std::atomic<std::int64_t> contended_until_ns{0}, exchanged{0}, lent{0};
};

Known& make_known() {
  static Known own;
  void* const shared = ::mmap(nullptr, sizeof(Known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? own : *new (shared) Known{};
}

Known& known = make_known();

/// Of the calling thread.
struct Window {
  std::int64_t begin_ns = 0, delayed_ns = 0;
  std::int64_t excused_ns = 0;  // delays since it began which no other program has caused
};
thread_local Window window;

/// A quota makes threads wait for time rather than for a CPU.
bool is_under_quota() {
  static const bool is =
      cpu_topology().quota_cpus > 0 && cpu_topology().quota_cpus < static_cast<double>(cpu_topology().allowed.size());
  return is;
}

}  // namespace

GivenCpus given_cpus() {
  return {known.exchanged, known.lent};
}

bool cpus_are_contended(std::int64_t now_ns) {
  return now_ns < known.contended_until_ns;
}

void assume_contention(std::int64_t until_ns) {
  known.contended_until_ns = until_ns;
}

namespace {

/// Looks at the calling thread's delays, when the window is over.
void note_delays(ThreadPlace& place, std::int64_t now_ns) {
  const std::int64_t passed_ns = now_ns - window.begin_ns;
  if (passed_ns < kWindow_ns) return;
  place.count_turns();
  const std::int64_t delayed_ns = scheduler().delayed_ns();
  const bool has_begun = window.begin_ns != 0 && delayed_ns >= 0;
  const double share =
      static_cast<double>(delayed_ns - window.delayed_ns - window.excused_ns) / static_cast<double>(passed_ns);
  if (has_begun && share > (cpus_are_contended(now_ns) ? kStillDelayed : kDelayed)) {
    known.contended_until_ns = now_ns + kKnown_ns;
  }
  window = {now_ns, delayed_ns};
}

}  // namespace

bool is_stuck(StepThread& self, const StepThread& other, std::int64_t now_ns) {
  note_delays(self.place(), now_ns);
  return cpus_are_contended(now_ns) && !is_under_quota() && scheduler().waits_for_cpu(other.place().id());
}

void StepThread::settle() {
  if (giver_.load(std::memory_order_relaxed) == nullptr) return;
  StepThread* const giver = giver_.exchange(nullptr);
  if (giver == nullptr) return;
  if (!place_.is_bound()) {  // the giver may have lost the CPU before it said so
    place_.want_all();
    place_.hold();
  }
  giver->place_.hold();
}

bool YieldingSleep::give(StepThread& other, int members) {
  ThreadPlace &own = self_.place_, &its = other.place_;
  if (&other == &self_) return false;
  own.hold();
  const int cpu = scheduler().this_cpu();
  const bool are_bound = own.is_bound() && its.is_bound();
  if (!are_bound && (own.count() < std::max(2, members) || !its.has(cpu))) return false;
  StepThread* nobody = nullptr;
  if (!other.giver_.compare_exchange_strong(nobody, &self_)) return false;
  given_to_ = &other;
  delayed_before_ns_ = scheduler().delayed_ns();
  // As no CPU is idle, the kernel would wake this thread on that of the thread that wakes it. So it wakes on its home,
  // which must be another. A team with fewer threads than CPUs finds one that is idle.
  const bool is_full = are_bound || own.count() == members;
  const bool exchanges = are_bound || (is_full && own.home() == cpu);
  if (exchanges && !ThreadPlace::exchange_homes(own, its)) {
    end();
    return false;
  }
  if (is_full) own.want_home();
  is_kept_ = is_full && !are_bound;
  if (are_bound) {
    its.want_home();
  } else {
    its.want(cpu);
  }
  // From here on `other` may run on this CPU, and this thread only once `other` has left it.
  const bool can = its.hold();
  if (!can && exchanges) ThreadPlace::exchange_homes(own, its);
  if (!are_bound) {
    its.want_all();  // where it goes from there, and the threads that it starts, is the kernel's business again
  } else if (!can) {
    own.want_home();
    its.want_home();
  }
  its.hold();
  if (can) ++(are_bound ? known.exchanged : known.lent);
  // If `other` has taken the CPU before this thread could leave it, it makes it leave when it arrives.
  own.hold();
  if (!can) end();
  return can;
}

void YieldingSleep::sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns,
                          int members) {
  ThreadPlace& own = self_.place_;
  if (given_to_ != nullptr) {
    excuse();
  } else if (own.count() > 1 && own.count() == members && cpus_are_contended(scheduler().now_ns())) {
    is_kept_ = true;
    own.want_home();
    own.hold();
  }
  scheduler().wait(word, seen, limit_ns);
  end();
}

/// Leaves out of the thread's delays what giving its CPU away has caused.
void YieldingSleep::excuse() {
  if (delayed_before_ns_ >= 0) window.excused_ns += scheduler().delayed_ns() - delayed_before_ns_;
  delayed_before_ns_ = -1;
}

void YieldingSleep::end() {
  if (given_to_ != nullptr) {
    excuse();
    StepThread* self = &self_;
    given_to_->giver_.compare_exchange_strong(self, nullptr);
    given_to_ = nullptr;
  }
  if (is_kept_) self_.place_.want_all();
  is_kept_ = false;
  self_.place_.hold();
}

std::int64_t StepWait::spin_end_ns() {
  return scheduler().now_ns() + kBetweenLooks_ns;
}

bool StepWait::must_sleep(const StepThread& other) {
  const std::int64_t now = scheduler().now_ns();
  is_stuck_ = is_stuck(self_, other, now);
  return is_stuck_ || now - begin_ns_ > kLongestSpin_ns;
}

void StepWait::sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, StepThread& other) {
  YieldingSleep sleep(self_);
  if (is_stuck_) sleep.give(other, members_);
  sleep_ns_ = sleep_ns_ == 0 ? kFirstSleep_ns : std::min(2 * sleep_ns_, kLongestSleep_ns);
  sleep.sleep(word, seen, sleep_ns_, members_);
}

void announce(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers) {
  word.fetch_add(1);
  if (sleepers.load() > 0) scheduler().wake_all(word);
}

}  // namespace evener
