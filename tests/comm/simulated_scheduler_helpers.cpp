#include "comm/simulated_scheduler_helpers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace evener::test {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLook_ns =
    4000;                               // at the clock, with what a loop does between two; longer than it is, for speed
constexpr std::int64_t kCall_ns = 500;  // a short system call
constexpr std::int64_t kFile_ns = 5000;  // reading a file of /proc
constexpr std::int64_t kMove_ns = 3000;  // moving a thread
constexpr std::int64_t kHousekeeping_ns = 100'000;
constexpr std::int64_t kLongest_ns = 60'000'000'000;

bool has(const cpu_set_t& cpus, int cpu) {
  return CPU_ISSET(static_cast<unsigned>(cpu), &cpus) != 0;
}

}  // namespace

SimulatedScheduler::SimulatedScheduler(const SimulatedMachine& machine)
    : machine_(machine), random_(machine.seed), cpus_(static_cast<std::size_t>(machine.cpus)) {
  housekeeping_ns_ = kBegin_ns + drawn(0, machine_.housekeeping_every_ns);
}

SimulatedScheduler::~SimulatedScheduler() {
  for (const auto& task : tasks_) {
    if (task->thread.joinable()) task->thread.join();
  }
}

bool SimulatedScheduler::chance(double probability) {
  return std::uniform_real_distribution<>()(random_) < probability;
}

std::int64_t SimulatedScheduler::drawn(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
}

SimulatedScheduler::Task& SimulatedScheduler::self() {
  return *has_turn_;  // who asks is who runs
}

void SimulatedScheduler::add(const std::vector<int>& cpus, std::function<void()> work) {
  auto task = std::make_unique<Task>();
  task->is_member = true;
  task->work = std::move(work);
  CPU_ZERO(&task->cpus);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<unsigned>(cpu), &task->cpus);
    CPU_SET(static_cast<unsigned>(cpu), &theirs_);
  }
  task->first_cpus = task->cpus;
  tasks_.push_back(std::move(task));
  put_on(*tasks_.back(), cpus[static_cast<std::size_t>(members_) % cpus.size()], false);
  ++members_;
}

void SimulatedScheduler::run() {
  for (int i = 0; i < machine_.busy_programs; ++i) {
    auto program = std::make_unique<Task>();
    for (int cpu = 0; cpu < machine_.cpus; ++cpu) CPU_SET(static_cast<unsigned>(cpu), &program->cpus);
    program->left_ns = kNever;
    tasks_.push_back(std::move(program));
    put_on(*tasks_.back(), i % machine_.cpus, false);
  }
  std::unique_lock lock(mutex_);
  for (const auto& each : tasks_) {
    if (!each->is_member) continue;
    each->thread = std::thread([this, task = each.get()] {
      {
        std::unique_lock own(mutex_);
        task->turn.wait(own, [&] { return has_turn_ == task; });
      }
      task->work();
      const std::lock_guard own(mutex_);
      leave_cpu(*task);
      task->state = State::kEnded;
      ++ended_;
      give_turn();
    });
  }
  give_turn();
  all_ended_.wait(lock, [&] { return ended_ == members_; });
}

/// Lets the thread go on that may go on next; called by the one that had the turn, with the lock.
void SimulatedScheduler::give_turn() {
  if (ended_ == members_) {
    has_turn_ = nullptr;
    return all_ended_.notify_all();
  }
  has_turn_ = next_to_go_on();
  has_turn_->turn.notify_all();
}

/// Uses the calling thread's CPU for so long; others go on meanwhile.
void SimulatedScheduler::spend(std::int64_t ns) {
  std::unique_lock lock(mutex_);
  Task& task = self();
  task.left_ns = ns;
  give_turn();
  task.turn.wait(lock, [&] { return has_turn_ == &task; });
}

SimulatedScheduler::Task* SimulatedScheduler::next_to_go_on() {
  for (;;) {
    std::vector<Task*> all;
    for (const Cpu& cpu : cpus_) {
      if (!cpu.queue.empty() && cpu.queue.front()->is_member && cpu.queue.front()->left_ns == 0) {
        all.push_back(cpu.queue.front());
      }
    }
    if (!all.empty()) return all[static_cast<std::size_t>(drawn(0, static_cast<std::int64_t>(all.size()) - 1))];
    pass(next_event_ns() - now_ns_);
    handle_events();
  }
}

std::int64_t SimulatedScheduler::next_event_ns() const {
  std::int64_t next = housekeeping_ns_;
  for (const Cpu& cpu : cpus_) {
    if (cpu.queue.empty()) continue;
    if (cpu.queue.front()->left_ns != kNever) next = std::min(next, now_ns_ + cpu.queue.front()->left_ns);
    if (cpu.queue.size() > 1) next = std::min(next, cpu.slice_end_ns);
  }
  for (const auto& task : tasks_) {
    if (task->state == State::kAsleep || task->state == State::kWaking) next = std::min(next, task->wakes_ns);
  }
  return std::max(next, now_ns_);
}

void SimulatedScheduler::pass(std::int64_t ns) {
  note_state(ns);
  now_ns_ += ns;
  for (const Cpu& cpu : cpus_) {
    for (Task* const task : cpu.queue) {
      if (task != cpu.queue.front()) {
        task->delayed_ns += ns;
        continue;
      }
      if (task->left_ns != kNever) task->left_ns -= ns;
    }
  }
}

void SimulatedScheduler::handle_events() {
  for (const auto& task : tasks_) {
    if (task->state == State::kAsleep && task->wakes_ns <= now_ns_) start_waking(*task);
    if (task->state == State::kWaking && task->wakes_ns <= now_ns_) {
      put_on(*task, cpu_for_woken(*task), chance(0.5));
    }
  }
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    Cpu& cpu = cpus_[i];
    // Housekeeping has done its work, and is no more.
    if (!cpu.queue.empty() && !cpu.queue.front()->is_member && cpu.queue.front()->left_ns == 0) {
      Task& done = *cpu.queue.front();
      leave_cpu(done);
      done.state = State::kEnded;
    }
    if (cpu.queue.size() > 1 && cpu.slice_end_ns <= now_ns_) {
      std::rotate(cpu.queue.begin(), cpu.queue.begin() + 1, cpu.queue.end());
      cpu.slice_end_ns = now_ns_ + drawn(1'000'000, 4'000'000);
    }
    if (cpu.queue.empty() && chance(0.02)) balance(static_cast<int>(i));
  }
  if (housekeeping_ns_ <= now_ns_) {
    housekeeping_ns_ = now_ns_ + drawn(1, 2 * machine_.housekeeping_every_ns);
    std::erase_if(tasks_, [](const auto& task) { return !task->is_member && task->state == State::kEnded; });
    auto task = std::make_unique<Task>();
    const int cpu = static_cast<int>(drawn(0, machine_.cpus - 1));
    CPU_SET(static_cast<unsigned>(cpu), &task->cpus);
    task->left_ns = kHousekeeping_ns;
    tasks_.push_back(std::move(task));
    put_on(*tasks_.back(), cpu, true);
  }
  if (passed_ns() > kLongest_ns) {
    std::fprintf(stderr, "the threads did not end in a minute of the simulated machine's\n");
    std::abort();  // they can't be ended from outside
  }
}

/// An idle CPU takes a thread that waits for another, as the kernel does when it has the time.
void SimulatedScheduler::balance(int cpu) {
  for (Cpu& other : cpus_) {
    for (std::size_t i = 1; i < other.queue.size(); ++i) {
      Task& task = *other.queue[i];
      if (!has(task.cpus, cpu)) continue;
      leave_cpu(task);
      return put_on(task, cpu, false);
    }
  }
}

void SimulatedScheduler::leave_cpu(Task& task) {
  Cpu& cpu = cpus_[static_cast<std::size_t>(task.cpu)];
  const bool ran = !cpu.queue.empty() && cpu.queue.front() == &task;
  std::erase(cpu.queue, &task);
  if (ran) cpu.slice_end_ns = now_ns_ + drawn(1'000'000, 4'000'000);
}

void SimulatedScheduler::put_on(Task& task, int number, bool first) {
  Cpu& cpu = cpus_[static_cast<std::size_t>(number)];
  task.state = State::kReady;
  task.cpu = number;
  if (cpu.queue.empty() || first) cpu.slice_end_ns = now_ns_ + drawn(1'000'000, 4'000'000);
  cpu.queue.insert(first ? cpu.queue.begin() : cpu.queue.end(), &task);
}

void SimulatedScheduler::start_waking(Task& task) {
  task.word = nullptr;
  task.state = State::kWaking;
  task.wakes_ns = now_ns_ + drawn(1000, machine_.wake_ns);
}

/// The CPU where it ran, if that is idle; otherwise an idle one; otherwise any that it may run on.
int SimulatedScheduler::cpu_for_woken(const Task& task) {
  std::vector<int> allowed, idle;
  for (int cpu = 0; cpu < machine_.cpus; ++cpu) {
    if (!has(task.cpus, cpu)) continue;
    allowed.push_back(cpu);
    if (cpus_[static_cast<std::size_t>(cpu)].queue.empty()) idle.push_back(cpu);
  }
  if (std::ranges::find(idle, task.cpu) != idle.end()) return task.cpu;
  const std::vector<int>& among = idle.empty() ? allowed : idle;
  return among[static_cast<std::size_t>(drawn(0, static_cast<std::int64_t>(among.size()) - 1))];
}

void SimulatedScheduler::note_state(std::int64_t ns) {
  std::vector<int> members(cpus_.size());
  for (const auto& task : tasks_) {
    if (task->is_member && task->state == State::kReady) ++members[static_cast<std::size_t>(task->cpu)];
  }
  bool are_two_on_one = false, is_one_left = false;
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    if (!has(theirs_, static_cast<int>(cpu))) continue;
    are_two_on_one |= members[cpu] > 1;
    is_one_left |= machine_.are_bound ? members[cpu] == 0 : cpus_[cpu].queue.empty();
  }
  const bool is_shared = are_two_on_one && is_one_left;
  for (const auto& task : tasks_) {
    if (!is_shared && ns > 0) task->waits = 0;
  }
  is_shared_ = is_shared;
}

void SimulatedScheduler::begin_wait() {
  const std::lock_guard lock(mutex_);
  const auto& queue = cpus_[static_cast<std::size_t>(self().cpu)].queue;
  const bool is_on_it = std::ranges::count_if(queue, [](const Task* task) { return task->is_member; }) > 1;
  if (is_shared_ && is_on_it) worst_waits_ = std::max(worst_waits_, ++self().waits);
}

bool SimulatedScheduler::are_where_they_were() const {
  return std::ranges::all_of(
      tasks_, [](const auto& task) { return !task->is_member || CPU_EQUAL(&task->cpus, &task->first_cpus); });
}

void SimulatedScheduler::compute(std::int64_t ns) {
  spend(ns);
}

std::int64_t SimulatedScheduler::now_ns() {
  spend(kLook_ns);
  return now_ns_;
}

ThreadId SimulatedScheduler::this_thread() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].get() == has_turn_) return {1, static_cast<pid_t>(i + 1)};
  }
  return {};
}

int SimulatedScheduler::this_cpu() {
  return self().cpu;
}

std::int64_t SimulatedScheduler::delayed_ns() {
  spend(kFile_ns);
  return machine_.tells_delays ? self().delayed_ns : -1;
}

bool SimulatedScheduler::waits_for_cpu(const ThreadId& thread) {
  spend(2 * kFile_ns);
  if (thread.thread == 0) return false;
  const Task& task = *tasks_[static_cast<std::size_t>(thread.thread - 1)];
  if (task.state != State::kReady) return task.state == State::kWaking;
  return cpus_[static_cast<std::size_t>(task.cpu)].queue.front() != &task;
}

cpu_set_t SimulatedScheduler::allowed() {
  return self().cpus;
}

bool SimulatedScheduler::keep_on(const ThreadId& thread, const cpu_set_t& cpus) {
  spend(kCall_ns);
  {
    const std::lock_guard lock(mutex_);
    Task& task = *tasks_[static_cast<std::size_t>(thread.thread - 1)];
    ++keeps_;
    task.cpus = cpus;
    if (task.state == State::kReady && !has(cpus, task.cpu)) {
      leave_cpu(task);
      put_on(task, cpu_for_woken(task), chance(0.5));
    }
  }
  spend(kMove_ns);
  return true;
}

void SimulatedScheduler::wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns) {
  spend(kCall_ns);
  std::unique_lock lock(mutex_);
  if (word.load() != seen) return;
  Task& task = self();
  leave_cpu(task);
  task.state = State::kAsleep;
  task.word = &word;
  task.wakes_ns = now_ns_ + limit_ns;
  task.left_ns = kLook_ns;
  if (const int cpu = task.cpu; cpus_[static_cast<std::size_t>(cpu)].queue.empty() && chance(0.3)) balance(cpu);
  give_turn();
  task.turn.wait(lock, [&] { return has_turn_ == &task; });
}

void SimulatedScheduler::wake_all(const std::atomic<std::uint32_t>& word) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& task : tasks_) {
      if (task->state == State::kAsleep && task->word == &word) start_waking(*task);
    }
  }
  spend(kMove_ns);
}

}  // namespace evener::test
