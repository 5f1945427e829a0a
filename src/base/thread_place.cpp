#include "base/thread_place.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace evener {
namespace {

constexpr std::size_t kWordBits = 64;

std::uint64_t bit_of(int cpu) {
  return std::uint64_t{1} << (static_cast<std::size_t>(cpu) % kWordBits);
}

/// Tells the threads of a process apart, those that have ended too, without a system call. 0 is none.
std::uint64_t this_thread_number() {
  static std::atomic<std::uint64_t> count{0};
  thread_local const std::uint64_t number = ++count;
  return number;
}

}  // namespace

void ThreadPlace::begin(int number, const std::vector<int>& cpus) {
  const ThreadId id = scheduler().this_thread();
  process_ = id.process;
  thread_ = id.thread;
  count_turns();
  number_ = number;
  home_ = -1;
  rebase(cpus);
  if (count_ != 1) return;
  want_home();
  held_ = wanted_.load();
  is_bound_ = true;
}

void ThreadPlace::rebase(const std::vector<int>& cpus) {
  await_claim();
  is_bound_ = false;
  std::array<std::uint64_t, CPU_SETSIZE / kWordBits> words{};
  const bool fits = std::ranges::all_of(cpus, [](int cpu) { return cpu >= 0 && cpu < CPU_SETSIZE; });
  for (const int cpu : fits ? cpus : std::vector<int>())
    words.at(static_cast<std::size_t>(cpu) / kWordBits) |= bit_of(cpu);
  std::ranges::copy(words, cpus_.begin());
  int count = 0;
  for (const std::uint64_t word : words) count += std::popcount(word);
  count_ = count;
  if (count == 0) {
    home_ = -1;
  } else if (!has(home_)) {
    home_ = cpus[static_cast<std::size_t>(number_) % cpus.size()];
  }
  want_all();
  is_claimed_ = false;
  // Whoever was about to move the thread may have done so since it was pinned.
  hold();
}

std::vector<int> ThreadPlace::cpus() const {
  if (is_bound_) return {home_};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (has(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

bool ThreadPlace::has(int cpu) const {
  return cpu >= 0 && cpu < CPU_SETSIZE && (cpus_.at(static_cast<std::size_t>(cpu) / kWordBits) & bit_of(cpu)) != 0;
}

void ThreadPlace::wish(std::uint64_t code) {
  std::uint64_t before = wanted_;
  while (!wanted_.compare_exchange_weak(before, ((before >> kWishBits) + 1) << kWishBits | code)) {
  }
}

void ThreadPlace::want_home() {
  int home = -1;
  do {
    home = home_;
    want(home);
  } while (home != home_);  // an exchange that came between must not be undone by an older wish
}

bool ThreadPlace::hold() {
  bool did = true;
  for (std::uint64_t wanted = wanted_; held_ != wanted; wanted = wanted_) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    const int only = static_cast<int>(wanted & ((1U << kWishBits) - 1)) - 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (only >= 0 ? cpu == only : has(cpu)) CPU_SET(static_cast<unsigned>(cpu), &cpus);
    }
    if (CPU_COUNT(&cpus) > 0) did = scheduler().keep_on(id(), cpus);
    held_ = wanted;
  }
  return did;
}

bool ThreadPlace::claim() {
  if (is_claimed_.exchange(true)) return false;
  const bool can = is_bound_ || count_ > 1;
  if (!can) is_claimed_ = false;
  return can;
}

/// An exchange takes nanoseconds, unless its process was killed meanwhile.
void ThreadPlace::await_claim() {
  constexpr int kMostLooks = 1000;
  for (int i = 0; is_claimed_.exchange(true) && i < kMostLooks; ++i) sched_yield();
}

bool ThreadPlace::exchange_homes(ThreadPlace& one, ThreadPlace& other) {
  if (!one.claim()) return false;
  bool can = other.claim();
  if (can) {
    const int home = one.home_, others_home = other.home_;
    can = one.is_bound_ == other.is_bound_ && (one.is_bound_ || (one.has(others_home) && other.has(home)));
    if (can) {
      one.home_ = others_home;
      other.home_ = home;
    }
    other.is_claimed_ = false;
  }
  one.is_claimed_ = false;
  return can;
}

struct PlaceTie::Knot {
  std::mutex mutex;  // the end of the tie against the thread's pinning
  ThreadPlace* place;
};

namespace {

/// The calling thread has a place in each of its teams, of which it works for one at a time.
std::vector<std::shared_ptr<PlaceTie::Knot>>& knots_of_this_thread() {
  thread_local std::vector<std::shared_ptr<PlaceTie::Knot>> knots;
  return knots;
}

/// A forked child inherits the knots of its parent's thread, whose places it must leave alone.
bool is_own(const PlaceTie::Knot& knot) {
  return knot.place != nullptr && knot.place->is_this_thread();
}

std::vector<int> kernels_cpus() {
  const cpu_set_t allowed = scheduler().allowed();
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

void PlaceTie::begin(ThreadPlace& place, int number, const ThreadPlace* starter) {
  if (thread_ == this_thread_number()) return;
  end();
  std::vector<int> cpus = cpus_of_places_of_this_thread();
  if (cpus.empty()) cpus = kernels_cpus();
  if (starter != nullptr && starter->count() > static_cast<int>(cpus.size())) cpus = starter->cpus();
  place.begin(number, cpus);
  knot_ = std::make_shared<Knot>();
  knot_->place = &place;
  thread_ = this_thread_number();
  auto& knots = knots_of_this_thread();
  std::erase_if(knots, [](const auto& knot) {
    const std::lock_guard lock(knot->mutex);
    return knot->place == nullptr;
  });
  knots.push_back(knot_);
}

void PlaceTie::end() {
  if (!knot_) return;
  const std::lock_guard lock(knot_->mutex);
  knot_->place = nullptr;
  thread_ = 0;
}

void rebase_places_of_this_thread(const std::vector<int>& cpus) {
  for (const auto& knot : knots_of_this_thread()) {
    const std::lock_guard lock(knot->mutex);
    if (is_own(*knot)) knot->place->rebase(cpus);
  }
}

std::vector<int> cpus_of_places_of_this_thread() {
  for (const auto& knot : knots_of_this_thread()) {
    const std::lock_guard lock(knot->mutex);
    if (is_own(*knot) && knot->place->count() > 0) return knot->place->cpus();
  }
  return {};
}

}  // namespace evener
