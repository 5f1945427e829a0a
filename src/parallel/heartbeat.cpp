#include "parallel/heartbeat.h"

#include <cstdint>
#include <ctime>
#include <utility>

namespace evener::parallel {
namespace {

constexpr std::chrono::milliseconds kBeat{250};

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Checks whether the process's other threads use any CPU time.
class Activity {
 public:
  /// From the one thread that only looks. Counts looks rather than seconds, so that a stop of everything (Ctrl-Z, a
  /// suspended laptop) isn't taken for idleness.
  void look() {
    constexpr double kNoise_s = 50e-6;  // used by this thread between reading the two clocks
    const double own_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    const double others_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - own_s;
    ++quiet_looks_;
    if (others_s < used_s_ + kNoise_s) return;
    used_s_ = others_s;
    quiet_looks_ = 0;
  }
  std::int64_t quiet_looks() const { return quiet_looks_; }

 private:
  double used_s_ = 0;
  std::int64_t quiet_looks_ = 0;
};

}  // namespace

Heartbeat::Heartbeat(std::function<void()> beat, std::chrono::milliseconds hangs_after, std::function<void()> on_hang) {
  thread_ = std::jthread(
      [this, beat = std::move(beat), hangs_after, on_hang = std::move(on_hang)](const std::stop_token& stop) {
        Activity activity;
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          beat();
          condition_.wait_for(lock, stop, kBeat, [] { return false; });
          activity.look();
          if (activity.quiet_looks() * kBeat >= hangs_after && !stop.stop_requested()) on_hang();
        }
      });
}

}  // namespace evener::parallel
