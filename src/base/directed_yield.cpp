#include "base/directed_yield.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/futex.h"

namespace evener {
namespace {

/// Time between two looks at the other thread's clock: a few times the cost of a look.
constexpr std::int64_t kBetweenLooks_ns = 20'000;
/// After spinning for so long, the others' work is longer than a small step, and the cost of being woken is small
/// beside it.
constexpr std::int64_t kLongestSpin_ns = 1'000'000;
/// A sleeping thread checks at longer and longer intervals whether the awaited one still runs.
constexpr std::int64_t kFirstSleep_ns = 2'000'000, kLongestSleep_ns = 1'000'000'000;
/// How much a thread's clock may still advance between its last reading and falling asleep.
constexpr std::int64_t kFallingAsleep_ns = 10'000;

pid_t this_thread_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

/// The CPU time of a thread; -1 if the thread doesn't exist any more.
std::int64_t ran_ns(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return -1;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool move_to(pid_t thread, int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  return sched_setaffinity(thread, sizeof one, &one) == 0;
}

/// The CPU with the index `number`, modulo their count, among the CPUs of the set; -1 if the set is empty.
int nth_of(const cpu_set_t& cpus, int number) {
  const int count = CPU_COUNT(&cpus);
  int left = count == 0 ? 0 : number % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &cpus) && left-- == 0) return cpu;
  }
  return -1;
}

bool hardly_ran(std::int64_t ran_ns, std::int64_t of_ns) {
  return ran_ns * 4 < of_ns;
}

bool may_run_on(const cpu_set_t& cpus, int cpu) {
  return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(cpu), &cpus);
}

}  // namespace

void StepThread::begin(int number) {
  static thread_local const char mark = 0;
  if (mark_ == &mark && pins_ == pins_of_this_thread()) return;
  mark_ = &mark;
  pins_ = pins_of_this_thread();
  clockid_t clock{};
  pthread_getcpuclockid(pthread_self(), &clock);
  clock_ = clock;
  id_ = this_thread_id();
  const std::lock_guard lock(allowed_mutex_);
  // It fails where there are more CPUs than the set has room for; then nothing is given away.
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
  // The home CPU may have been exchanged with another thread's.
  if (!may_run_on(allowed_, home_)) home_ = nth_of(allowed_, number);
}

cpu_set_t StepThread::allowed() const {
  const std::lock_guard lock(allowed_mutex_);
  return allowed_;
}

/// Binds this thread to its home CPU, so that it wakes there. As no CPU is idle, the scheduler would otherwise wake it
/// on that of the thread that wakes it.
void StepThread::stay_home() const {
  if (home_ >= 0) move_to(id_, home_);
}

void StepThread::give_back() {
  if (giver_.load(std::memory_order_relaxed) == nullptr) return;
  StepThread* const giver = giver_.exchange(this);
  if (giver != nullptr) {
    home_ = giver->home_.exchange(home_);
    giver->stay_home();
  }
  giver_ = nullptr;
}

StepWait::StepWait(StepThread& self, int members) : self_(self), members_(members), sleep_ns_(kFirstSleep_ns) {}

void StepWait::pause() {
  __builtin_ia32_pause();
}

bool StepWait::before(std::int64_t time_ns) {
  return now_ns() < time_ns;
}

std::int64_t StepWait::spin_end_ns() const {
  return now_ns() + kBetweenLooks_ns;
}

bool StepWait::must_sleep(const StepThread& other) {
  const std::int64_t now = now_ns(), ran = ran_ns(other.clock_);
  const bool is_second_look = looked_at_ == &other;
  // A thread that hasn't run since it last fell asleep is stuck, without a second look.
  is_stuck_ = is_second_look ? hardly_ran(ran - ran_ns_, now - looked_ns_)
                             : ran >= 0 && ran - other.ran_at_sleep_ns_ < kFallingAsleep_ns;
  looked_at_ = &other;
  looked_ns_ = now;
  ran_ns_ = ran;
  return is_stuck_ || (is_second_look && now - begin_ns_ > kLongestSpin_ns);
}

void StepWait::sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, StepThread& other) {
  const cpu_set_t own = self_.allowed();
  const bool is_full = CPU_COUNT(&own) <= members_;
  const bool gave = is_stuck_ && give_cpu(other, is_full);
  if (is_full && !gave) self_.stay_home();
  self_.ran_at_sleep_ns_ = ran_ns(self_.clock_);
  futex_wait(word, seen, sleep_ns_);
  if (gave) take_back(other);
  if (is_full) sched_setaffinity(0, sizeof own, &own);
  sleep_ns_ = std::min(2 * sleep_ns_, kLongestSleep_ns);
  looked_at_ = nullptr;
}

/// Moves `other` to this thread's CPU: binds it there for a moment, upon which the kernel moves it at once, and then
/// restores its former affinity, so that neither it nor the threads that it starts stay bound. `other` may run, and
/// even give the CPU back, before its affinity is restored.
bool StepWait::give_cpu(StepThread& other, bool is_full) {
  const int cpu = sched_getcpu();
  const cpu_set_t its = other.allowed();
  if (!may_run_on(its, cpu)) return false;
  StepThread* nobody = nullptr;
  // Gives up where another thread has given `other` a CPU already.
  if (is_full && !other.giver_.compare_exchange_strong(nobody, &self_)) return false;
  move_to(other.id_, cpu);
  sched_setaffinity(other.id_, sizeof its, &its);
  return is_full;
}

void StepWait::take_back(StepThread& other) {
  StepThread* self = &self_;
  if (other.giver_.compare_exchange_strong(self, nullptr)) return;
  while (other.giver_ == &other) sched_yield();  // otherwise `other` might still change this thread's affinity later
}

void BoundThread::begin() {
  clockid_t clock{};
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) clock_ = clock;
  if (clock_getcpuclockid(getpid(), &clock) == 0) process_clock_ = clock;
  pins_ = pins_of_this_thread();
  cpu_set_t cpus;
  const bool is_bound = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
  cpu_ = is_bound ? 1 + nth_of(cpus, 0) : kNone;
  id_ = this_thread_id();
}

bool BoundThread::is_this_thread() const {
  return id_ == this_thread_id() && pins_ == pins_of_this_thread();
}

bool BoundThread::exchange_cpus(BoundThread& other) {
  int own = cpu_.exchange(kNone);
  int its = own == kNone ? kNone : other.cpu_.exchange(kNone);
  const bool can = its != kNone && move_to(other.id_, own - 1);
  if (can) {
    move_to(id_, its - 1);
    std::swap(own, its);
  }
  if (own != kNone) cpu_ = own;
  if (its != kNone) other.cpu_ = its;
  return can;
}

/// The CPU time of the thread, or of its whole process if that isn't this one: the kernel doesn't tell more about other
/// processes.
std::int64_t BoundThread::ran_ns() const {
  const std::int64_t ran = evener::ran_ns(clock_);
  return ran >= 0 ? ran : evener::ran_ns(process_clock_);
}

bool ClockLook::is_stuck(const BoundThread& thread) {
  const std::int64_t now = now_ns(), ran = thread.ran_ns();
  const bool is_second_look = looked_at_ == &thread;
  const bool is_stuck = is_second_look && ran >= 0 && hardly_ran(ran - ran_ns_, now - looked_ns_);
  looked_at_ = &thread;
  looked_ns_ = now;
  ran_ns_ = ran;
  return is_stuck;
}

void announce(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers) {
  word.fetch_add(1);
  if (sleepers.load() > 0) futex_wake_all(word);
}

}  // namespace evener
