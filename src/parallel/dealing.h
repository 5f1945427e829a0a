// Decides which of several workers of unequal speed takes the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace evener::parallel {

/// A free worker takes the next call, except near the end: if the others can finish all remaining calls before a slow
/// worker would finish one, the slow worker stops. Otherwise everybody would wait for its last call, and several
/// workers could take longer than the fastest alone. Thread-safe.
class Dealing {
 public:
  /// `call_s`: a first guess of the seconds that each worker takes for a call, above 0. `calls`: the number of calls.
  Dealing(std::vector<double> call_s, std::int64_t calls);

  /// Whether `worker`, idle at `now_s`, takes the next call. After false it must not ask again. The fastest worker gets
  /// false only once all calls are taken.
  bool takes(std::size_t worker, double now_s);
  /// Reports that the worker's call took `seconds` and ended at `now_s`.
  void gave(std::size_t worker, double seconds, double now_s);

 private:
  struct Worker {
    double call_s = 0;
    double free_s = 0;  // end of its last call, expected or actual
    bool done = false;
  };

  bool others_are_sooner(const Worker& worker, double now_s) const;

  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::int64_t calls_;  // not taken yet
};

}  // namespace evener::parallel
