#include "parallel/dealing.h"

#include <algorithm>

namespace evener::parallel {
namespace {

/// The weight of the last call in the moving average of a worker's time.
constexpr double kWeightOfLast = 0.5;

}  // namespace

Dealing::Dealing(std::vector<double> call_s, std::int64_t calls) : workers_(call_s.size()), calls_(calls) {
  for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].call_s = call_s[w];
}

bool Dealing::takes(std::size_t worker, double now_s) {
  const std::lock_guard lock(mutex_);
  Worker& asking = workers_.at(worker);
  if (calls_ == 0 || others_are_sooner(asking, now_s)) {
    asking.done = true;
    return false;
  }
  --calls_;
  asking.free_s = now_s + asking.call_s;
  return true;
}

void Dealing::gave(std::size_t worker, double seconds, double now_s) {
  const std::lock_guard lock(mutex_);
  Worker& free = workers_.at(worker);
  free.call_s += kWeightOfLast * (seconds - free.call_s);
  free.free_s = now_s;
}

/// Whether the other workers would finish all remaining calls before `worker` finished one.
bool Dealing::others_are_sooner(const Worker& worker, double now_s) const {
  std::vector<Worker> others;
  double fastest_s = worker.call_s;
  for (const Worker& other : workers_) {
    if (&other == &worker || other.done) continue;
    others.push_back(other);
    others.back().free_s = std::max(other.free_s, now_s);
    fastest_s = std::min(fastest_s, other.call_s);
  }
  if (others.empty()) return false;
  // Saves the simulation while many calls are left: even if all of them took the fastest worker's time, the others
  // couldn't finish them within one call of `worker`.
  if (static_cast<double>(calls_) * fastest_s >= worker.call_s * static_cast<double>(others.size())) return false;
  double end_s = now_s;
  for (std::int64_t call = 0; call < calls_; ++call) {
    const auto next =
        std::ranges::min_element(others, {}, [](const Worker& other) { return other.free_s + other.call_s; });
    next->free_s += next->call_s;
    end_s = std::max(end_s, next->free_s);
  }
  return end_s < now_s + worker.call_s;
}

}  // namespace evener::parallel
