// A made-up machine that stands in the kernel's place (base/scheduler.h): CPUs with queues, slices, late wake-ups and
// other programs. Threads of a test run on it one at a time, in an order that a seed decides, so that each interleaving
// comes again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/scheduler.h"

namespace evener::test {

struct SimulatedMachine {
  int cpus = 2;
  std::uint64_t seed = 1;
  std::int64_t wake_ns = 150'000;  // the most that waking a thread on an idle CPU takes
  /// Programs that always compute, which may run anywhere.
  int busy_programs = 0;
  /// Housekeeping: a thread of 100 us on any CPU, so often.
  std::int64_t housekeeping_every_ns = 20'000'000;
  bool tells_delays = true;
  bool are_bound = false;  // the threads, to one CPU each
};

class SimulatedScheduler : public Scheduler {
 public:
  explicit SimulatedScheduler(const SimulatedMachine& machine);
  ~SimulatedScheduler() override;

  /// Adds a thread of the team, which may run on `cpus`.
  void add(const std::vector<int>& cpus, std::function<void()> work);
  /// Runs the threads until all have ended.
  void run();
  /// Called by a thread: needs its CPU for so long.
  void compute(std::int64_t ns);
  /// Called by a thread that begins a wait.
  void begin_wait();

  std::int64_t passed_ns() const { return now_ns_ - kBegin_ns; }
  /// Whether the kernel lets each thread run where it might at first.
  bool are_where_they_were() const;
  /// How often threads were told where to run.
  int keeps() const { return keeps_; }
  /// The most waits that a thread began in a state in which two were on one CPU while another of the team's was left:
  /// idle, or for bound threads without one of them.
  int worst_waits() const { return worst_waits_; }

  std::int64_t now_ns() override;
  ThreadId this_thread() override;
  int this_cpu() override;
  std::int64_t delayed_ns() override;
  bool waits_for_cpu(const ThreadId& thread) override;
  cpu_set_t allowed() override;
  bool keep_on(const ThreadId& thread, const cpu_set_t& cpus) override;
  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns) override;
  void wake_all(const std::atomic<std::uint32_t>& word) override;

 private:
  static constexpr std::int64_t kBegin_ns = 10'000'000'000;

  enum class State { kReady, kWaking, kAsleep, kEnded };
  struct Task {
    std::thread thread;  // not of other programs
    std::function<void()> work;
    bool is_member = false, has_begun = false;
    State state = State::kReady;
    cpu_set_t cpus{}, first_cpus{};
    int cpu = 0;
    std::int64_t left_ns = 0;  // of its CPU's time, until it goes on
    std::int64_t delayed_ns = 0;
    const std::atomic<std::uint32_t>* word = nullptr;
    std::int64_t wakes_ns = 0;  // asleep: by itself; waking: when it has woken
    int waits = 0;              // begun while two threads are on one CPU and another is left
    std::condition_variable turn;
  };
  struct Cpu {
    std::deque<Task*> queue;  // the first one runs
    std::int64_t slice_end_ns = 0;
  };

  Task& self();
  bool chance(double probability);
  std::int64_t drawn(std::int64_t least, std::int64_t most);
  void spend(std::int64_t ns);
  void give_turn();
  Task* next_to_go_on();
  void pass(std::int64_t ns);
  std::int64_t next_event_ns() const;
  void handle_events();
  void leave_cpu(Task& task);
  void put_on(Task& task, int cpu, bool first);
  int cpu_for_woken(const Task& task);
  void start_waking(Task& task);
  void balance(int cpu);
  void note_state(std::int64_t ns);

  const SimulatedMachine machine_;
  std::mt19937_64 random_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Cpu> cpus_;
  cpu_set_t theirs_{};  // CPUs that the threads may run on for good
  Task* has_turn_ = nullptr;
  std::int64_t now_ns_ = kBegin_ns, housekeeping_ns_ = 0;
  int members_ = 0, ended_ = 0, keeps_ = 0;
  bool is_shared_ = false;  // two members are on one CPU, and another is left
  int worst_waits_ = 0;
};

}  // namespace evener::test
