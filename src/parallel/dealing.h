// Who takes the next call where workers of unequal speed take calls as they are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace evener::parallel {

/// Whoever is free takes a call, but near the end a slow worker leaves what is left to the others where these will be
/// done with it before the slow one were done with one call. So several workers never take longer than the fastest of
/// them alone. Thread-safe.
class Dealing {
 public:
  /// `call_s`: what a call takes each worker, in seconds: a first guess, more than 0. `calls`: how many there are.
  Dealing(std::vector<double> call_s, std::int64_t calls);

  /// Whether the worker, which is free at the time `now_s`, takes the next call; false: it is done for good. The
  /// fastest worker is not done before all calls are taken.
  bool takes(std::size_t worker, double now_s);
  /// The worker's call has taken so long, and is done at the time `now_s`.
  void gave(std::size_t worker, double seconds, double now_s);

 private:
  struct Worker {
    double call_s = 0;
    double free_s = 0;  // when it will be, or was, done with what it took
    bool done = false;
  };

  bool others_are_sooner(const Worker& worker, double now_s) const;

  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::int64_t calls_;  // that nobody has taken yet
};

}  // namespace evener::parallel
