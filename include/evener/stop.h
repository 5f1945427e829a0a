// The flag by which a caller asks a job to end.
#pragma once

#include <atomic>

namespace evener {

/// Asks one job to end in good order; may be set from any thread, and stays set.
class StopFlag {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_ = {false};
};

}  // namespace evener
